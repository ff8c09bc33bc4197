import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// A storage for ephemeral tokens in the kernel keyring, where the same user's later commands find them. The
/// tokens are sealed like stored tokens, are never written to a disk, and disappear when the vault's timeout
/// ends, the vault is locked, or the machine reboots.
///
/// Any of this user's processes can add entries, such as a stored token's older envelope. Each entry
/// therefore ends with an authentication tag under its class key, and an entry without a valid tag is
/// ignored. The tag cannot be checked while the class is locked; ``TokenStore/findEnvelope(_:orLocked:)``
/// explains how such an entry is treated.
struct KernelKeyringStorage: ItemStorage {
    private static let tagSize = 32

    private let vaultID: VaultID
    /// The time in seconds until the kernel drops a keyring that this storage creates; `nil` for no timeout.
    private let timeout: @Sendable () -> Int?
    /// Returns the boot ID. Entries from another boot are ignored.
    private let boot: @Sendable () -> String
    /// Returns a class's key; `nil` while the class is locked.
    private let key: @Sendable (ProtectionClass) -> ClassKey?

    init(
        vaultID: VaultID, timeout: @autoclosure @escaping @Sendable () -> Int?,
        boot: @escaping @Sendable () -> String,
        key: @escaping @Sendable (ProtectionClass) -> ClassKey?
    ) {
        self.vaultID = vaultID
        self.timeout = timeout
        self.boot = boot
        self.key = key
    }

    static func name(_ vaultID: VaultID) -> String { "coffer:\(vaultID):volatile" }

    private var name: String { Self.name(vaultID) }

    /// Removes all of a vault's ephemeral tokens.
    static func remove(vaultID: VaultID) { _ = try? KernelSubkeyring.remove(name(vaultID)) }

    /// Creates the keyring if it does not exist, and starts its timeout.
    static func prepare(vaultID: VaultID, timeout: Int?) throws(CofferError) {
        try KernelSubkeyring.make(name(vaultID)).setTimeout(timeout)
    }

    /// Restarts the timeout if the keyring exists.
    static func renew(vaultID: VaultID, timeout: Int) {
        try? KernelSubkeyring.find(name(vaultID))?.setTimeout(timeout)
    }

    /// The keyring; `nil` if there is none, if the kernel does not support keyrings, or if it denies access
    /// to them.
    private var ring: KernelSubkeyring? { try? KernelSubkeyring.find(name) }

    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? {
        guard let ring else { return nil }
        let found = try ring.read(HexText.encode(name))
        switch found {
        case .some(let bytes): return try opened(bytes.span.copied(), name)
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

    func count() throws(CofferError) -> Int { try envelopes().count }

    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        for (name, change) in changes {
            switch change {
            case .remove: try ring?.remove(HexText.encode(name))
            case .put(let envelope):
                guard let classKey = try key(TokenEnvelope.decode(envelope).protection) else {
                    throw CofferError.locked
                }
                let entry = try envelope + tag(envelope, name, classKey)
                try writable().store(GuardedBytes.copying(entry.span), description: HexText.encode(name))
            }
        }
    }

    private func writable() throws(CofferError) -> KernelSubkeyring {
        if let ring { return ring }
        return try Self.make(vaultID: vaultID, timeout: timeout())
    }

    /// Creates the keyring, which must not exist, with a timeout.
    static func make(vaultID: VaultID, timeout: Int?) throws(CofferError) -> KernelSubkeyring {
        let ring = try KernelSubkeyring.make(name(vaultID))
        try ring.setTimeout(timeout)
        return ring
    }

    /// Returns an entry's envelope; `nil` if the entry does not belong to this vault, name and boot. While
    /// the class is locked, returns the envelope without checking the tag; the envelope cannot be opened
    /// until an unlock.
    private func opened(_ entry: [UInt8], _ name: [UInt8]) throws(CofferError) -> [UInt8]? {
        guard entry.count > Self.tagSize else { return nil }
        let envelope = Array(entry.dropLast(Self.tagSize))
        guard let protection = try? TokenEnvelope.decode(envelope).protection else { return nil }
        guard let classKey = key(protection) else { return envelope }
        let found = Array(entry.suffix(Self.tagSize))
        for key in [classKey, classKey.former].compactMap(\.self) {
            let expected = try tag(envelope, name, key)
            if ConstantTime.equal(expected.span, found.span) { return envelope }
        }
        return nil
    }

    private func tag(
        _ envelope: [UInt8], _ name: [UInt8], _ classKey: ClassKey
    ) throws(CofferError) -> [UInt8] {
        let context = vaultID.bytes
        let key = try HKDF.deriveKey(from: classKey.key, info: KDFLabel.volatileToken, context: context.span)
        let boot = Array(boot().utf8)
        let message = UInt32(boot.count).bigEndianBytes + boot + UInt32(name.count).bigEndianBytes + name
        return try HMAC.authenticate((message + envelope).span, key: key)
    }
}
