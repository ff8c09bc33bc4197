import CofferBase
import CofferEngine

/// The parts of a key file, before it is known whether they belong together.
struct KeyFileContents: ~Copyable {
    private var key: SecretBytes?
    private(set) var certificates: [[UInt8]] = []
    /// Descriptions of what is neither.
    var others: [String] = []

    init() { key = nil }

    /// Creates the contents of a file that has only a key.
    init(_ key: consuming SecretBytes) throws(CofferError) {
        self.init()
        try add(key: key)
    }

    /// Adds a private key in PKCS #8 and DER.
    ///
    /// - Throws: `unsupported` if there is one already.
    mutating func add(key new: consuming SecretBytes) throws(CofferError) {
        try requireRoom()
        key = consume new
    }

    /// Throws `unsupported` if there is a key already, before another one is decrypted.
    func requireRoom() throws(CofferError) {
        guard key == nil else {
            throw CofferError(
                .unsupported, "The file has more than one private key. Export each key to a file of its own.")
        }
    }

    /// Adds a certificate in DER.
    ///
    /// - Throws: `unsupported` if there are too many already.
    mutating func add(certificate: [UInt8]) throws(CofferError) {
        guard certificates.count < CertificateChain.mostCertificates else {
            throw CofferError(
                .unsupported,
                "The file has more than \(CertificateChain.mostCertificates) certificates. Export the key "
                    + "with its own certificate and those above it only.")
        }
        certificates.append(certificate)
    }

    /// Returns the key, which it checks.
    mutating func takeKey() throws(CofferError) -> SigningPrivateKey {
        guard let found = key.take() else {
            throw CofferError(.invalidInput, "The file has no private key.")
        }
        return try SigningPrivateKey.importing(pkcs8: found.guarded.span)
    }
}
