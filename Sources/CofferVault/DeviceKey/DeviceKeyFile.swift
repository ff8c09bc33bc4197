package import CofferBase
package import CofferCrypto
package import CofferEngine
package import SystemPackage

/// A vault's `device` file: the vault's id, the backend that stores its device key, and a 32-byte key.
///
/// Layout (128 bytes): magic (8), version (2), 6 zero bytes, vault id (16), key (32), 32 zero bytes, and an
/// HMAC-SHA256 (32) over everything before it, under a key derived from the key in the file. In version 1,
/// the key is the device key. In version 2, the Secret Service stores the device key, sealed under the key in
/// the file. The HMAC detects only accidental damage, because its key is derived from a key in the same file.
///
/// The file is changed in place, because a rename would leave the old key readable on the disk.
package struct DeviceKeyFile: ~Copyable {
    package static let name: FilePath = "device"
    private static let size = 128
    private static let keyRange = 32..<64
    private static let tagStart = 96

    package let backend: KeyringBackend
    package let vaultID: VaultID
    package let key: SecretBytes

    package init(_ backend: KeyringBackend, vaultID: VaultID, key: consuming SecretBytes) {
        self.backend = backend
        self.vaultID = vaultID
        self.key = key
    }

    /// Reads the file and verifies its HMAC.
    package static func read(in vault: borrowing Descriptor) throws(CofferError) -> DeviceKeyFile {
        let file = try vault.open(name, .read)
        let status = try file.status()
        guard status.kind == .regular, status.size == Int64(size) else { throw corruptError }
        var record = try GuardedBytes.zeroed(count: size)
        var span = record.mutableSpan
        guard try file.read(at: 0, into: &span) == size else { throw corruptError }
        var reader = BinaryReader(
            record.span.extracting(..<32).copied(), name: "device record", remedy: .restoreOrWipeVault)
        guard try reader.take(8) == Array(FileMagic.device.utf8) else { throw corruptError }
        let version = try reader.number(UInt16.self)
        guard let backend = KeyringBackend(version: version) else {
            throw CofferError(
                .unsupportedVersion, "The device record was written by a newer release or is damaged.",
                remedy: .useNewerRelease)
        }
        try reader.skip(6)
        guard let vaultID = VaultID(bytes: try reader.take(16)) else { throw corruptError }
        let key = try SecretBytes.copying(record.span.extracting(keyRange))
        let expected = try tag(of: record.span.extracting(..<tagStart), key: key)
        guard ConstantTime.equal(expected.span, record.span.extracting(tagStart...)) else {
            throw corruptError
        }
        return DeviceKeyFile(backend, vaultID: vaultID, key: key)
    }

    /// Creates the file; throws `alreadyExists` if the file already exists.
    package func create(in vault: borrowing Descriptor) throws(CofferError) {
        try write(to: vault.open(Self.name, [.readWrite, .exclusive]))
    }

    /// Overwrites the file in place with a single write.
    package func overwrite(in vault: borrowing Descriptor) throws(CofferError) {
        try write(to: vault.open(Self.name, .readWrite))
    }

    private func write(to file: borrowing Descriptor) throws(CofferError) {
        var head = BinaryWriter()
        head.append(Array(FileMagic.device.utf8))
        head.append(backend.version)
        head.pad(to: 16)
        head.append(vaultID.bytes)
        var record = try GuardedBytes.zeroed(count: Self.size)
        var span = record.mutableSpan
        span.write(head.bytes.span, at: 0)
        key.exposing { span.write($0, at: Self.keyRange.lowerBound) }
        let tag = try Self.tag(of: record.span.extracting(..<Self.tagStart), key: key)
        var whole = record.mutableSpan
        whole.write(tag.span, at: Self.tagStart)
        try file.write(record.span, at: 0)
        try file.sync()
    }

    private static var corruptError: CofferError {
        CofferError(.corrupt, "The device record is damaged.", remedy: .restoreOrWipeVault)
    }

    private static func tag(
        of bytes: Span<UInt8>, key: borrowing SecretBytes
    ) throws(CofferError) -> [UInt8] {
        let key = try HKDF.deriveKey(from: symmetric(key), info: KDFLabel.deviceMAC)
        return try HMAC.authenticate(bytes, key: key)
    }

    private static func symmetric(_ key: borrowing SecretBytes) throws(CofferError) -> SymmetricKey {
        try key.exposing { (bytes) throws(CofferError) in try SymmetricKey.copying(bytes) }
    }

    // MARK: The device key in the Secret Service

    /// Seals the device key under the key in this file, for storage in the Secret Service.
    package func seal(_ deviceKey: borrowing SecretBytes) throws(CofferError) -> [UInt8] {
        let key = try wrappingKey()
        let context = vaultID.bytes
        return try deviceKey.exposing { (bytes) throws(CofferError) in
            try XChaCha20Poly1305.seal(bytes, key: key, associatedData: context.span)
        }
    }

    /// Opens a device key that ``seal(_:)`` sealed.
    func open(_ sealed: [UInt8]) throws(CofferError) -> SecretBytes {
        let key = try wrappingKey()
        let context = vaultID.bytes
        do throws(CofferError) {
            let deviceKey = try XChaCha20Poly1305.open(sealed.span, key: key, associatedData: context.span)
            if deviceKey.count == 32 { return deviceKey }
        } catch {
            guard error.code == .notAuthentic else { throw error }
        }
        throw CofferError(
            .corrupt,
            "The vault's device key in the Secret Service is damaged.", remedy: .restoreKeyringOrWipeVault)
    }

    private func wrappingKey() throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(
            from: Self.symmetric(key), info: KDFLabel.deviceKeyWrapping, context: context.span)
    }
}

extension KeyringBackend {
    fileprivate init?(version: UInt16) {
        switch version {
        case 1: self = .file
        case 2: self = .secretService
        default: return nil
        }
    }

    fileprivate var version: UInt16 { self == .file ? 1 : 2 }
}
