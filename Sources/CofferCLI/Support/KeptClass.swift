import Coffer
import CofferCommandLine

/// The notice about a class that a new token keeps from the token that it replaced.
enum KeptClass {
    /// Prints the notice if a token that was stored without naming a class has a class that protects less
    /// than the default class. Another program of this user may have stored the replaced token. The class of
    /// a token that replaced none is the one that the owner chose for new items.
    static func report(of id: TokenID, in tokens: TokenStore) async {
        guard let info = try? await tokens.info(for: id), let version = info.version, version > 1 else {
            return
        }
        let protection = info.protection
        guard let effect = effect(of: protection) else { return }
        Output.message(
            "coffer: The token keeps the class \(protection.name) of the token that it replaced, so it can "
                + "be \(effect). To protect it more, store it with coffer token put --class "
                + "\(ProtectionClass.whenUnlockedThisDeviceOnly.name).")
    }

    /// Returns what the default class does not allow; `nil` if the class allows no more.
    private static func effect(of protection: ProtectionClass) -> String? {
        switch protection {
        case .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly: nil
        case .whenUnlocked: "exported"
        case .afterFirstUnlockThisDeviceOnly: "read while the vault is locked"
        case .afterFirstUnlock: "read while the vault is locked, and exported"
        }
    }
}
