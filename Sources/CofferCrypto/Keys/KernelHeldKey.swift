public import CofferBase
import CofferEngine

/// Keys lent to the kernel's user keyring, so that the next process of the same user finds them until a
/// timeout.
///
/// What it protects against is time, not the user's other programs: every process of the same user can read
/// it. Where the kernel keyring is missing or forbidden (many containers), calls throw `unsupported` or
/// `permissionDenied`.
public struct KernelHeldKey: ~Copyable, Sendable {
    /// The key.
    public let key: SymmetricKey
    /// Whether using it may start its timeout anew.
    public let isRenewable: Bool

    private init(key: consuming SymmetricKey, isRenewable: Bool) {
        self.key = key
        self.isRenewable = isRenewable
    }

    /// The key alone.
    public consuming func takeKey() -> SymmetricKey { key }

    /// Lends `key` to the kernel.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - name: What it is found by.
    ///   - timeout: Seconds until the kernel drops it; `nil` until reboot.
    ///   - isRenewable: Whether using it may start the timeout anew.
    ///   - boot: The identifier of this boot: in another one the key is not found.
    /// - Throws: `unsupported`, `permissionDenied` or `noSpace`.
    public static func store(
        _ key: borrowing SymmetricKey, name: String, timeout: Int?, isRenewable: Bool, boot: String
    ) throws(CofferError) {
        let mark = [isRenewable ? 1 : 0] + Array(boot.utf8)
        let payload = try GuardedBytes.concatenating(key.secret.span, mark.span)
        try KernelKeyring.store(payload, description: name, timeout: timeout)
    }

    /// The key of `count` bytes held under `name`; `nil` when there is none, its time is over or it was lent
    /// in another boot, as a machine that was copied while it ran may show.
    ///
    /// - Parameters:
    ///   - name: What it is found by.
    ///   - count: Its length.
    ///   - boot: The identifier of this boot.
    /// - Returns: The key.
    /// - Throws: `unsupported` or `permissionDenied`.
    public static func read(name: String, count: Int = 32, boot: String) throws(CofferError) -> KernelHeldKey?
    {
        let tag = Array(boot.utf8)
        guard let payload = try KernelKeyring.read(name), payload.count == count + 1 + tag.count,
            payload.span.extracting((count + 1)...).copied() == tag
        else { return nil }
        return KernelHeldKey(
            key: try SymmetricKey.copying(payload.span.extracting(..<count)),
            isRenewable: payload.span[count] == 1)
    }
}
