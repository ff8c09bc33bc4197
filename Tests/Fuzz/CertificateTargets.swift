import CofferBase
import CofferCrypto

/// Files with certificates.
extension FuzzTarget {
    static let certificates = [
        FuzzTarget("certificates") { bytes, _ in
            _ = CertificateParts(der: bytes)
            let chain = try CertificateChain(reading: bytes)
            for certificate in chain.certificates { _ = try CertificateDetails(der: certificate) }
            try FuzzFinding.require(
                try CertificateChain(reading: Array(chain.pem().utf8)) == chain,
                "a chain changes when it is written again")
            let nobodys = SigningPublicKey.ed25519([UInt8](repeating: 9, count: 32))
            try chain.check(for: nobodys, at: 1_800_000_000, allowsExpired: true)
            throw FuzzFinding("a certificate is accepted for a key that it does not contain")
        },
        FuzzTarget("key-file") { bytes, _ in try read(bytes) },
        // The contents of a PKCS #12 file, whose checksum no change would pass.
        FuzzTarget("key-file-contents") { bytes, _ in
            let passphrase = try SecretBytes.copying("secret of the file")
            try read(try PKCS12Writer.file(with: bytes, passphrase: passphrase, rounds: 1))
        },
    ]

    private static func read(_ file: [UInt8]) throws {
        let bundle = try KeyBundle.reading(SecretBytes.copying(file.span)) { () throws(CofferError) in
            try SecretBytes.copying("secret of the file")
        }
        let message: [UInt8] = [1]
        let scheme = SigningScheme.standard(for: bundle.publicKey.algorithm)
        let signature = try bundle.held.key.sign(message.span, scheme: scheme)
        try FuzzFinding.require(
            try bundle.publicKey.isValid(signature: signature.span, for: message.span, scheme: scheme),
            "a key was read whose halves do not belong together")
        guard let chain = bundle.chain else { return }
        try chain.check(for: bundle.publicKey, at: 1_800_000_000, allowsExpired: true)
    }
}
