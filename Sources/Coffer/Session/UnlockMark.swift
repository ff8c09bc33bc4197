import CofferBase
import CofferCrypto
import CofferEngine

/// A mark in the kernel keyring, beside the keys of a vault, from before an unlock derives until the keys are
/// stored. Whatever locks or wipes the vault removes it first, in whichever process: so the unlock notices.
///
/// It is no secret and says nothing: what counts is that this very key of the kernel is there. One that
/// nobody removes goes by itself.
final class UnlockMark: Sendable {
    private let key: KernelKey
    /// Seconds. An unlock that takes longer has to begin again.
    private static let lifetime = 600
    private static let infix = ":unlocking:"

    /// Marks an unlock; `nil` where there is no kernel keyring, which then takes no keys either.
    ///
    /// - Throws: `noSpace` when the user's quota of keys is used up.
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

    /// Whether nothing has locked the vault since.
    var isThere: Bool { key.isLinked }

    /// Whether a name in the kernel keyring, which begins as a vault's do, is that of a mark.
    static func isMark(_ name: [UInt8]) -> Bool {
        name.dropFirst(KernelKeyCache.prefixSize).starts(with: infix.utf8)
    }

    /// Removes every mark on a vault.
    static func removeAll(of vaultID: VaultID) {
        let start = Array("coffer:\(vaultID)\(infix)".utf8)
        _ = try? KernelSubkeyring.removeOfUser { $0.starts(with: start) }
    }
}
