package import CofferBase
import Glibc
import CLinux

/// One key of the kernel, by its number: what later comes under the same description is another.
package struct KernelKey: Sendable, Equatable {
    let number: Int

    /// The secret; `nil` when it went meanwhile.
    package func content() throws(CofferError) -> GuardedBytes? {
        let size = clinux_keyctl_read(number, nil, 0)
        guard size >= 0 else { return try KernelKeyring.missing() }
        var secret = try GuardedBytes.zeroed(count: size)
        var span = secret.mutableSpan
        let read = unsafe span.withUnsafeMutableBytes {
            unsafe clinux_keyctl_read(number, $0.baseAddress, UInt($0.count))
        }
        guard read >= 0 else { return try KernelKeyring.missing() }
        guard read == size else { throw CofferError(.busy, "A key of the kernel keyring is being changed.") }
        return secret
    }

    /// Replaces the secret and starts the timeout again; nothing happens when the key is gone, so that what
    /// somebody removed meanwhile does not come back.
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

    /// Starts the timeout again, in seconds; 0 is the kernel's word for none.
    func setTimeout(_ seconds: Int) throws(CofferError) {
        guard clinux_keyctl(KEYCTL_SET_TIMEOUT, UInt(number), UInt(seconds), 0, 0) == 0 else {
            throw Errno.failure("set a timeout in the kernel keyring", nil)
        }
    }

    /// Has the kernel drop the key at once, wherever it is linked.
    ///
    /// It is taken out of the user keyring first: a link that the kernel's collector removes instead counts
    /// against the user's quota until a reboot, and after a thousand locks nothing could be held any more.
    package func invalidate() throws(CofferError) {
        let isOut = isLinked && KernelKeyring.unlink(number, from: Int(KEY_SPEC_USER_KEYRING))
        guard clinux_keyctl(KEYCTL_INVALIDATE, UInt(number), 0, 0, 0) == 0 || isOut && Errno.current == ENOKEY
        else { throw Errno.failure("remove from the kernel keyring", nil) }
    }

    /// Whether the user keyring has this very key under its description: the kernel takes out by description,
    /// and what came after this key is to stay.
    package var isLinked: Bool {
        guard let label else { return false }
        let (type, name) = (
            String(decoding: label.type, as: UTF8.self), String(decoding: label.name, as: UTF8.self)
        )
        return (try? KernelKeyring.find(name, type: type, in: Int(KEY_SPEC_USER_KEYRING))) == number
    }

    /// Removes the key by every way that there is: where it may not be invalidated, it is revoked, which
    /// clears it, and taken out of the user keyring.
    package func remove() throws(CofferError) {
        do throws(CofferError) {
            try invalidate()
        } catch {
            let isRevoked = clinux_keyctl(KEYCTL_REVOKE, UInt(number), 0, 0, 0) == 0
            let isOut = KernelKeyring.unlink(number, from: Int(KEY_SPEC_USER_KEYRING))
            guard isRevoked || isOut else { throw error }
        }
    }

    /// The type and the description, byte for byte; `nil` for a key that went meanwhile or hides them.
    ///
    /// The kernel writes type, owner, permissions and description, with semicolons between them.
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
