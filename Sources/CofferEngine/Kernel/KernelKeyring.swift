package import CofferBase
import Glibc
import CLinux

/// Short secrets in the kernel's user keyring: shared by the processes of one user, gone with a timeout or a
/// reboot.
///
/// Where the kernel has no keyring, or a container forbids it, every call throws `unsupported` or
/// `permissionDenied`; callers then do without.
package enum KernelKeyring {
    /// Whether the user keyring can be searched here.
    package static var isAvailable: Bool {
        do throws(CofferError) {
            _ = try find("coffer:probe")
            return true
        } catch {
            return false
        }
    }

    /// Stores `secret` under `description`, replacing what was there; the kernel drops it after `timeout`
    /// seconds, without one at the next reboot.
    package static func store(
        _ secret: borrowing GuardedBytes, description: String, timeout: Int?
    ) throws(CofferError) {
        try store(secret, description: description, timeout: timeout, in: Int(KEY_SPEC_USER_KEYRING))
    }

    /// The same in another ring.
    static func store(
        _ secret: borrowing GuardedBytes, description: String, timeout: Int?, in ring: Int
    ) throws(CofferError) {
        try check(timeout)
        let key = unsafe secret.span.withUnsafeBytes { payload in
            unsafe clinux_add_key(
                "user", description, payload.baseAddress, UInt(payload.count), CInt(ring))
        }
        guard key >= 0 else { throw Errno.failure("use the kernel keyring", nil) }
        // Possessor and user may do all; nobody else anything. Without the user bits, a session that does not
        // link the user keyring could not read its own key.
        allow(key)
        guard let timeout else { return }
        do throws(CofferError) {
            try set(key, timeout: timeout)
        } catch {
            _ = clinux_keyctl(KEYCTL_INVALIDATE, UInt(key), 0, 0, 0)
            throw error
        }
    }

    /// The secret under `description`; `nil` when there is none or its time is over.
    package static func read(_ description: String) throws(CofferError) -> GuardedBytes? {
        guard let key = try find(description) else { return nil }
        return try content(of: key)
    }

    /// The secret that is the key's content; `nil` when it went meanwhile.
    static func content(of key: Int) throws(CofferError) -> GuardedBytes? {
        let size = clinux_keyctl_read(key, nil, 0)
        guard size >= 0 else { return try missing() }
        var secret = try GuardedBytes.zeroed(count: size)
        var span = secret.mutableSpan
        let read = unsafe span.withUnsafeMutableBytes {
            unsafe clinux_keyctl_read(key, $0.baseAddress, UInt($0.count))
        }
        guard read == size else { return try missing() }
        return secret
    }

    /// Whether there is a secret under `description` whose time is not over.
    package static func contains(_ description: String) throws(CofferError) -> Bool {
        try find(description) != nil
    }

    /// Replaces a secret that is there and starts its timeout anew; nothing happens when it is gone, so that
    /// what somebody removed meanwhile does not come back.
    package static func replace(
        _ secret: borrowing GuardedBytes, description: String, timeout: Int
    ) throws(CofferError) {
        try check(timeout)
        guard let key = try find(description) else { return }
        let result = unsafe secret.span.withUnsafeBytes { payload in
            unsafe clinux_keyctl_update(key, payload.baseAddress, UInt(payload.count))
        }
        guard result == 0 else {
            let _: Bool? = try missing()
            return
        }
        try set(key, timeout: timeout)
    }

    /// Starts the timeout anew; nothing happens when there is no such key.
    package static func refresh(_ description: String, timeout: Int) throws(CofferError) {
        try check(timeout)
        guard let key = try find(description) else { return }
        try set(key, timeout: timeout)
    }

    /// Removes the secret under `description`; gives whether there was one.
    @discardableResult
    package static func remove(_ description: String) throws(CofferError) -> Bool {
        guard let key = try find(description) else { return false }
        try invalidate(key)
        return true
    }

    static func invalidate(_ key: Int) throws(CofferError) {
        guard clinux_keyctl(KEYCTL_INVALIDATE, UInt(key), 0, 0, 0) == 0 else {
            throw Errno.failure("remove from the kernel keyring", nil)
        }
    }

    static func allow(_ key: Int) {
        _ = clinux_keyctl(KEYCTL_SETPERM, UInt(key), 0x3f3f_0000, 0, 0)
    }

    /// The kernel counts in 32 bits and takes 0 for "never": neither may slip through.
    static func check(_ timeout: Int?) throws(CofferError) {
        guard timeout.map({ (1...Int(Int32.max)).contains($0) }) ?? true else {
            throw CofferError(.invalidInput, "A timeout is 1 to \(Int32.max) seconds.")
        }
    }

    static func set(_ key: Int, timeout: Int) throws(CofferError) {
        guard clinux_keyctl(KEYCTL_SET_TIMEOUT, UInt(key), UInt(timeout), 0, 0) == 0 else {
            throw Errno.failure("set a timeout in the kernel keyring", nil)
        }
    }

    private static func find(_ description: String) throws(CofferError) -> Int? {
        try find(description, type: "user", in: Int(KEY_SPEC_USER_KEYRING))
    }

    static func find(_ description: String, type: String, in ring: Int) throws(CofferError) -> Int? {
        let key = unsafe clinux_keyctl_search(CInt(ring), type, description)
        if key >= 0 { return key }
        return try missing()
    }

    /// `nil` for what is not there, an error for a keyring that cannot be used.
    private static func missing<Value: ~Copyable>() throws(CofferError) -> Value? {
        switch Errno.current {
        case ENOKEY, EKEYEXPIRED, EKEYREVOKED: return nil
        default: throw Errno.failure("use the kernel keyring", nil)
        }
    }
}
