import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// A mark in the kernel keyring, beside the keys of a vault, from before an unlock derives until the keys are
/// stored. Every lock or wipe of the vault, in any process, removes the mark first, so the unlock notices it.
///
/// The mark has no secret and no content; all that counts is that this very kernel key exists. A mark that no
/// process removes expires by itself.
final class UnlockMark: Sendable {
    private let key: KernelKey
    /// In seconds. An unlock that takes longer must start again.
    private static let lifetime = 600
    private static let infix = ":unlocking:"

    /// Marks an unlock; `nil` if there is no kernel keyring, which then cannot store keys either.
    ///
    /// - Throws: `noSpace` if the user's quota of keys is used up.
    static func place(for vaultID: VaultID) throws(CofferError) -> UnlockMark? {
        let number = try HexText.encode(SecureRandom.bytes(16))
        do throws(CofferError) {
            let content = try GuardedBytes.copying([1].span)
            let key = try KernelKeyring.store(
                content, description: "coffer:\(vaultID)\(infix)\(number)", timeout: lifetime)
            return UnlockMark(key)
        } catch {
            guard [.unsupported, .permissionDenied].contains(error.code) else { throw error }
            return nil
        }
    }

    private init(_ key: KernelKey) { self.key = key }

    deinit { try? key.remove() }

    /// Whether no process has locked the vault since.
    var isThere: Bool { key.isLinked }

    /// Whether a name in the kernel keyring with a vault's prefix is that of a mark.
    static func isMark(_ name: [UInt8]) -> Bool {
        name.dropFirst(KernelKeyCache.prefixSize).starts(with: infix.utf8)
    }

    /// Removes every mark of a vault.
    static func removeAll(of vaultID: VaultID) {
        let start = Array("coffer:\(vaultID)\(infix)".utf8)
        _ = try? KernelSubkeyring.removeOfUser { $0.starts(with: start) }
    }
}
