import CofferBase
import CofferEngine

/// How a part of a key file is encrypted with a passphrase (RFC 8018, RFC 7292).
struct PassphraseScheme {
    private enum Derivation {
        case pkcs12(salt: [UInt8], rounds: Int)
        case pbkdf2(salt: [UInt8], rounds: Int, digest: Digest, iv: [UInt8])
    }

    private let cipher: PassphraseCipher
    private let derivation: Derivation

    // MARK: Reading

    /// Reads the scheme from the content of its identifier.
    ///
    /// - Throws: `invalidInput` if the content is malformed; `unsupported` for another scheme.
    init(_ content: Range<Int>, _ bytes: Span<UInt8>) throws(CofferError) {
        var cursor = DERCursor(content)
        let oid = try cursor.oid(bytes)
        var parameters = try cursor.sequence(bytes)
        try cursor.end()
        if oid == KeyFileOID.pbes2 {
            (cipher, derivation) = try Self.pbes2(&parameters, bytes)
            return
        }
        guard let known = KeyFileOID.pkcs12Ciphers.first(where: { $0.oid == oid }) else {
            throw Self.unsupported
        }
        cipher = known.cipher
        derivation = .pkcs12(salt: try parameters.octets(bytes), rounds: try parameters.count(bytes))
        try parameters.end()
    }

    private static func pbes2(
        _ cursor: inout DERCursor, _ bytes: Span<UInt8>
    ) throws(CofferError) -> (PassphraseCipher, Derivation) {
        var function = try cursor.sequence(bytes)
        var encryption = try cursor.sequence(bytes)
        try cursor.end()
        guard try function.oid(bytes) == KeyFileOID.pbkdf2 else { throw unsupported }
        let oid = try encryption.oid(bytes)
        guard let known = KeyFileOID.pbes2Ciphers.first(where: { $0.oid == oid }) else { throw unsupported }
        let iv = try encryption.octets(bytes)
        guard iv.count == known.cipher.blockSize else { throw BERNormalizer.malformed }
        try encryption.end()
        var parameters = try function.sequence(bytes)
        try function.end()
        let (salt, rounds) = (try parameters.octets(bytes), try parameters.count(bytes))
        if parameters.isNext(DERReader.integer, bytes) {
            guard try parameters.count(bytes) == known.cipher.keySize else { throw BERNormalizer.malformed }
        }
        let digest = parameters.isAtEnd ? Digest.sha1 : try pseudoRandom(&parameters, bytes)
        return (known.cipher, .pbkdf2(salt: salt, rounds: rounds, digest: digest, iv: iv))
    }

    private static func pseudoRandom(
        _ cursor: inout DERCursor, _ bytes: Span<UInt8>
    ) throws(CofferError) -> Digest {
        var function = try cursor.sequence(bytes)
        try cursor.end()
        let oid = try function.oid(bytes)
        try function.noParameters(bytes)
        guard let known = KeyFileOID.pseudoRandom.first(where: { $0.oid == oid }) else { throw unsupported }
        return known.digest
    }

    static var unsupported: CofferError {
        CofferError(
            .unsupported,
            "The file is encrypted in a way that is not supported. In the program that wrote it, export the "
                + "key again with AES and PBKDF2.")
    }

    // MARK: Decrypting

    /// Returns the plaintext.
    ///
    /// - Throws: `refused` if the derivation costs too much; `notAuthentic` if the passphrase is seen to be
    ///   wrong; `unsupported` if this machine does not have the cipher.
    func decrypt(
        _ ciphertext: Span<UInt8>, _ passphrase: borrowing KeyFilePassphrase, _ budget: inout KeyFileBudget
    ) throws(CofferError) -> GuardedBytes {
        let (keySize, blockSize) = (cipher.keySize, cipher.blockSize)
        switch derivation {
        case .pkcs12(let salt, let rounds):
            let times =
                PKCS12Derivation.blocks(keySize, .sha1) + PKCS12Derivation.blocks(blockSize, .sha1)
            try budget.spend(rounds, times: times)
            let key = try passphrase.pkcs12(.key, salt: salt, rounds: rounds, .sha1, count: keySize)
            let iv = try passphrase.pkcs12(
                .initialization, salt: salt, rounds: rounds, .sha1, count: blockSize)
            return try cipher.decrypt(ciphertext, key: key.span, iv: iv.span)
        case .pbkdf2(let salt, let rounds, let digest, let iv):
            try budget.spend(rounds, times: (keySize + digest.size - 1) / digest.size)
            let key = try passphrase.pbkdf2(salt: salt, rounds: rounds, digest, count: keySize)
            return try cipher.decrypt(ciphertext, key: key.guarded.span, iv: iv.span)
        }
    }

    // MARK: Encrypting

    /// The rounds of PBKDF2 for new files.
    static let newRounds = 600_000

    /// Encrypts with AES-256 and PBKDF2 with SHA-256, with a new salt.
    ///
    /// - Returns: The scheme's identifier in DER, and the ciphertext.
    static func encrypt(
        _ plaintext: Span<UInt8>, _ passphrase: borrowing KeyFilePassphrase
    ) throws(CofferError) -> (identifier: [UInt8], ciphertext: [UInt8]) {
        let (salt, iv) = (try SecureRandom.bytes(16), try SecureRandom.bytes(CBCCipher.blockSize))
        let key = try passphrase.pbkdf2(
            salt: salt, rounds: newRounds, .sha256, count: PassphraseCipher.aes256.keySize)
        var cipher = try CBCCipher.make(key: key.guarded.span, encrypting: true)
        var ciphertext = [UInt8](repeating: 0, count: CBCCipher.ciphertextSize(plaintext.count))
        var span = ciphertext.mutableSpan
        _ = try cipher.transform(plaintext, iv: iv.span, into: &span)
        let function = DERWriter.sequence(
            DERWriter.oid(KeyFileOID.pbkdf2),
            DERWriter.sequence(
                DERWriter.octets(salt), DERWriter.number(newRounds),
                DERWriter.sequence(DERWriter.oid(KeyFileOID.hmacSHA256), DERWriter.null)))
        let encryption = DERWriter.sequence(DERWriter.oid(KeyFileOID.aes256), DERWriter.octets(iv))
        let identifier = DERWriter.sequence(
            DERWriter.oid(KeyFileOID.pbes2), DERWriter.sequence(function, encryption))
        return (identifier, ciphertext)
    }
}
