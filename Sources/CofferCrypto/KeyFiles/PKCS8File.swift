import CofferBase
import CofferEngine

/// A private key in PKCS #8, encrypted with a passphrase or not.
enum PKCS8File {
    /// Returns the private key in DER, decrypted.
    ///
    /// - Throws: `notAuthentic` if the passphrase is wrong, which is seen only by what it decrypts;
    ///   `invalidInput`, `refused`, `unsupported`, or the errors of `passphrase`.
    static func key(
        _ file: Span<UInt8>, _ passphrase: () throws(CofferError) -> SecretBytes
    ) throws(CofferError) -> SecretBytes {
        let content = SecretBytes(try BERNormalizer.normalized(file))
        guard !isEncrypted(content) else { return try decrypting(content, passphrase) }
        guard !isInOlderForm(content) else { throw otherForm }
        return content
    }

    /// Whether the key is in the form that only its algorithm has (PKCS #1 or RFC 5915): a number follows the
    /// version, or the key itself does.
    private static func isInOlderForm(_ content: borrowing SecretBytes) -> Bool {
        let bytes = content.guarded.span
        var file = DERReader(0..<bytes.count)
        guard let outer = file.element(DERReader.sequence, bytes) else { return false }
        var inner = DERReader(outer)
        guard inner.small(bytes) != nil else { return false }
        return inner.isNext(DERReader.integer, bytes) || inner.isNext(DERReader.octets, bytes)
    }

    static var otherForm: CofferError {
        CofferError(
            .unsupported,
            "The private key is not in PKCS #8 (BEGIN PRIVATE KEY or BEGIN ENCRYPTED PRIVATE KEY).",
            remedy: .convertKey)
    }

    private static func decrypting(
        _ content: borrowing SecretBytes, _ passphrase: () throws(CofferError) -> SecretBytes
    ) throws(CofferError) -> SecretBytes {
        let bytes = content.guarded.span
        // Nobody is asked for the passphrase of a file that cannot be read with it.
        _ = try parts(bytes)
        let secret = try KeyFilePassphrase.make(passphrase())
        var budget = KeyFileBudget()
        return try decrypted(bytes, secret, &budget)
    }

    private static func isEncrypted(_ content: borrowing SecretBytes) -> Bool {
        let bytes = content.guarded.span
        var file = DERReader(0..<bytes.count)
        guard let outer = file.element(DERReader.sequence, bytes) else { return false }
        return DERReader(outer).isNext(DERReader.sequence, bytes)
    }

    /// Returns the private key in an encrypted structure (`EncryptedPrivateKeyInfo` in RFC 5958) in DER.
    static func decrypted(
        _ bytes: Span<UInt8>, _ passphrase: borrowing KeyFilePassphrase, _ budget: inout KeyFileBudget
    ) throws(CofferError) -> SecretBytes {
        let (scheme, place) = try parts(bytes)
        do throws(CofferError) {
            let plaintext = try scheme.decrypt(bytes.extracting(place), passphrase, &budget)
            // One in 256 wrong keys has a right padding.
            let key = SecretBytes(try BERNormalizer.normalized(plaintext.span))
            guard isKey(key) else { throw wrongPassphrase }
            return key
        } catch {
            guard error.code == .notAuthentic || error.code == .invalidInput else { throw error }
            throw wrongPassphrase
        }
    }

    private static func isKey(_ content: borrowing SecretBytes) -> Bool {
        PrivateKeyInfo.contents(of: content.guarded.span) != nil
    }

    /// Reads the scheme and the place of the ciphertext.
    private static func parts(_ bytes: Span<UInt8>) throws(CofferError) -> (PassphraseScheme, Range<Int>) {
        var file = DERCursor(0..<bytes.count)
        var outer = try file.sequence(bytes)
        try file.end()
        let scheme = try PassphraseScheme(try outer.take(DERReader.sequence, bytes), bytes)
        let place = try outer.take(DERReader.octets, bytes)
        try outer.end()
        return (scheme, place)
    }

    static var wrongPassphrase: CofferError {
        CofferError(.notAuthentic, "The passphrase is wrong, or the file was changed or is damaged.")
    }

    /// Returns a key in an encrypted structure in DER.
    static func encrypted(
        _ key: borrowing SigningPrivateKey, _ passphrase: borrowing KeyFilePassphrase
    ) throws(CofferError) -> [UInt8] {
        let plain = try key.pkcs8()
        let (identifier, ciphertext) = try PassphraseScheme.encrypt(plain.guarded.span, passphrase)
        return DERWriter.sequence(identifier, DERWriter.octets(ciphertext))
    }
}
