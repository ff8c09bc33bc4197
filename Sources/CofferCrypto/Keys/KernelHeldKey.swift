public import CofferBase
import CofferEngine

/// Keys lent to the kernel's user keyring, so that the next process of the same user finds them until a
/// timeout.
///
/// The kernel counts its timeouts by a clock that can be set back, so the end stands beside the key, too, in
/// time since boot.
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
        let tail = [isRenewable ? 1 : 0] + end(timeout) + Array(boot.utf8)
        let payload = try GuardedBytes.concatenating(key.secret.span, tail.span)
        try KernelKeyring.store(payload, description: name, timeout: timeout)
    }

    /// Nanoseconds since boot (8) after `timeout` seconds; the greatest number for never.
    private static func end(_ timeout: Int?) -> [UInt8] {
        guard let timeout else { return UInt64.max.bigEndianBytes }
        let (seconds, attoseconds) = (Clock.sinceBoot + .seconds(timeout)).components
        let whole = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let end = whole.overflow ? .max : whole.partialValue + UInt64(attoseconds / 1_000_000_000)
        return end.bigEndianBytes
    }

    /// Starts the timeout anew; nothing happens where there is no such key.
    ///
    /// - Throws: `unsupported` or `permissionDenied`.
    public static func renew(name: String, timeout: Int, count: Int = 32) throws(CofferError) {
        guard let payload = try KernelKeyring.read(name), payload.count >= count + marksSize else { return }
        let tail = end(timeout) + payload.span.extracting((count + marksSize)...).copied()
        let renewed = try GuardedBytes.concatenating(payload.span.extracting(..<(count + 1)), tail.span)
        try KernelKeyring.replace(renewed, description: name, timeout: timeout)
    }

    /// Whether it may be renewed (1) and when its time is over (8).
    private static let marksSize = 9

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
        guard let payload = try KernelKeyring.read(name), payload.count >= count + marksSize,
            payload.span.extracting((count + marksSize)...).copied() == Array(boot.utf8)
        else { return nil }
        let end = payload.span.bigEndian(UInt64.self, at: count + 1)
        guard end == .max || Clock.sinceBoot < .nanoseconds(Int64(clamping: end)) else {
            try KernelKeyring.remove(name)
            return nil
        }
        return KernelHeldKey(
            key: try SymmetricKey.copying(payload.span.extracting(..<count)),
            isRenewable: payload.span[count] == 1)
    }
}
