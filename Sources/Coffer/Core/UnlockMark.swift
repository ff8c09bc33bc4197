import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// A mark that an unlock places in the kernel keyring before it derives keys, and removes after it has stored
/// them there. A lock or wipe of the vault, in any process, first removes the mark, so that the unlock can
/// detect the lock or wipe.
///
/// The mark contains nothing secret; only the existence of this kernel key matters. A mark that no process
/// removes expires.
final class UnlockMark: Sendable {
    private let key: KernelKey
    /// A mark's lifetime in seconds. An unlock that takes longer must start again.
    private static let lifetime = 600
    private static let infix = ":unlocking:"

    /// Places a mark for an unlock; returns `nil` if the kernel keyring is unavailable and so cannot store
    /// keys either.
    ///
    /// - Throws: `noSpace` if the user's key quota is used up.
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

    /// Whether the mark still exists. If so, no process has locked the vault since the mark was placed, and
    /// the mark has not expired.
    var isThere: Bool { key.isLinked }

    /// Returns whether `name`, a name in the kernel keyring that begins with a vault's prefix, belongs to a
    /// mark.
    static func isMark(_ name: [UInt8]) -> Bool {
        name.dropFirst(KernelKeyCache.prefixSize).starts(with: infix.utf8)
    }

    /// Removes all of a vault's marks.
    static func removeAll(of vaultID: VaultID) {
        let start = Array("coffer:\(vaultID)\(infix)".utf8)
        _ = try? KernelSubkeyring.removeOfUser { $0.starts(with: start) }
    }
}
