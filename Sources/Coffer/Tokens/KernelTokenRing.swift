import CofferBase
import CofferCrypto
import CofferEngine

/// A keyring in the kernel's, for volatile tokens that later commands of the same user are to find: sealed
/// like stored ones, never on a disk, gone with the session's timeout, a lock or a reboot.
struct KernelTokenRing: Keyring {
    private let name: String
    /// Seconds until the ring goes, where no session that is held has set its time already.
    private let timeout: Int?

    init(vaultID: VaultID, timeout: Int?) {
        name = Self.name(vaultID)
        self.timeout = timeout
    }

    private static func name(_ vaultID: VaultID) -> String { "coffer:\(vaultID):volatile" }

    /// Removes every volatile token of a vault.
    static func remove(vaultID: VaultID) { _ = try? KernelRing.remove(name(vaultID)) }

    /// Makes the ring if it is not there, and starts its timeout.
    static func prepare(vaultID: VaultID, timeout: Int?) throws(CofferError) {
        try KernelRing.make(name(vaultID)).setTimeout(timeout)
    }

    /// Starts the timeout anew, where there is a ring.
    static func renew(vaultID: VaultID, timeout: Int) {
        try? KernelRing.find(name(vaultID))?.setTimeout(timeout)
    }

    /// The ring; `nil` also where the kernel has none or forbids it: then nothing can be in it.
    private var ring: KernelRing? { try? KernelRing.find(name) }

    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? {
        guard let ring else { return nil }
        let found = try ring.read(Self.text(name))
        switch found {
        case .some(let bytes): return bytes.span.copied()
        case .none: return nil
        }
    }

    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] {
        var envelopes: [[UInt8]: [UInt8]] = [:]
        guard let ring else { return envelopes }
        for text in try ring.descriptions() {
            guard let name = HexText.decode(text), let envelope = try envelope(name) else { continue }
            envelopes[name] = envelope
        }
        return envelopes
    }

    func count() throws(CofferError) -> Int { try ring?.descriptions().count ?? 0 }

    func apply(_ changes: [[UInt8]: KeyringChange]) throws(CofferError) {
        for (name, change) in changes {
            switch change {
            case .remove: try ring?.remove(Self.text(name))
            case .put(let envelope):
                let bytes = try GuardedBytes.copying(envelope.span)
                try writable().store(bytes, description: Self.text(name))
            }
        }
    }

    private func writable() throws(CofferError) -> KernelRing {
        if let ring { return ring }
        let ring = try KernelRing.make(name)
        try ring.setTimeout(timeout)
        return ring
    }

    private static func text(_ name: [UInt8]) throws(CofferError) -> String {
        String(decoding: try Encoding.hexText(name), as: UTF8.self)
    }
}
