import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage
import Synchronization

/// The vault's identity and its device key D, in a file of its owner alone.
///
/// Layout (128 bytes): magic (8), version (2), 6 zero, vault id (16), device key (32), 32 zero, HMAC-SHA256
/// under a key derived from the device key over everything before it (32). The tag finds damage; it cannot
/// keep a secret that lies beside it.
final class DeviceRecord: Sendable {
    static let fileName: FilePath = "device"
    private static let size = 128
    private static let keyRange = 32..<64

    /// The device key, released with its last user.
    final class Key: Sendable {
        let key: SymmetricKey
        fileprivate init(_ key: consuming SymmetricKey) { self.key = key }
    }

    let vaultID: VaultID
    private let held: Mutex<Key?>

    init(vaultID: VaultID, deviceKey: consuming SymmetricKey) {
        self.vaultID = vaultID
        held = Mutex(Key(deviceKey))
    }

    /// The device key; `wiped` once it was forgotten.
    func deviceKey() throws(CofferError) -> Key {
        guard let key = held.withLock({ $0 }) else { throw CofferError.wiped }
        return key
    }

    /// Drops the device key from memory for good.
    func forget() { held.withLock { $0 = nil } }

    /// Makes a new identity and key. Only `init` of a home calls this: a key that cannot be read is never
    /// replaced.
    static func create(vaultID: VaultID, in directory: borrowing Descriptor) throws(CofferError)
        -> DeviceRecord
    {
        let key = try SecretBytes.random(count: 32)
        var record = try GuardedBytes.zeroed(count: size)
        var head = ByteWriter()
        head.append(Array(Magic.device.utf8))
        head.append(UInt16(1))
        head.pad(to: 16)
        head.append(vaultID.bytes)
        var span = record.mutableSpan
        span.write(head.bytes.span, at: 0)
        key.exposing { span.write($0, at: keyRange.lowerBound) }
        let deviceKey = SymmetricKey.adopting(key)
        let tag = try tag(of: record.span.extracting(..<96), deviceKey: deviceKey)
        var whole = record.mutableSpan
        whole.write(tag.span, at: 96)
        let file = try directory.open(fileName, [.readWrite, .exclusive])
        try file.write(record.span, at: 0)
        try file.sync()
        return DeviceRecord(vaultID: vaultID, deviceKey: deviceKey)
    }

    /// Reads the record.
    static func read(in directory: borrowing Descriptor) throws(CofferError) -> DeviceRecord {
        let file = try directory.open(fileName, .read)
        let status = try file.status()
        guard status.kind == .regular, status.size == Int64(size) else { throw damaged }
        var record = try GuardedBytes.zeroed(count: size)
        var span = record.mutableSpan
        guard try file.read(at: 0, into: &span) == size else { throw damaged }
        var reader = ByteReader(record.span.extracting(..<32).copied(), what: "device record")
        guard try reader.take(8) == Array(Magic.device.utf8) else { throw damaged }
        guard try reader.number(UInt16.self) == 1 else {
            throw CofferError(.unsupportedVersion, "The device record was written by a newer release.")
        }
        try reader.skip(6)
        guard let vaultID = VaultID(bytes: try reader.take(16)) else { throw damaged }
        let deviceKey = try SymmetricKey.copying(record.span.extracting(keyRange))
        let expected = try tag(of: record.span.extracting(..<96), deviceKey: deviceKey)
        guard ConstantTime.equal(expected.span, record.span.extracting(96...)) else { throw damaged }
        return DeviceRecord(vaultID: vaultID, deviceKey: deviceKey)
    }

    private static var damaged: CofferError { CofferError(.corrupt, "The device record is damaged.") }

    private static func tag(
        of bytes: Span<UInt8>, deviceKey: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        let key = try HKDF.deriveKey(from: deviceKey, info: Label.deviceMAC)
        return try HMAC.authenticate(bytes, key: key)
    }

    /// A key for one purpose of this vault, from the device key alone.
    func key(_ label: String) throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(from: deviceKey().key, info: label, context: context.span)
    }
}
