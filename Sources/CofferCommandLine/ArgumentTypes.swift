import ArgumentParser
package import Coffer

/// The kinds of token, as the words that specify them on the command line.
package enum TokenKindArgument: String, CaseIterable, ExpressibleByArgument {
    case access, refresh, id, other

    /// The kind.
    package var kind: TokenKind {
        switch self {
        case .access: .access
        case .refresh: .refresh
        case .id: .id
        case .other: .other
        }
    }
}

/// The protection classes, as the words that specify them on the command line.
package enum ProtectionClassArgument: String, CaseIterable, ExpressibleByArgument {
    case whenUnlockedThisDeviceOnly, afterFirstUnlockThisDeviceOnly, whenPasscodeSetThisDeviceOnly
    case whenUnlocked, afterFirstUnlock

    /// The class.
    package var protection: ProtectionClass {
        switch self {
        case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
        case .whenPasscodeSetThisDeviceOnly: .whenPasscodeSetThisDeviceOnly
        case .whenUnlocked: .whenUnlocked
        case .afterFirstUnlock: .afterFirstUnlock
        }
    }
}
