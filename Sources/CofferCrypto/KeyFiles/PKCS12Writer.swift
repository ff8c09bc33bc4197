package import CofferBase
import CofferEngine

/// The writer of PKCS #12 files (RFC 7292): the certificates and the key are each encrypted with AES-256
/// under a key by PBKDF2 with SHA-256, and HMAC-SHA-256 authenticates all.
package enum PKCS12Writer {
    /// The rounds of the key derivation of the checksum.
    private static let rounds = 600_000

    /// Returns the file of a key and its certificates. `name` is the name that other programs show.
    static func file(
        _ key: borrowing SigningPrivateKey, _ chain: CertificateChain?, _ name: String,
        _ passphrase: borrowing KeyFilePassphrase
    ) throws(CofferError) -> [UInt8] {
        // Programs find the certificate of a key by this identifier.
        let identifier = Array(try Digest.sha256.hash(key.publicKey.subjectPublicKeyInfo.span).prefix(20))
        let attributes = attributes(name, identifier)
        let encrypted = try PKCS8File.encrypted(key, passphrase)
        var parts: [[UInt8]] = []
        if let chain {
            let bags = chain.certificates.enumerated().map { index, certificate in
                bag(
                    KeyFileOID.certificateBag,
                    DERWriter.sequence(
                        DERWriter.oid(KeyFileOID.x509Certificate),
                        DERWriter.explicit(DERWriter.octets(certificate))), index == 0 ? attributes : [])
            }
            parts.append(try Self.encrypted(DERWriter.element(0x30, Array(bags.joined())), passphrase))
        }
        parts.append(
            data(DERWriter.sequence(bag(KeyFileOID.encryptedKeyBag, encrypted, attributes))))
        return try authenticated(DERWriter.element(0x30, Array(parts.joined())), passphrase, rounds)
    }

    /// Returns the file with any content (`AuthenticatedSafe` in RFC 7292) and its right checksum, which
    /// tests of the reader need.
    package static func file(
        with content: [UInt8], passphrase: borrowing SecretBytes, rounds: Int
    ) throws(CofferError) -> [UInt8] {
        try authenticated(content, try KeyFilePassphrase.make(passphrase), rounds)
    }

    private static func authenticated(
        _ content: [UInt8], _ passphrase: borrowing KeyFilePassphrase, _ rounds: Int
    ) throws(CofferError) -> [UInt8] {
        DERWriter.sequence(
            DERWriter.number(3), data(content), try authentication(content, passphrase, rounds))
    }

    private static func authentication(
        _ content: [UInt8], _ passphrase: borrowing KeyFilePassphrase, _ rounds: Int
    ) throws(CofferError) -> [UInt8] {
        let salt = try SecureRandom.bytes(16)
        let key = try passphrase.pkcs12(
            .authentication, salt: salt, rounds: rounds, .sha256, count: Digest.sha256.size)
        let tag = try PKCS12Reader.tag(content.span, key, .sha256)
        let algorithm = DERWriter.sequence(DERWriter.oid(KeyFileOID.sha256), DERWriter.null)
        return DERWriter.sequence(
            DERWriter.sequence(algorithm, DERWriter.octets(tag)), DERWriter.octets(salt),
            DERWriter.number(rounds))
    }

    private static func data(_ content: [UInt8]) -> [UInt8] {
        DERWriter.sequence(
            DERWriter.oid(KeyFileOID.data), DERWriter.explicit(DERWriter.octets(content)))
    }

    private static func encrypted(
        _ content: [UInt8], _ passphrase: borrowing KeyFilePassphrase
    ) throws(CofferError) -> [UInt8] {
        let (identifier, ciphertext) = try PassphraseScheme.encrypt(content.span, passphrase)
        let info = DERWriter.sequence(
            DERWriter.oid(KeyFileOID.data), identifier, DERWriter.element(0x80, ciphertext))
        return DERWriter.sequence(
            DERWriter.oid(KeyFileOID.encryptedData),
            DERWriter.explicit(DERWriter.sequence([0x02, 0x01, 0x00], info)))
    }

    private static func bag(_ oid: [UInt8], _ value: [UInt8], _ attributes: [UInt8]) -> [UInt8] {
        DERWriter.sequence(DERWriter.oid(oid), DERWriter.explicit(value), attributes)
    }

    /// Returns the set of the name and the identifier.
    private static func attributes(_ name: String, _ identifier: [UInt8]) -> [UInt8] {
        let wide = name.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let all = [
            attribute(KeyFileOID.friendlyName, DERWriter.element(0x1E, wide)),
            attribute(KeyFileOID.localKeyID, DERWriter.octets(identifier)),
        ]
        // The elements of a set are in the order of their bytes.
        return DERWriter.element(
            DERCursor.set, Array(all.sorted { $0.lexicographicallyPrecedes($1) }.joined()))
    }

    private static func attribute(_ oid: [UInt8], _ value: [UInt8]) -> [UInt8] {
        DERWriter.sequence(DERWriter.oid(oid), DERWriter.element(DERCursor.set, value))
    }
}
