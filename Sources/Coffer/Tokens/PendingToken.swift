import CofferBase
import CofferCrypto
import CofferEngine

/// A token that was stored while its class was locked: sealed to the class's public key, so that only an
/// unlock reads it.
///
/// Layout: magic (8), version (2), class (2), 4 zero, vault id (16), number (8), keyed name (32), length (4)
/// and sealed box, HMAC-SHA256 under a key derived from the device key over everything before it (32). In the
/// box: bytes 0…71 again, length (4) and metadata, value. The tag finds damage, and a box that was moved.
struct PendingToken {
    let number: UInt64
    let protection: ProtectionClass
    let name: [UInt8]
    private let box: [UInt8]

    private static let tagSize = 32
    private static let what = "waiting token"

    static func seal(
        _ token: Token, info: TokenInfo, name: [UInt8], number: UInt64, to publicKey: [UInt8],
        vaultID: VaultID
    ) throws(CofferError) -> PendingToken {
        var writer = ByteWriter()
        writer.append(head(number, info.protection, name, vaultID: vaultID))
        writer.appendCounted(info.encoded)
        let metadata = writer.bytes
        let message = try token.exposing { (value) throws(CofferError) in
            try GuardedBytes.concatenating(metadata.span, value)
        }
        return PendingToken(
            number: number, protection: info.protection, name: name,
            box: try SealedBox.seal(message.span, to: publicKey.span))
    }

    /// Opens the box with the class's secret key; `corrupt` when it does not open or is another's.
    func open(
        under classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> (info: TokenInfo, token: Token) {
        let message: SecretBytes
        do throws(CofferError) {
            message = try SealedBox.open(box.span, secretKey: classKey.inboxKey(vaultID: vaultID))
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw Self.damaged
        }
        let head = Self.head(number, protection, name, vaultID: vaultID)
        return try message.exposing { (bytes) throws(CofferError) in
            guard bytes.count >= head.count + 4, bytes.extracting(..<head.count).copied() == head else {
                throw Self.damaged
            }
            let length = Int(bytes.bigEndian(UInt32.self, at: head.count))
            let start = head.count + 4
            guard length <= bytes.count - start else { throw Self.damaged }
            let metadata = bytes.extracting(start..<start + length).copied()
            let info = try TokenInfo.decode(metadata, protection: protection)
            return (info, try Token(SecretBytes.copying(bytes.extracting((start + length)...))))
        }
    }

    func encoded(device: DeviceRecord) throws(CofferError) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(Self.head(number, protection, name, vaultID: device.vaultID))
        writer.appendCounted(box)
        return try writer.bytes + HMAC.authenticate(writer.bytes.span, key: device.key(Label.inboxMAC))
    }

    static func decode(_ bytes: [UInt8], device: DeviceRecord) throws(CofferError) -> PendingToken {
        guard bytes.count > tagSize else { throw damaged }
        let end = bytes.count - tagSize
        let isAuthentic = try HMAC.isValid(
            bytes.span.extracting(end...), for: bytes.span.extracting(..<end),
            key: device.key(Label.inboxMAC))
        var reader = ByteReader(Array(bytes[..<end]), what: what)
        let magic = try reader.take(8)
        let version = try reader.number(UInt16.self)
        let rawClass = try reader.number(UInt16.self)
        guard isAuthentic, magic == Array(Magic.pendingToken.utf8) else { throw damaged }
        guard version == 1, let protection = ProtectionClass(rawValue: rawClass) else {
            throw CofferError(.unsupportedVersion, "A waiting token was stored by a newer release.")
        }
        try reader.skip(4)
        guard try reader.take(16) == device.vaultID.bytes else { throw damaged }
        let number = try reader.number(UInt64.self)
        let name = try reader.take(32)
        let box = try reader.counted()
        guard reader.remaining == 0 else { throw damaged }
        return PendingToken(number: number, protection: protection, name: name, box: box)
    }

    private static var damaged: CofferError { CofferError(.corrupt, "A \(what) is damaged.") }

    private static func head(
        _ number: UInt64, _ protection: ProtectionClass, _ name: [UInt8], vaultID: VaultID
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(Array(Magic.pendingToken.utf8))
        writer.append(UInt16(1))
        writer.append(protection.rawValue)
        writer.append([0, 0, 0, 0])
        writer.append(vaultID.bytes)
        writer.append(number)
        writer.append(name)
        return writer.bytes
    }
}
