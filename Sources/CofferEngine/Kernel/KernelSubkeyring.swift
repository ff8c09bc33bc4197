package import CofferBase
import Glibc
import CLinux

/// A ring of short secrets within the kernel's user keyring. The secrets are removed together: when the
/// ring's timeout expires, when the ring is removed, or at the next reboot.
package struct KernelSubkeyring: Sendable {
    static let type = "keyring"
    /// The size in bytes of a key number, which is a signed 32-bit word in the kernel.
    private static let numberSize = 4
    let number: Int

    /// Returns the ring that is stored under `description`, or `nil` if there is none or it has expired.
    package static func find(_ description: String) throws(CofferError) -> KernelSubkeyring? {
        let found = try KernelKeyring.find(description, type: type, in: Int(KEY_SPEC_USER_KEYRING))
        return found.map { KernelSubkeyring(number: $0) }
    }

    /// Returns the ring that is stored under `description`, creating it if necessary.
    package static func make(_ description: String) throws(CofferError) -> KernelSubkeyring {
        if let ring = try find(description) { return ring }
        let number = unsafe clinux_add_key(type, description, nil, 0, CInt(KEY_SPEC_USER_KEYRING))
        guard number >= 0 else { throw KernelKeyring.notStored() }
        KernelKeyring.allow(number)
        return KernelSubkeyring(number: number)
    }

    /// Removes the ring that is stored under `description`, together with its contents. Returns whether there
    /// was such a ring.
    @discardableResult
    package static func remove(_ description: String) throws(CofferError) -> Bool {
        guard let ring = try find(description) else { return false }
        try ring.remove()
        return true
    }

    func remove() throws(CofferError) {
        // Otherwise the keys would stay until the kernel collects them. A ring is removed even if its keys
        // cannot be listed.
        for entry in KernelSubkeyringSearch(in: self).entries where entry.ring != number {
            try? entry.key.remove()
        }
        for key in (try? keys()) ?? [] { try? key.remove() }
        try KernelKey(number: number).remove()
    }

    /// Sets the ring's timeout in seconds, counted from now. `nil` means no timeout, for which the kernel
    /// expects 0.
    package func setTimeout(_ seconds: Int?) throws(CofferError) {
        try KernelKeyring.check(seconds)
        try KernelKey(number: number).setTimeout(seconds ?? 0)
    }

    /// Stores `secret` under `description` in the ring, replacing the previous secret.
    package func store(_ secret: borrowing GuardedBytes, description: String) throws(CofferError) {
        try KernelKeyring.store(secret, description: description, in: number)
    }

    /// Returns the secret that is stored under `description` in the ring, or `nil` if there is none.
    package func read(_ description: String) throws(CofferError) -> GuardedBytes? {
        guard let key = try KernelKeyring.find(description, type: "user", in: number) else { return nil }
        return try KernelKey(number: key).content()
    }

    /// Removes the secret that is stored under `description` in the ring. Returns whether there was one.
    @discardableResult
    package func remove(_ description: String) throws(CofferError) -> Bool {
        guard let key = try KernelKeyring.find(description, type: "user", in: number) else { return false }
        try KernelKey(number: key).remove()
        return true
    }

    /// Returns the descriptions of the secrets in the ring, in no particular order.
    package func descriptions() throws(CofferError) -> [String] {
        try keys().compactMap { $0.label.map { String(decoding: $0.name, as: UTF8.self) } }
    }

    /// Calls `body` with the description and the content of every readable secret in the user keyring and in
    /// up to three levels of rings within it.
    package static func forEachSecretOfUser(
        _ body: (_ description: String, _ secret: Span<UInt8>) -> Void
    ) throws(CofferError) {
        try KernelSubkeyring(number: Int(KEY_SPEC_USER_KEYRING)).forEachSecret(depth: 3, body)
    }

    private func forEachSecret(
        depth: Int, _ body: (_ description: String, _ secret: Span<UInt8>) -> Void
    ) throws(CofferError) {
        for key in try keys() {
            // A key that was removed in the meantime has no label.
            guard let label = key.label else { continue }
            // A secret is read into guarded memory only; a ring is read as a list of keys.
            guard label.type != Array(Self.type.utf8) else {
                if depth > 0 {
                    try? KernelSubkeyring(number: key.number).forEachSecret(depth: depth - 1, body)
                }
                continue
            }
            let content = try? key.content()
            switch content {
            case .some(let secret): body(String(decoding: label.name, as: UTF8.self), secret.span)
            case .none: break
            }
        }
    }

    /// Returns the keys in the ring. If the ring grows during the read, it is read again.
    func keys() throws(CofferError) -> [KernelKey] {
        var bytes: [UInt8] = []
        while true {
            let size = unsafe bytes.withUnsafeMutableBytes {
                unsafe clinux_keyctl_read(number, $0.baseAddress, UInt($0.count))
            }
            guard size >= 0 else {
                let none: [KernelKey]? = try KernelKeyring.missing()
                return none ?? []
            }
            if size <= bytes.count {
                bytes.removeLast(bytes.count - size)
                break
            }
            bytes = [UInt8](repeating: 0, count: size + 16 * Self.numberSize)
        }
        return stride(from: 0, to: bytes.count - Self.numberSize + 1, by: Self.numberSize).map { start in
            unsafe bytes.withUnsafeBytes {
                KernelKey(number: Int(unsafe $0.loadUnaligned(fromByteOffset: start, as: Int32.self)))
            }
        }
    }
}
