package import CofferBase
package import CofferEngine
import SystemPackage

/// The mark of a vault whose owner lets the desktop keyring ask for its password.
///
/// The mark is an empty file: it is read before the keyring returns the device key, which authenticates
/// everything else. Programs that can create it can also open such prompts themselves.
package enum KeyringPromptMark {
    private static let name: FilePath = "prompts"

    /// Returns whether a vault has the mark.
    package static func isSet(in vault: borrowing Descriptor) throws(CofferError) -> Bool {
        try vault.status(of: name)?.kind == .regular
    }

    /// Adds the mark or removes it, durably.
    package static func set(_ isSet: Bool, in vault: borrowing Descriptor) throws(CofferError) {
        if isSet {
            _ = try vault.open(name, [.readWrite, .create])
        } else {
            try vault.remove(name)
        }
        try vault.sync()
    }

    /// Returns the policy for a vault's prompts, where `home` is the directory that contains the vault.
    static func decided(_ policy: PromptPolicy, in home: borrowing Descriptor) -> PromptPolicy {
        guard policy == .asSet else { return policy }
        do throws(CofferError) {
            return try isSet(in: home.open(VaultDirectory.vaultName, [.read, .directory])) ? .allowed : .never
        } catch {
            return .never
        }
    }
}
