import ArgumentParser
import Coffer

/// The kinds of tokens, as words on the command line.
enum KindWord: String, CaseIterable, ExpressibleByArgument {
    case access, refresh, id, other

    var kind: TokenKind {
        switch self {
        case .access: .access
        case .refresh: .refresh
        case .id: .id
        case .other: .other
        }
    }
}

/// The protection classes, as words on the command line.
enum ClassWord: String, CaseIterable, ExpressibleByArgument {
    case whenUnlockedThisDeviceOnly, afterFirstUnlockThisDeviceOnly, whenPasscodeSetThisDeviceOnly
    case whenUnlocked, afterFirstUnlock

    var protection: ProtectionClass {
        switch self {
        case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
        case .whenPasscodeSetThisDeviceOnly: .whenPasscodeSetThisDeviceOnly
        case .whenUnlocked: .whenUnlocked
        case .afterFirstUnlock: .afterFirstUnlock
        }
    }
}
