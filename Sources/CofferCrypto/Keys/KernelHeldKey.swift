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
    /// - Throws: `unsupported`, `permissionDenied` or `noSpace`.
    public static func store(
        _ key: borrowing SymmetricKey, name: String, timeout: Int?, isRenewable: Bool
    ) throws(CofferError) {
        let mark: [UInt8] = [isRenewable ? 1 : 0]
        let payload = try GuardedBytes.concatenating(key.secret.span, mark.span)
        try KernelKeyring.store(payload, description: name, timeout: timeout)
    }

    /// The key of `count` bytes held under `name`; `nil` when there is none or its time is over.
    ///
    /// - Throws: `unsupported` or `permissionDenied`.
    public static func read(name: String, count: Int = 32) throws(CofferError) -> KernelHeldKey? {
        guard let payload = try KernelKeyring.read(name), payload.count == count + 1 else { return nil }
        return KernelHeldKey(
            key: try SymmetricKey.copying(payload.span.extracting(..<count)),
            isRenewable: payload.span[count] == 1)
    }
}
