import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials

/// A key pair in its stored form.
///
/// Layout, with sizes in bytes: version (1), algorithm (1), class (2), uses (2), flags (1), zero (1),
/// generation (4), id (16), created in seconds since 1970 (8), length (4) and alias, length (4) and public
/// key; in versions 2 and 3, 1 if a certificate was requested (1), number of certificates (1), and length (4)
/// and DER of each; in version 3, the role in a rotation (1); then the wrapped key (96), and length (4) and
/// sealed private key. The public key is an Ed25519 key, a point, or the modulus and the exponent of an RSA
/// key, each with its length (4).
///
/// Version 1 is written for a key pair without a certificate that has not requested one, so that earlier
/// releases can read it, and version 3 only for one that is not the current one of its alias. Releases that
/// do not know the version of one record refuse the whole file. A release that does not know a flag lists the
/// key pair and does not use it.
///
/// Each private key is sealed under its own random key, which is wrapped under a key derived from the class
/// key. Both are bound to the vault and to everything before them, so that nobody can change the alias, the
/// uses or the flags without the class key.
struct KeyPairRecord: Sendable {
    private static let version: UInt8 = 1
    private static let certificateVersion: UInt8 = 2
    private static let rotationVersion: UInt8 = 3
    /// The first byte of the contexts, which does not depend on the record's version.
    private static let contextVersion: UInt8 = 1
    private static let exportFlag: UInt8 = 1
    private static let confirmFlag: UInt8 = 2
    /// The maximum number of bytes of an alias.
    static let longestAlias = 64

    private enum Part: UInt8 { case key = 0, privateKey = 1 }

    let pair: KeyPair
    private let uses: UInt16
    private let flags: UInt8
    /// The part of the encoded form that describes the key pair, exactly as it is stored.
    private let head: [UInt8]
    private let wrappedKey: WrappedKey
    private let sealed: [UInt8]

    // MARK: Sealing

    /// Returns the record of a key pair, sealed under its class's key.
    static func seal(
        _ key: borrowing SigningPrivateKey, _ pair: KeyPair, under classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> KeyPairRecord {
        let flags = (pair.confirmsEachUse ? confirmFlag : 0) | (pair.isExportable ? exportFlag : 0)
        return try seal(key, pair, pair.uses.rawValue, flags, under: classKey, vaultID: vaultID)
    }

    private static func seal(
        _ key: borrowing SigningPrivateKey, _ pair: KeyPair, _ uses: UInt16, _ flags: UInt8,
        under classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> KeyPairRecord {
        let head = publicPart(pair, uses, flags)
        let sealingKey = try SymmetricKey.random()
        let context = context(.privateKey, head, vaultID)
        let keyContext = Self.context(.key, head, vaultID)
        return KeyPairRecord(
            pair: pair, uses: uses, flags: flags, head: head,
            wrappedKey: try WrappedKey.wrap(
                sealingKey, under: kek(of: classKey, vaultID), generation: classKey.generation,
                context: keyContext.span),
            sealed: try key.secret.exposing { (bytes) throws(CofferError) in
                try XChaCha20Poly1305.seal(bytes, key: sealingKey, associatedData: context.span)
            })
    }

    /// Returns this record with another description, sealed again. The uses and flags stay the same.
    func changed(
        to pair: KeyPair, from classKey: ClassKey, to newKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> KeyPairRecord {
        let key = try open(under: classKey, vaultID: vaultID)
        return try Self.seal(key, pair, uses, flags, under: newKey, vaultID: vaultID)
    }

    /// Returns this record with its key wrapped under the class's current key; `nil` if it is already.
    func rewrapped(under classKey: ClassKey, vaultID: VaultID) throws(CofferError) -> KeyPairRecord? {
        let context = Self.context(.key, head, vaultID)
        do throws(CofferError) {
            _ = try wrappedKey.unwrap(under: Self.kek(of: classKey, vaultID), context: context.span)
            return nil
        } catch {
            guard error.code == .notAuthentic, let former = classKey.former else { throw error }
            let key = try wrappedKey.unwrap(under: Self.kek(of: former, vaultID), context: context.span)
            let wrapped = try WrappedKey.wrap(
                key, under: Self.kek(of: classKey, vaultID), generation: classKey.generation,
                context: context.span)
            return KeyPairRecord(
                pair: pair, uses: uses, flags: flags, head: head, wrappedKey: wrapped, sealed: sealed)
        }
    }

    /// Returns the private key. The class key is known to be the right one, so a record that it does not open
    /// is damaged.
    func open(under classKey: ClassKey, vaultID: VaultID) throws(CofferError) -> SigningPrivateKey {
        guard flags & ~(Self.exportFlag | Self.confirmFlag) == 0,
            uses & ~KeyPairUses.known.rawValue == 0
        else {
            throw CofferError(
                .unsupportedVersion,
                "This key pair has a property that is not supported by this release, so it is not used.",
                remedy: .useNewerRelease)
        }
        let keyContext = Self.context(.key, head, vaultID)
        let context = Self.context(.privateKey, head, vaultID)
        do throws(CofferError) {
            let key = try classKey.withEitherKey { (classKey) throws(CofferError) in
                try wrappedKey.unwrap(under: Self.kek(of: classKey, vaultID), context: keyContext.span)
            }
            let secret = try XChaCha20Poly1305.open(sealed.span, key: key, associatedData: context.span)
            return SigningPrivateKey.stored(pair.publicKey, secret)
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw CofferError(.corrupt, "A stored key pair is damaged.", remedy: .restoreVault)
        }
    }

    /// Returns the key that wraps the keys of a class's private keys.
    private static func kek(of key: ClassKey, _ vaultID: VaultID) throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(from: key.key, info: KDFLabel.keyPairWrapping, context: context.span)
    }

    private static func context(_ part: Part, _ head: [UInt8], _ vaultID: VaultID) -> [UInt8] {
        [contextVersion, part.rawValue] + vaultID.bytes + head
    }

    // MARK: Coding

    private static func publicPart(_ pair: KeyPair, _ uses: UInt16, _ flags: UInt8) -> [UInt8] {
        var writer = BinaryWriter()
        let version = version(of: pair)
        writer.append([version, pair.algorithm.rawValue])
        writer.append(pair.protection.rawValue)
        writer.append(uses)
        writer.append([flags, 0])
        writer.append(pair.generation)
        writer.append(pair.id.bytes)
        writer.append(Int64(pair.created.timeIntervalSince1970))
        writer.appendText(pair.alias)
        switch pair.publicKey {
        case .ed25519(let key), .p256(let key), .p384(let key): writer.appendLengthPrefixed(key)
        case .rsa(let key):
            writer.appendLengthPrefixed(key.modulus)
            writer.appendLengthPrefixed(key.exponent)
        }
        if version >= certificateVersion {
            let certificates = pair.chain?.certificates ?? []
            writer.append([pair.isAwaitingCertificate ? 1 : 0, UInt8(certificates.count)])
            for certificate in certificates { writer.appendLengthPrefixed(certificate) }
        }
        if version >= rotationVersion { writer.append([pair.role.rawValue]) }
        return writer.bytes
    }

    private static func version(of pair: KeyPair) -> UInt8 {
        guard pair.role == .current else { return rotationVersion }
        return pair.chain != nil || pair.isAwaitingCertificate ? certificateVersion : version
    }

    var encoded: [UInt8] {
        var writer = BinaryWriter()
        writer.append(head)
        writer.append(wrappedKey.encoded)
        writer.appendLengthPrefixed(sealed)
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws(CofferError) -> KeyPairRecord {
        var reader = BinaryReader(bytes, name: "stored key pair", remedy: .restoreVault)
        let start = try reader.take(2)
        guard version...rotationVersion ~= start[0], let algorithm = SigningAlgorithm(rawValue: start[1]),
            let protection = ProtectionClass(rawValue: try reader.number())
        else {
            throw CofferError(
                .unsupportedVersion, "A key pair was stored by a newer release or is damaged.",
                remedy: .useNewerRelease)
        }
        let uses = try reader.number(UInt16.self)
        let flags = try reader.number(UInt8.self)
        try reader.skip(1)
        let generation = try reader.number(UInt32.self)
        guard let id = UUID(bytes: try reader.take(16)) else { throw reader.corruptError }
        let created = Date(timeIntervalSince1970: Double(try reader.number(Int64.self)))
        let alias = try reader.text()
        let publicKey = try publicKey(algorithm, &reader)
        let (chain, isAwaiting) =
            start[0] >= certificateVersion
            ? try certificates(&reader, isRequired: start[0] == certificateVersion) : (nil, false)
        let role = start[0] >= rotationVersion ? try role(&reader) : .current
        let head = Array(bytes[..<reader.position])
        let wrappedBytes = try reader.take(WrappedKey.encodedSize)
        let sealed = try reader.lengthPrefixed(limit: SigningPrivateKey.largestSize + 40)
        guard reader.remaining == 0 else { throw reader.corruptError }
        let pair = KeyPair(
            id: id, alias: alias, publicKey: publicKey, protection: protection,
            uses: KeyPairUses(rawValue: uses), confirmsEachUse: flags & confirmFlag != 0, created: created,
            generation: generation, chain: chain, isAwaitingCertificate: isAwaiting,
            isExportable: flags & exportFlag != 0, role: role)
        return KeyPairRecord(
            pair: pair, uses: uses, flags: flags, head: head,
            wrappedKey: try WrappedKey.decode(wrappedBytes.span), sealed: sealed)
    }

    private static func publicKey(
        _ algorithm: SigningAlgorithm, _ reader: inout BinaryReader
    ) throws(CofferError) -> SigningPublicKey {
        let bytes = try reader.lengthPrefixed(limit: 512)
        switch algorithm {
        case .ed25519: return .ed25519(bytes)
        case .p256: return .p256(bytes)
        case .p384: return .p384(bytes)
        case .rsa:
            let exponent = try reader.lengthPrefixed(limit: 8)
            return .rsa(try RSASignature.PublicKey(modulus: bytes, exponent: exponent))
        }
    }

    private static func role(_ reader: inout BinaryReader) throws(CofferError) -> KeyPairRole {
        guard let role = KeyPairRole(rawValue: try reader.number()), role != .current else {
            throw reader.corruptError
        }
        return role
    }

    private static func certificates(
        _ reader: inout BinaryReader, isRequired: Bool
    ) throws(CofferError) -> (CertificateChain?, Bool) {
        let isAwaiting = try reader.number(UInt8.self)
        let count = Int(try reader.number(UInt8.self))
        guard isAwaiting <= 1, count <= CertificateChain.mostCertificates, isAwaiting == 0 || count == 0,
            !isRequired || isAwaiting == 1 || count > 0
        else { throw reader.corruptError }
        var certificates: [[UInt8]] = []
        for _ in 0..<count {
            certificates.append(try reader.lengthPrefixed(limit: CertificateChain.largestSize))
        }
        return (count > 0 ? CertificateChain(stored: certificates) : nil, isAwaiting == 1)
    }
}
