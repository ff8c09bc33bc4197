package import CofferBase
import Glibc
import CLinux

/// Functions that store short secrets in the kernel's user keyring, which all of a user's processes share.
/// The kernel removes a secret when its timeout expires or at the next reboot.
///
/// If the kernel has no keyring, or a container forbids its use, every call throws `unsupported` or
/// `permissionDenied`. Callers then continue without the keyring.
package enum KernelKeyring {
    /// The maximum number of keys that a single call to ``remove(_:)`` removes.
    private static let maxCountPerName = 64

    /// Whether this process can search the user keyring.
    package static var isAvailable: Bool {
        do throws(CofferError) {
            _ = try find("coffer:probe")
            return true
        } catch {
            return false
        }
    }

    /// Stores `secret` under `description`. The kernel removes the secret after `timeout` seconds or, without
    /// a timeout, at the next reboot.
    ///
    /// The new key replaces the previous one in a single step, so a process that is still updating the
    /// previous key does not affect the new one. The previous key is then invalidated.
    @discardableResult
    package static func store(
        _ secret: borrowing GuardedBytes, description: String, timeout: Int?
    ) throws(CofferError) -> KernelKey {
        let former = try find(description)
        // The key's timeout is set before any process can find the key.
        let aside = Int(KEY_SPEC_THREAD_KEYRING)
        let key = try add(secret, description: description, timeout: timeout, in: aside)
        defer { unlink(key, from: aside) }
        guard clinux_keyctl(KEYCTL_LINK, UInt(key), userKeyring, 0, 0) == 0 else { throw notStored() }
        if let former, former != key { try? KernelKey(number: former).invalidate() }
        return KernelKey(number: key)
    }

    /// Stores `secret` under `description` in the given ring, replacing the previous secret.
    static func store(
        _ secret: borrowing GuardedBytes, description: String, in ring: Int
    ) throws(CofferError) {
        _ = try add(secret, description: description, timeout: nil, in: ring)
    }

    private static func add(
        _ secret: borrowing GuardedBytes, description: String, timeout: Int?, in ring: Int
    ) throws(CofferError) -> Int {
        try check(timeout)
        let key = unsafe secret.span.withUnsafeBytes { payload in
            unsafe clinux_add_key(
                "user", description, payload.baseAddress, UInt(payload.count), CInt(ring))
        }
        guard key >= 0 else { throw notStored() }
        // The possessor and the user get all rights, everyone else none. Without the user's rights, a session
        // that does not link the user keyring could not read its own key.
        allow(key)
        guard let timeout else { return key }
        do throws(CofferError) {
            try KernelKey(number: key).setTimeout(timeout)
        } catch {
            try? KernelKey(number: key).invalidate()
            throw error
        }
        return key
    }

    /// Returns the key that is stored under `description`, or `nil` if there is none or it has expired.
    package static func key(_ description: String) throws(CofferError) -> KernelKey? {
        try find(description).map { KernelKey(number: $0) }
    }

    /// Returns the secret that is stored under `description`, or `nil` if there is none or it has expired.
    package static func read(_ description: String) throws(CofferError) -> GuardedBytes? {
        guard let key = try key(description) else { return nil }
        return try key.content()
    }

    /// Reports whether a secret that has not expired is stored under `description`.
    package static func contains(_ description: String) throws(CofferError) -> Bool {
        try find(description) != nil
    }

    /// The result of a search for a name.
    package enum Presence: Sendable {
        /// Nothing that has not expired is stored under the name.
        case absent
        /// A key or a ring is stored under the name.
        case found
        /// A key or a ring is stored under the name, but this process lacks the right to find it. Any process
        /// of this user can take that right away.
        case hidden
    }

    /// Reports whether a key, or a ring if `isRing` is set, is stored under `description`, even if it is
    /// hidden.
    ///
    /// - Throws: An error if this process cannot search the user keyring for any name.
    package static func presence(
        of description: String, isRing: Bool = false
    ) throws(CofferError) -> Presence {
        do throws(CofferError) {
            let type = isRing ? KernelSubkeyring.type : "user"
            let found = try find(description, type: type, in: Int(KEY_SPEC_USER_KEYRING))
            return found == nil ? .absent : .found
        } catch {
            guard error.systemError == EACCES else { throw error }
            // The kernel refuses the search for one name only if it found something under that name.
            let unused = "coffer:" + String(UInt64.random(in: UInt64.min...UInt64.max), radix: 16)
            _ = try find(unused)
            return .hidden
        }
    }

    /// Restarts the timeout of the key that is stored under `description`. Does nothing if there is no such
    /// key.
    package static func refresh(_ description: String, timeout: Int) throws(CofferError) {
        try check(timeout)
        try key(description)?.setTimeout(timeout)
    }

    /// Removes every secret that is stored under `description`. Returns whether there was at least one.
    @discardableResult
    package static func remove(_ description: String) throws(CofferError) -> Bool {
        var hadAny = false
        // The first key found may hide another one in a nested ring.
        for _ in 0..<maxCountPerName {
            guard let key = try key(description) else { break }
            try key.remove()
            hadAny = true
        }
        return hadAny
    }

    static func allow(_ key: Int) {
        _ = clinux_keyctl(KEYCTL_SETPERM, UInt(key), 0x3f3f_0000, 0, 0)
    }

    /// Throws `invalidInput` unless `timeout` is `nil` or from 1 to `Int32.max` seconds. The kernel stores
    /// the timeout in 32 bits and interprets 0 as no timeout.
    static func check(_ timeout: Int?) throws(CofferError) {
        guard timeout.map({ (1...Int(Int32.max)).contains($0) }) ?? true else {
            throw CofferError(.invalidInput, "A timeout must be 1 to \(Int32.max) seconds.")
        }
    }

    /// Unlinks a key from a ring. The key continues to exist if another ring links to it. Returns whether the
    /// key was unlinked.
    @discardableResult
    static func unlink(_ key: Int, from ring: Int) -> Bool {
        clinux_keyctl(KEYCTL_UNLINK, UInt(key), UInt(bitPattern: ring), 0, 0) == 0
    }

    private static var userKeyring: UInt { UInt(bitPattern: Int(KEY_SPEC_USER_KEYRING)) }

    private static func find(_ description: String) throws(CofferError) -> Int? {
        try find(description, type: "user", in: Int(KEY_SPEC_USER_KEYRING))
    }

    static func find(_ description: String, type: String, in ring: Int) throws(CofferError) -> Int? {
        let key = unsafe clinux_keyctl_search(CInt(ring), type, description)
        if key >= 0 { return key }
        return try missing()
    }

    /// Returns the error to throw if the kernel did not store a key or a ring, based on the calling thread's
    /// `errno`.
    static func notStored() -> CofferError {
        guard Errno.current == EDQUOT else { return Errno.failure("use the kernel keyring", nil) }
        return CofferError(
            .noSpace,
            "The kernel keyring is full because this user's key quota is exhausted (see /proc/key-users).",
            remedy: .removeKernelKeys, systemError: EDQUOT)
    }

    /// Returns `nil` if the calling thread's `errno` indicates a missing, expired or revoked key. Throws the
    /// corresponding error for any other value.
    static func missing<Value: ~Copyable>() throws(CofferError) -> Value? {
        switch Errno.current {
        case ENOKEY, EKEYEXPIRED, EKEYREVOKED: return nil
        default: throw Errno.failure("use the kernel keyring", nil)
        }
    }
}
