import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// A token that was stored while its class was locked. It is sealed to the class's public key and can be read
/// only after an unlock.
///
/// Layout: magic (8), version (2), class (2), 4 zero bytes, vault id (16), number (8), keyed name (32),
/// length (4) and sealed box, and HMAC-SHA256, under a key derived from the device key, over everything
/// before it (32). In the box: bytes 0…71 again, proof (32), token key (32), length (4) and metadata, and the
/// value. The tag detects damage and a box that was moved to another token.
///
/// Anyone can seal a token to a public key, so a proof, which ``ReplacementTicket`` creates, shows that a
/// value continues the stored one. The proof field is zero if there is no proof. The value is later stored
/// under the token key, from which its sender derives the ticket for the next value. Boxes in version 1
/// contain neither a proof nor a token key.
struct PendingToken {
    static let version: UInt16 = 2

    let number: UInt64
    let protection: ProtectionClass
    let name: [UInt8]
    private let version: UInt16
    private let box: [UInt8]

    private static let tagSize = 32
    private static let displayName = "pending token"

    /// A pending value's destination, with the public key and the ticket for sealing the value.
    struct Destination {
        let name: [UInt8]
        let publicKey: [UInt8]
        let vaultID: VaultID
        /// The ticket for replacing the stored value, if this vault object has one.
        let ticket: ReplacementTicket?
    }

    static func seal(
        _ token: Token, info: TokenInfo, tokenKey: borrowing SecretBytes, number: UInt64,
        to destination: Destination
    ) throws(CofferError) -> PendingToken {
        let head = head(
            number, info.protection, destination.name, version: version, vaultID: destination.vaultID)
        var metadata = BinaryWriter()
        metadata.appendLengthPrefixed(info.encoded)
        let start = try tokenKey.exposing { (key) throws(CofferError) in
            try GuardedBytes.concatenating(key, metadata.bytes.span)
        }
        let rest = try token.exposing { (value) throws(CofferError) in
            try GuardedBytes.concatenating(start.span, value)
        }
        let proof = try destination.ticket?.proof(head, rest.span) ?? OpenedToken.noProof
        let message = try GuardedBytes.concatenating((head + proof).span, rest.span)
        return PendingToken(
            number: number, protection: info.protection, name: destination.name, version: version,
            box: try SealedBox.seal(message.span, to: destination.publicKey.span))
    }

    /// Opens the box with the class's secret key. Throws `corrupt` if the box cannot be opened, belongs to
    /// another token, or contains a description that does not match its name or is not allowed.
    func open(under classKey: ClassKey, device: DeviceKey) throws(CofferError) -> OpenedToken {
        let vaultID = device.vaultID
        let message: SecretBytes
        do throws(CofferError) {
            message = try classKey.withEitherKey { (key) throws(CofferError) in
                try SealedBox.open(box.span, secretKey: key.enqueueKey(vaultID: vaultID))
            }
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw Self.corruptError
        }
        let head = Self.head(number, protection, name, version: version, vaultID: vaultID)
        let opened = try OpenedToken(
            message, head: head, protection: protection, hasProof: version > 1,
            corruptError: Self.corruptError)
        let hash = try opened.info.id.keyedHash(device.nameKey().key)
        guard hash == name, !ReservedServices.contains(opened.info.id.service),
            (try? opened.info.checkLimits()) != nil
        else { throw Self.corruptError }
        return opened
    }

    /// Returns this value sealed to the public key of `classKey`; `nil` if it is sealed to that key, and not
    /// to that of the key that `classKey` replaces. The proof stays valid, because it covers the contents.
    func resealed(to classKey: ClassKey, vaultID: VaultID) throws(CofferError) -> PendingToken? {
        do throws(CofferError) {
            _ = try SealedBox.open(box.span, secretKey: classKey.enqueueKey(vaultID: vaultID))
            return nil
        } catch {
            guard error.code == .notAuthentic, let former = classKey.former else { throw error }
            let message = try SealedBox.open(box.span, secretKey: former.enqueueKey(vaultID: vaultID))
            let publicKey = try classKey.publicKey(vaultID: vaultID)
            let box = try message.exposing { (bytes) throws(CofferError) in
                try SealedBox.seal(bytes, to: publicKey.span)
            }
            return PendingToken(
                number: number, protection: protection, name: name, version: version, box: box)
        }
    }

    func encoded(device: DeviceKey) throws(CofferError) -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(Self.head(number, protection, name, version: version, vaultID: device.vaultID))
        writer.appendLengthPrefixed(box)
        return try writer.bytes + HMAC.authenticate(writer.bytes.span, key: device.key(KDFLabel.inboxMAC))
    }

    /// Returns a value's fingerprint: the first bytes of the tag, in hexadecimal. The fingerprint is short
    /// enough for a person to copy, and long enough that an attacker who has the device key cannot create
    /// another value with the same fingerprint.
    static func fingerprint(of encoded: [UInt8]) -> String {
        HexText.encode(Array(encoded.suffix(tagSize).prefix(8)))
    }

    func fingerprint(device: DeviceKey) throws(CofferError) -> String {
        try Self.fingerprint(of: encoded(device: device))
    }

    static func decode(_ bytes: [UInt8], device: DeviceKey) throws(CofferError) -> PendingToken {
        guard bytes.count > tagSize else { throw corruptError }
        let end = bytes.count - tagSize
        let isAuthentic = try HMAC.isValid(
            bytes.span.extracting(end...), for: bytes.span.extracting(..<end),
            key: device.key(KDFLabel.inboxMAC))
        var reader = BinaryReader(Array(bytes[..<end]), name: displayName, remedy: .replaceDamagedTokens)
        let magic = try reader.take(8)
        let version = try reader.number(UInt16.self)
        let rawClass = try reader.number(UInt16.self)
        guard isAuthentic, magic == Array(FileMagic.pendingToken.utf8) else { throw corruptError }
        guard (1...Self.version).contains(version), let protection = ProtectionClass(rawValue: rawClass)
        else {
            throw CofferError(
                .unsupportedVersion, "A pending token was stored by a newer release. Use that release.")
        }
        try reader.skip(4)
        guard try reader.take(16) == device.vaultID.bytes else { throw corruptError }
        let number = try reader.number(UInt64.self)
        let name = try reader.take(32)
        let box = try reader.lengthPrefixed()
        guard reader.remaining == 0 else { throw corruptError }
        return PendingToken(
            number: number, protection: protection, name: name, version: version, box: box)
    }

    private static var corruptError: CofferError {
        CofferError(.corrupt, "A \(displayName) is damaged.", remedy: .replaceDamagedTokens)
    }

    private static func head(
        _ number: UInt64, _ protection: ProtectionClass, _ name: [UInt8], version: UInt16, vaultID: VaultID
    ) -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.pendingToken.utf8))
        writer.append(version)
        writer.append(protection.rawValue)
        writer.append([0, 0, 0, 0])
        writer.append(vaultID.bytes)
        writer.append(number)
        writer.append(name)
        return writer.bytes
    }
}

/// The contents of a pending token's box. Opening the box proves nothing about its sender.
final class OpenedToken: Sendable {
    static let noProof = [UInt8](repeating: 0, count: 32)

    let info: TokenInfo
    let token: Token
    /// The key under which the value is stored.
    let tokenKey: SymmetricKey
    private let message: SecretBytes
    private let head: [UInt8]
    private let proof: [UInt8]

    init(
        _ message: consuming SecretBytes, head: [UInt8], protection: ProtectionClass, hasProof: Bool,
        corruptError: CofferError
    ) throws(CofferError) {
        let start = head.count + (hasProof ? 64 : 0)
        let (info, token, proof) = try message.exposing { (bytes) throws(CofferError) in
            guard bytes.count >= start + 4, bytes.extracting(..<head.count).copied() == head else {
                throw corruptError
            }
            let length = Int(bytes.bigEndian(UInt32.self, at: start))
            guard length <= bytes.count - start - 4 else { throw corruptError }
            let end = start + 4 + length
            let info = try TokenInfo.decode(
                bytes.extracting(start + 4..<end).copied(), protection: protection)
            let proof = hasProof ? bytes.extracting(head.count..<head.count + 32).copied() : Self.noProof
            return (info, try Token(SecretBytes.copying(bytes.extracting(end...))), proof)
        }
        let key =
            if hasProof {
                try message.exposing { (bytes) throws(CofferError) in
                    try SymmetricKey.copying(bytes.extracting(head.count + 32..<start))
                }
            } else {
                try SymmetricKey.random()
            }
        self.info = info
        self.token = token
        self.tokenKey = key
        self.head = head
        self.proof = proof
        self.message = message
    }

    /// Returns whether the proof shows that the sender had `ticket`.
    func isProved(by ticket: ReplacementTicket) throws(CofferError) -> Bool {
        guard proof != Self.noProof else { return false }
        return try message.exposing { (bytes) throws(CofferError) in
            try ticket.isValid(proof, head, bytes.extracting((head.count + 32)...))
        }
    }
}
