public import CofferBase
import CofferEngine

/// Keys lent to the kernel's user keyring, so that the next process of the same user finds them until a
/// timeout.
///
/// The kernel counts its timeouts by a clock that can be set back, so the end stands beside the key, too, in
/// time since boot. It, the boot and whether use may start the time again are authenticated under the key and
/// its name: what somebody changed, or moved to another name, is not found.
///
/// What it protects against is time, not the user's other programs: every process of the same user can read
/// it. Any of them can also put a key of its own there: compare what is found with what is known of the right
/// one. Where the kernel keyring is missing or forbidden (many containers), calls throw `unsupported` or
/// `permissionDenied`.
public struct KernelCachedKey: ~Copyable, Sendable {
    /// The key.
    public let key: SymmetricKey
    /// Whether using it may start its timeout again.
    public let isRenewable: Bool
    /// When its time is over, since boot; `nil`: never.
    public let end: Duration?

    /// The key alone.
    public consuming func takeKey() -> SymmetricKey { key }

    /// How ``renew(_:name:timeout:boot:now:)`` ended.
    public enum Renewal: Sendable, Equatable {
        /// Its time starts again.
        case renewed
        /// It is held until this time since boot and no longer.
        case exact(end: Duration?)
        /// There is no such key, or it is another.
        case missing
    }

    /// Stores `key` in the kernel. A key under that name is replaced: a process that renews that one at the
    /// same time does not change this one.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - name: What it is found by.
    ///   - timeout: Seconds until the kernel drops it; `nil` until reboot.
    ///   - isRenewable: Whether using it may start the timeout again.
    ///   - boot: The identifier of this boot: in another one the key is not found.
    ///   - now: The time since boot.
    /// - Throws: `unsupported`, `permissionDenied` or `noSpace`.
    public static func store(
        _ key: borrowing SymmetricKey, name: String, timeout: Int?, isRenewable: Bool, boot: String,
        now: Duration
    ) throws(CofferError) {
        let payload = try payload(key, name, end(timeout, now), isRenewable, boot)
        try KernelKeyring.store(payload, description: name, timeout: timeout)
    }

    /// Starts the timeout again, where `key` is held under `name`, its time is not over and it may be.
    ///
    /// - Throws: `unsupported` or `permissionDenied`.
    public static func renew(
        _ key: borrowing SymmetricKey, name: String, timeout: Int, boot: String, now: Duration
    ) throws(CofferError) -> Renewal {
        guard let found = try KernelKeyring.key(name), let content = try found.content(),
            let held = try opened(content, name, boot), held.key.isEqual(to: key), !held.isOver(now)
        else { return .missing }
        guard held.isRenewable else { return .exact(end: held.end) }
        let renewed = try payload(key, name, end(timeout, now), true, boot)
        try found.update(renewed, timeout: timeout)
        return .renewed
    }

    /// The key held under `name`; `nil` when there is none, its time is over, its marks are not authentic or
    /// it is of another boot, as a machine that was copied while it ran may show.
    ///
    /// - Parameters:
    ///   - name: What it is found by.
    ///   - boot: The identifier of this boot.
    ///   - now: The time since boot.
    /// - Returns: The key.
    /// - Throws: `unsupported` or `permissionDenied`.
    public static func read(
        name: String, boot: String, now: Duration
    ) throws(CofferError) -> KernelCachedKey? {
        guard let found = try KernelKeyring.key(name), let content = try found.content(),
            let held = try opened(content, name, boot)
        else { return nil }
        guard !held.isOver(now) else {
            try? found.invalidate()
            return nil
        }
        return held
    }

    private borrowing func isOver(_ now: Duration) -> Bool { end.map { now >= $0 } ?? false }

    // MARK: What the kernel keeps

    /// Whether it may be renewed (1), and when its time is over (8).
    private static let marksSize = 9
    private static let tagSize = 32

    /// The key, the marks, the boot's identifier, and the tag of these two.
    private static func payload(
        _ key: borrowing SymmetricKey, _ name: String, _ end: UInt64, _ isRenewable: Bool, _ boot: String
    ) throws(CofferError) -> GuardedBytes {
        let marks = [isRenewable ? 1 : 0] + end.bigEndianBytes + Array(boot.utf8)
        let tag = try HMAC.authenticate(marks.span, key: tagKey(key, name))
        let tail = marks + tag
        return try GuardedBytes.concatenating(key.secret.span, tail.span)
    }

    private static func opened(
        _ payload: borrowing GuardedBytes, _ name: String, _ boot: String
    ) throws(CofferError) -> KernelCachedKey? {
        let bytes = payload.span
        let count = bytes.count - marksSize - boot.utf8.count - tagSize
        guard count > 0 else { return nil }
        let marks = bytes.extracting(count..<bytes.count - tagSize)
        guard marks.extracting(marksSize...).copied() == Array(boot.utf8) else { return nil }
        let key = try SymmetricKey.copying(bytes.extracting(..<count))
        let tag = bytes.extracting((bytes.count - tagSize)...)
        guard try HMAC.isValid(tag, for: marks, key: tagKey(key, name)) else { return nil }
        let end = marks.bigEndian(UInt64.self, at: 1)
        return KernelCachedKey(
            key: key, isRenewable: marks[0] == 1,
            end: end == .max ? nil : .nanoseconds(Int64(clamping: end)))
    }

    private static func tagKey(
        _ key: borrowing SymmetricKey, _ name: String
    ) throws(CofferError) -> SymmetricKey {
        let context = Array(name.utf8)
        return try HKDF.deriveKey(from: key, info: KDFLabel.heldKey, context: context.span)
    }

    /// Nanoseconds since boot after `timeout` seconds; the greatest number for never.
    private static func end(_ timeout: Int?, _ now: Duration) -> UInt64 {
        guard let timeout else { return .max }
        let (seconds, attoseconds) = (now + .seconds(timeout)).components
        let whole = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return whole.overflow ? .max : whole.partialValue + UInt64(attoseconds / 1_000_000_000)
    }
}
