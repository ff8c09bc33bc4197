public import CofferBase
import CofferEngine

/// A private key with its certificates, as a file of another program contains them: PKCS #12, or PKCS #8 in
/// DER or PEM, encrypted with a passphrase or not. The private key is in guarded memory, and code outside
/// this package cannot read its bytes.
public final class KeyBundle: Sendable {
    /// The forms of files.
    public enum Form: Sendable, CaseIterable {
        /// PKCS #12 (RFC 7292), often named `.p12` or `.pfx`.
        case pkcs12
        /// PEM (RFC 7468): one private key in PKCS #8, with or without certificates beside it.
        case pem
        /// PKCS #8 in DER (RFC 5958).
        case pkcs8
    }

    /// The maximum size of a file in bytes.
    public static let largestSize = 65_536

    /// The private key's owner.
    package let held: HeldPrivateKey
    /// The key's certificate and those of the authorities above it, as far as the file has them in turn;
    /// `nil` if the file has no certificate. It is not checked when they are valid; of several certificates
    /// for the key, the one that ends last is taken.
    public let chain: CertificateChain?
    /// A description of each thing that the file has besides, in its order. The texts of certificates come
    /// from their authors.
    public let others: [String]

    /// The public half of the key.
    public var publicKey: SigningPublicKey { held.key.publicKey }

    /// Reads a file. Before anything is computed, the size of the file, the number of its certificates and
    /// the cost of its key derivations are limited: 64 KiB, 8 certificates, and 10 million rounds in all.
    ///
    /// - Parameters:
    ///   - file: The contents of the file.
    ///   - form: The form that the file must have; `nil` for any.
    ///   - passphrase: A closure that returns the passphrase, in UTF-8. It is called once, and only if the
    ///     file needs a passphrase.
    /// - Returns: The key and the certificates.
    /// - Throws: `notAuthentic` if the passphrase is wrong or the file was changed; `invalidInput` if the
    ///   file is damaged, is too large, has bytes after its end, or has an unusable key or certificate;
    ///   `conflict` if it has certificates, but none for its key; `refused` if it costs too much;
    ///   `unsupported` for more than one key or more than eight certificates, for another algorithm or
    ///   encryption, or if this machine's OpenSSL cannot read RC2; the errors of `passphrase`.
    public static func reading(
        _ file: borrowing SecretBytes, as form: Form? = nil,
        passphrase: () throws(CofferError) -> SecretBytes
    ) throws(CofferError) -> KeyBundle {
        guard file.count <= largestSize else {
            throw CofferError(.invalidInput, "The file with the key is longer than 64 KiB.")
        }
        let bytes = file.guarded.span
        guard let found = Self.form(of: bytes), form == nil || form == found else {
            throw CofferError(
                .invalidInput,
                "The file is not a private key in this form: "
                    + "\((form.map { [$0] } ?? Form.allCases).map(\.name).joined(separator: ", or ")).")
        }
        let contents =
            switch found {
            case .pkcs12: try PKCS12Reader.read(bytes, passphrase)
            case .pem: try PEMKeyFile.read(bytes, passphrase)
            case .pkcs8: try KeyFileContents(try PKCS8File.key(bytes, passphrase))
            }
        return try KeyBundle(contents)
    }

    private init(_ contents: consuming KeyFileContents) throws(CofferError) {
        let (certificates, others) = (contents.certificates, contents.others)
        held = HeldPrivateKey(try contents.takeKey())
        let (chain, rest) = try CertificateOrder.chain(of: certificates, for: held.key.publicKey)
        self.chain = chain
        self.others = rest + others
    }

    /// Returns the form that a file begins like; `nil` for none.
    private static func form(of bytes: Span<UInt8>) -> Form? {
        guard bytes.count > 0 else { return nil }
        // A text may begin with the character 0. What follows it is no character in longer files in DER.
        let isText = bytes[0] != DERReader.sequence || bytes.count > 1 && bytes[1] < 0x80
        guard !(isText && PEMKeyFile.isPEM(bytes)) else { return .pem }
        guard bytes[0] == DERReader.sequence else { return nil }
        // PKCS #12 begins with version 3 in a sequence whose length can have any form.
        var place = 2
        guard bytes.count > 2 else { return nil }
        if bytes[1] > 0x80 { place += Int(bytes[1]) - 0x80 }
        guard bytes.count - place >= 3 else { return nil }
        return bytes[place] == 2 && bytes[place + 1] == 1 && bytes[place + 2] == 3 ? .pkcs12 : .pkcs8
    }

    // MARK: Writing

    /// The minimum length in bytes of the passphrase of a new file.
    package static let shortestPassphrase = 12

    /// Returns a key and its certificates as a new file: with AES-256, keys by PBKDF2 with SHA-256, and
    /// HMAC-SHA-256 over PKCS #12, each with 600 000 rounds.
    ///
    /// - Throws: `refused` if the passphrase has fewer than 12 bytes; `invalidInput` if it is not UTF-8.
    package static func file(
        of key: borrowing SigningPrivateKey, _ chain: CertificateChain?, name: String, as form: Form,
        passphrase: borrowing SecretBytes
    ) throws(CofferError) -> [UInt8] {
        guard passphrase.count >= shortestPassphrase else {
            throw CofferError(
                .refused,
                "The passphrase of an exported key must be at least \(shortestPassphrase) bytes long.")
        }
        let secret = try KeyFilePassphrase.make(passphrase)
        switch form {
        case .pkcs12: return try PKCS12Writer.file(key, chain, name, secret)
        case .pkcs8: return try PKCS8File.encrypted(key, secret)
        case .pem:
            let text = try CertificatePEM.pem(PKCS8File.encrypted(key, secret), "ENCRYPTED PRIVATE KEY")
            return Array((text + (try chain?.pem() ?? "")).utf8)
        }
    }
}

extension KeyBundle.Form {
    fileprivate var name: String {
        switch self {
        case .pkcs12: "PKCS #12"
        case .pem: "PEM with PKCS #8 (BEGIN PRIVATE KEY or BEGIN ENCRYPTED PRIVATE KEY)"
        case .pkcs8: "PKCS #8 in DER"
        }
    }
}
