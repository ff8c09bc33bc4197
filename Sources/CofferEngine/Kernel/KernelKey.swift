package import CofferBase
import Glibc
import CLinux

/// A key in the kernel keyring, identified by its number. A key stored later under the same description has a
/// different number.
package struct KernelKey: Sendable, Equatable {
    let number: Int

    /// Returns the secret in the key, or `nil` if the key has been removed or has expired.
    package func content() throws(CofferError) -> GuardedBytes? {
        let size = clinux_keyctl_read(number, nil, 0)
        guard size >= 0 else { return try KernelKeyring.missing() }
        var secret = try GuardedBytes.zeroed(count: size)
        var span = secret.mutableSpan
        let read = unsafe span.withUnsafeMutableBytes {
            unsafe clinux_keyctl_read(number, $0.baseAddress, UInt($0.count))
        }
        guard read >= 0 else { return try KernelKeyring.missing() }
        guard read == size else {
            throw CofferError(
                .busy, "A key in the kernel keyring is being changed by another process. Try again.")
        }
        return secret
    }

    /// Replaces the secret in the key and restarts the timeout. Does nothing if the key no longer exists, so
    /// a key that another process has removed does not reappear.
    package func update(_ secret: borrowing GuardedBytes, timeout: Int) throws(CofferError) {
        try KernelKeyring.check(timeout)
        let result = unsafe secret.span.withUnsafeBytes { payload in
            unsafe clinux_keyctl_update(number, payload.baseAddress, UInt(payload.count))
        }
        guard result == 0 else {
            let _: Bool? = try KernelKeyring.missing()
            return
        }
        try setTimeout(timeout)
    }

    /// Sets the key's timeout in seconds, counted from now. The kernel interprets 0 as no timeout.
    func setTimeout(_ seconds: Int) throws(CofferError) {
        guard clinux_keyctl(KEYCTL_SET_TIMEOUT, UInt(number), UInt(seconds), 0, 0) == 0 else {
            throw Errno.failure("set a key's timeout in the kernel keyring", nil)
        }
    }

    /// Removes the key from the kernel immediately, and from every ring that links to it.
    ///
    /// Unlinks the key from the user keyring first. Otherwise, the kernel's garbage collector would remove
    /// the link, which would then count against the user's quota until a reboot. After a thousand locks, no
    /// more keys could be stored.
    package func invalidate() throws(CofferError) {
        let isOut = isLinked && KernelKeyring.unlink(number, from: Int(KEY_SPEC_USER_KEYRING))
        guard clinux_keyctl(KEYCTL_INVALIDATE, UInt(number), 0, 0, 0) == 0 || isOut && Errno.current == ENOKEY
        else { throw Errno.failure("remove a key from the kernel keyring", nil) }
    }

    /// Whether the user keyring contains a link to this key, and not to a newer key with the same
    /// description. The kernel unlinks by description, so unlinking could otherwise remove the newer key.
    package var isLinked: Bool {
        guard let label else { return false }
        let (type, name) = (
            String(decoding: label.type, as: UTF8.self), String(decoding: label.name, as: UTF8.self)
        )
        return (try? KernelKeyring.find(name, type: type, in: Int(KEY_SPEC_USER_KEYRING))) == number
    }

    /// Invalidates the key. If that fails, revokes it, which clears the secret, and unlinks it from the user
    /// keyring.
    package func remove() throws(CofferError) {
        do throws(CofferError) {
            try invalidate()
        } catch {
            let isRevoked = clinux_keyctl(KEYCTL_REVOKE, UInt(number), 0, 0, 0) == 0
            let isOut = KernelKeyring.unlink(number, from: Int(KEY_SPEC_USER_KEYRING))
            guard isRevoked || isOut else { throw error }
        }
    }

    /// The key's type and its description, byte for byte, or `nil` if the key has been removed or does not
    /// permit reading them.
    ///
    /// The kernel returns the type, user, group, permissions and description, separated by semicolons.
    var label: (type: [UInt8], name: [UInt8])? {
        // No description is longer than a page.
        var text = [UInt8](repeating: 0, count: 5000)
        let size = unsafe text.withUnsafeMutableBytes {
            unsafe clinux_keyctl_describe(number, $0.baseAddress, UInt($0.count))
        }
        guard size > 0, size <= text.count else { return nil }
        let parts = text.prefix(size - 1).split(
            separator: UInt8(ascii: ";"), maxSplits: 4, omittingEmptySubsequences: false)
        return parts.count == 5 ? (Array(parts[0]), Array(parts[4])) : nil
    }
}
