package import CofferBase
import Glibc
import CLinux

/// A ring of short secrets in the kernel's user keyring, which go all at once: with the ring's timeout, when
/// it is removed, or at a reboot.
package struct KernelRing: Sendable {
    private static let type = "keyring"
    /// The kernel's number of a key is a signed word of 32 bits.
    private static let numberSize = 4
    private let number: Int

    /// The ring under `description`; `nil` when there is none or its time is over.
    package static func find(_ description: String) throws(CofferError) -> KernelRing? {
        let found = try KernelKeyring.find(description, type: type, in: Int(KEY_SPEC_USER_KEYRING))
        return found.map { KernelRing(number: $0) }
    }

    /// The ring under `description`, made when there is none.
    package static func make(_ description: String) throws(CofferError) -> KernelRing {
        if let ring = try find(description) { return ring }
        let number = unsafe clinux_add_key(type, description, nil, 0, CInt(KEY_SPEC_USER_KEYRING))
        guard number >= 0 else { throw Errno.failure("use the kernel keyring", nil) }
        KernelKeyring.allow(number)
        return KernelRing(number: number)
    }

    /// Removes the ring under `description` with all that is in it; gives whether there was one.
    @discardableResult
    package static func remove(_ description: String) throws(CofferError) -> Bool {
        guard let ring = try find(description) else { return false }
        // What is in it would otherwise stay until the kernel gets round to it.
        for key in try ring.keys() { try? KernelKeyring.invalidate(key) }
        try KernelKeyring.invalidate(ring.number)
        return true
    }

    /// Starts the timeout anew, in seconds; `nil` for none, which the kernel calls 0.
    package func setTimeout(_ seconds: Int?) throws(CofferError) {
        try KernelKeyring.check(seconds)
        try KernelKeyring.set(number, timeout: seconds ?? 0)
    }

    /// Stores `secret` under `description`, replacing what was there.
    package func store(_ secret: borrowing GuardedBytes, description: String) throws(CofferError) {
        try KernelKeyring.store(secret, description: description, timeout: nil, in: number)
    }

    /// The secret under `description`; `nil` when there is none.
    package func read(_ description: String) throws(CofferError) -> GuardedBytes? {
        guard let key = try KernelKeyring.find(description, type: "user", in: number) else { return nil }
        return try KernelKeyring.content(of: key)
    }

    /// Removes the secret under `description`; gives whether there was one.
    @discardableResult
    package func remove(_ description: String) throws(CofferError) -> Bool {
        guard let key = try KernelKeyring.find(description, type: "user", in: number) else { return false }
        try KernelKeyring.invalidate(key)
        return true
    }

    /// What the secrets in the ring are stored under, in no order.
    package func descriptions() throws(CofferError) -> [String] {
        var descriptions: [String] = []
        for key in try keys() { if let text = Self.description(of: key) { descriptions.append(text) } }
        return descriptions
    }

    /// Gives `body` every secret of the user keyring that can be read, also in the rings in it, and what it
    /// is stored under.
    package static func forEachSecretOfUser(
        _ body: (_ description: String, _ secret: Span<UInt8>) -> Void
    ) throws(CofferError) {
        try KernelRing(number: Int(KEY_SPEC_USER_KEYRING)).forEachSecret(depth: 3, body)
    }

    private func forEachSecret(
        depth: Int, _ body: (_ description: String, _ secret: Span<UInt8>) -> Void
    ) throws(CofferError) {
        for key in try keys() {
            // One that goes meanwhile has nothing to say.
            guard let description = Self.description(of: key) else { continue }
            let content = try? KernelKeyring.content(of: key)
            switch content {
            case .some(let secret): body(description, secret.span)
            case .none: break
            }
            if depth > 0 { try? KernelRing(number: key).forEachSecret(depth: depth - 1, body) }
        }
    }

    private func keys() throws(CofferError) -> [Int] {
        guard let list = try KernelKeyring.content(of: number) else { return [] }
        let bytes = list.span
        return stride(from: 0, to: bytes.count - Self.numberSize + 1, by: Self.numberSize).map { start in
            unsafe bytes.extracting(start..<start + Self.numberSize).withUnsafeBytes {
                Int(unsafe $0.loadUnaligned(as: Int32.self))
            }
        }
    }

    /// The kernel gives type, owner, permissions and description, with semicolons between them; `nil` for a
    /// key that went meanwhile.
    private static func description(of key: Int) -> String? {
        var text = [UInt8](repeating: 0, count: 512)
        let size = unsafe text.withUnsafeMutableBytes {
            unsafe clinux_keyctl_describe(key, $0.baseAddress, UInt($0.count))
        }
        guard size > 0, size <= text.count else { return nil }
        let parts = text.prefix(size - 1).split(separator: UInt8(ascii: ";"), maxSplits: 4)
        return parts.count == 5 ? String(decoding: parts[4], as: UTF8.self) : nil
    }
}
