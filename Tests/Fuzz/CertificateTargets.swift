import CofferBase
import CofferCrypto

/// Files with certificates.
extension FuzzTarget {
    static let certificates = [
        FuzzTarget("certificates") { bytes, _ in
            let chain = try CertificateChain(reading: bytes)
            for certificate in chain.certificates { _ = try CertificateDetails(der: certificate) }
            try FuzzFinding.require(
                try CertificateChain(reading: Array(chain.pem().utf8)) == chain,
                "a chain changes when it is written again")
            let nobodys = SigningPublicKey.ed25519([UInt8](repeating: 9, count: 32))
            try chain.check(for: nobodys, at: 1_800_000_000, allowsExpired: true)
            throw FuzzFinding("a certificate is accepted for a key that it does not contain")
        }
    ]
}
