package import CofferBase
import Glibc
import CLinux

/// Short secrets in the kernel's user keyring: shared by the processes of one user, gone with a timeout or a
/// reboot.
///
/// Where the kernel has no keyring, or a container forbids it, every call throws `unsupported` or
/// `permissionDenied`; callers then do without.
package enum KernelKeyring {
    /// More keys under one description than this are not looked for.
    private static let maxCountPerName = 64

    /// Whether the user keyring can be searched here.
    package static var isAvailable: Bool {
        do throws(CofferError) {
            _ = try find("coffer:probe")
            return true
        } catch {
            return false
        }
    }

    /// Stores `secret` under `description`; the kernel drops it after `timeout` seconds, without one at the
    /// next reboot.
    ///
    /// The call takes the former key out in the same step and does not change it: a process that still works
    /// on that key changes nothing of this one.
    @discardableResult
    package static func store(
        _ secret: borrowing GuardedBytes, description: String, timeout: Int?
    ) throws(CofferError) -> KernelKey {
        let former = try find(description)
        // A key's timeout is set before anybody can find the key.
        let aside = Int(KEY_SPEC_THREAD_KEYRING)
        let key = try add(secret, description: description, timeout: timeout, in: aside)
        defer { unlink(key, from: aside) }
        guard clinux_keyctl(KEYCTL_LINK, UInt(key), userKeyring, 0, 0) == 0 else { throw notStored() }
        if let former, former != key { try? KernelKey(number: former).invalidate() }
        return KernelKey(number: key)
    }

    /// Stores `secret` in a ring, replacing what was there.
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
        // Possessor and user may do all; nobody else anything. Without the user bits, a session that does not
        // link the user keyring could not read its own key.
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

    /// The key under `description`; `nil` when there is none or its time is over.
    package static func key(_ description: String) throws(CofferError) -> KernelKey? {
        try find(description).map { KernelKey(number: $0) }
    }

    /// The secret under `description`; `nil` when there is none or its time is over.
    package static func read(_ description: String) throws(CofferError) -> GuardedBytes? {
        guard let key = try key(description) else { return nil }
        return try key.content()
    }

    /// Whether there is a secret under `description` whose time is not over.
    package static func contains(_ description: String) throws(CofferError) -> Bool {
        try find(description) != nil
    }

    /// Starts the timeout again; nothing happens when there is no such key.
    package static func refresh(_ description: String, timeout: Int) throws(CofferError) {
        try check(timeout)
        try key(description)?.setTimeout(timeout)
    }

    /// Removes every secret under `description`; tells whether there was one.
    @discardableResult
    package static func remove(_ description: String) throws(CofferError) -> Bool {
        var hadAny = false
        // The first that is found may hide another, in a ring within the ring.
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

    /// The kernel counts in 32 bits and takes 0 for "never": neither may slip through.
    static func check(_ timeout: Int?) throws(CofferError) {
        guard timeout.map({ (1...Int(Int32.max)).contains($0) }) ?? true else {
            throw CofferError(.invalidInput, "A timeout is 1 to \(Int32.max) seconds.")
        }
    }

    /// Takes a key out of a ring; the key lives on where another ring has it.
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

    /// Why the kernel did not take a key or a ring, by the calling thread's `errno`.
    static func notStored() -> CofferError {
        guard Errno.current == EDQUOT else { return Errno.failure("use the kernel keyring", nil) }
        return CofferError(
            .noSpace,
            "The kernel keyring takes no more keys: this user's quota is used up, as /proc/key-users shows. "
                + "Remove keys that nobody needs: coffer lock --all takes those that a lock takes. The keys "
                + "of "
                + "the afterFirstUnlock classes stay until their vault is wiped or the machine restarts; "
                + "keyctl "
                + "unlink KEY @u removes one of a vault that is gone.",
            systemError: EDQUOT)
    }

    /// `nil` for what is not there, an error for a keyring that cannot be used.
    static func missing<Value: ~Copyable>() throws(CofferError) -> Value? {
        switch Errno.current {
        case ENOKEY, EKEYEXPIRED, EKEYREVOKED: return nil
        default: throw Errno.failure("use the kernel keyring", nil)
        }
    }
}
