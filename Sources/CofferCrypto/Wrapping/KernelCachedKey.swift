public import CofferBase
import CofferEngine

/// A key cached in the kernel's user keyring, where other processes of the same user can find the key until
/// it times out.
///
/// The kernel measures timeouts with a clock that can be set back, so the expiry time is also stored
/// alongside the key, as time since boot. A tag under the key and its name authenticates the expiry time, the
/// boot identifier and the renewal flag, so ``read(name:boot:now:)`` ignores an entry that another process
/// changed or moved to another name.
///
/// The timeout limits how long the key is exposed but does not protect against the user's other programs:
/// every process of the same user can read the key. Any such process can also store a different key under the
/// same name, so verify a key that you find. If the kernel keyring is missing or forbidden (as in many
/// containers), calls throw `unsupported` or `permissionDenied`.
public struct KernelCachedKey: ~Copyable, Sendable {
    /// The cached key.
    public let key: SymmetricKey
    /// Whether using the key may renew its timeout.
    public let isRenewable: Bool
    /// The expiry time, as time since boot; `nil` if the key does not expire.
    public let end: Duration?

    /// Consumes this value and returns its key.
    public consuming func takeKey() -> SymmetricKey { key }

    /// The result of ``renew(_:name:timeout:boot:now:)``.
    public enum Renewal: Sendable, Equatable {
        /// The timeout was restarted.
        case renewed
        /// The key is not renewable and stays cached until `end`, a time since boot; `nil` if the key does
        /// not expire.
        case exact(end: Duration?)
        /// No key is cached under the name, the cached key has expired, or a different key is cached under
        /// the name.
        case missing
    }

    /// Stores `key` in the kernel and replaces any existing key with that name. A process that renews the
    /// replaced key at the same time does not affect the new one.
    ///
    /// - Parameters:
    ///   - key: The key to cache.
    ///   - name: The name under which the key is cached.
    ///   - timeout: The number of seconds until the kernel removes the key; `nil` to keep the key until
    ///     reboot.
    ///   - isRenewable: Whether using the key may renew the timeout.
    ///   - boot: The current boot's identifier. The key cannot be read in another boot.
    ///   - now: The time since boot.
    /// - Throws: `invalidInput` if the timeout is not 1 to 2^31 − 1 seconds; `unsupported` or
    ///   `permissionDenied` if the kernel keyring cannot be used; `noSpace` if the user's quota of kernel
    ///   keys is exhausted.
    public static func store(
        _ key: borrowing SymmetricKey, name: String, timeout: Int?, isRenewable: Bool, boot: String,
        now: Duration
    ) throws(CofferError) {
        let payload = try payload(key, name, end(timeout, now), isRenewable, boot)
        try KernelKeyring.store(payload, description: name, timeout: timeout)
    }

    /// Renews the timeout of `key` if the key is cached under `name`, has not expired and is renewable.
    ///
    /// - Throws: `invalidInput` if the timeout is not 1 to 2^31 − 1 seconds; `unsupported` or
    ///   `permissionDenied` if the kernel keyring cannot be used.
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
    /// authentic, or it belongs to another boot, as can happen on a machine that was cloned while it was
    /// running.
    ///
    /// - Parameters:
    ///   - name: The name under which the key is cached.
    ///   - boot: The current boot's identifier.
    ///   - now: The time since boot.
    /// - Returns: The key; `nil` if none was found.
    /// - Throws: `unsupported` or `permissionDenied` if the kernel keyring cannot be used.
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

    // MARK: Cached content

    /// The total size in bytes of the renewal flag (1) and the expiry time (8).
    private static let marksSize = 9
    private static let tagSize = 32

    /// Returns the key, its metadata, the boot's identifier, and a tag over the metadata and the identifier.
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

    /// Returns the time `timeout` seconds after `now`, in nanoseconds since boot; `UInt64.max` if there is no
    /// timeout.
    private static func end(_ timeout: Int?, _ now: Duration) -> UInt64 {
        guard let timeout else { return .max }
        let (seconds, attoseconds) = (now + .seconds(timeout)).components
        let whole = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return whole.overflow ? .max : whole.partialValue + UInt64(attoseconds / 1_000_000_000)
    }
}
