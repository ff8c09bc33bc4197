public import CofferBase
import CofferEngine

/// A key cached in the kernel's user keyring, so that the next process of the same user finds it until a
/// timeout.
///
/// The kernel measures timeouts with a clock that can be set back, so the end is also stored beside the key,
/// in time since boot. The end, the boot and whether use may renew the timeout are authenticated under the
/// key and its name: an entry that another process changed, or moved to another name, is not found.
///
/// The timeout limits exposure over time. It does not protect against the user's other programs: every
/// process of the same user can read the key. Any of them can also store a key of its own there, so compare
/// what you find with what you know of the right key. If the kernel keyring is missing or forbidden (as in
/// many containers), calls throw `unsupported` or `permissionDenied`.
public struct KernelCachedKey: ~Copyable, Sendable {
    /// The key.
    public let key: SymmetricKey
    /// Whether using the key may renew its timeout.
    public let isRenewable: Bool
    /// When the key expires, in time since boot; `nil`: never.
    public let end: Duration?

    /// Returns the key alone.
    public consuming func takeKey() -> SymmetricKey { key }

    /// The result of ``renew(_:name:timeout:boot:now:)``.
    public enum Renewal: Sendable, Equatable {
        /// The timeout started again.
        case renewed
        /// The key is cached until this time since boot and no longer.
        case exact(end: Duration?)
        /// There is no such key, or another key has its name.
        case missing
    }

    /// Stores `key` in the kernel. Replaces an existing key of that name; a process that renews the replaced
    /// key at the same time does not affect this one.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - name: The name to find it by.
    ///   - timeout: Seconds until the kernel removes it; `nil`: until reboot.
    ///   - isRenewable: Whether using it may renew the timeout.
    ///   - boot: The identifier of this boot. The key is not found in another boot.
    ///   - now: The time since boot.
    /// - Throws: `unsupported`, `permissionDenied` or `noSpace`.
    public static func store(
        _ key: borrowing SymmetricKey, name: String, timeout: Int?, isRenewable: Bool, boot: String,
        now: Duration
    ) throws(CofferError) {
        let payload = try payload(key, name, end(timeout, now), isRenewable, boot)
        try KernelKeyring.store(payload, description: name, timeout: timeout)
    }

    /// Renews the timeout if `key` is cached under `name`, has not expired and is renewable.
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

    /// Returns the key cached under `name`; `nil` if there is none, it has expired, its metadata is not
    /// authentic, or it belongs to another boot, as can happen on a machine cloned while running.
    ///
    /// - Parameters:
    ///   - name: The name to find it by.
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

    /// Whether the key may be renewed (1 byte), and when it expires (8 bytes).
    private static let marksSize = 9
    private static let tagSize = 32

    /// The key, its metadata, the boot's identifier, and the tag of the latter two.
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

    /// Returns the time `timeout` seconds after `now`, in nanoseconds since boot; `UInt64.max` stands for
    /// never.
    private static func end(_ timeout: Int?, _ now: Duration) -> UInt64 {
        guard let timeout else { return .max }
        let (seconds, attoseconds) = (now + .seconds(timeout)).components
        let whole = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return whole.overflow ? .max : whole.partialValue + UInt64(attoseconds / 1_000_000_000)
    }
}
