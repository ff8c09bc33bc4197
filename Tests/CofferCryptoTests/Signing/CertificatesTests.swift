import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("Files with certificates")
struct CertificatesTests {
    private func digests(_ text: String) throws -> [String] {
        try Certificates.digests(of: Array(text.utf8)).map { HexText.encode($0) }
    }

    @Test("Each certificate has its digest, also with text around it")
    func certificates() throws {
        let (pem, digest) = (SampleCertificate.pem, SampleCertificate.digest)
        #expect(try digests(pem) == [digest])
        #expect(try digests("# Ours\n" + pem + "\ntext\n" + pem + "\n") == [digest, digest])
    }

    @Test(
        "Other files, damaged certificates and private keys are refused",
        arguments: [
            "", "import ssl\n", "-----BEGIN CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\nAAAA\n",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", SampleCertificate.key,
            SampleCertificate.pem + "\n" + SampleCertificate.key,
            SampleCertificate.key + "\n" + SampleCertificate.pem, String(SampleCertificate.pem.dropLast(60)),
            SampleCertificate.pem + "\n" + String(SampleCertificate.pem.dropLast(60)),
            SampleCertificate.pem.replacing("MIIB", with: "MIIC"),
        ])
    func refuses(_ text: String) {
        #expect(failure { _ = try digests(text) } == .invalidInput)
    }

    @Test("A key belongs to its own certificate only")
    func keys() throws {
        let chain = Array(SampleCertificate.pem.utf8)
        let own = try SecretBytes.copying(SampleCertificate.key)
        #expect(failure { try Certificates.check(chain, belongsTo: own) } == nil)
        for text in [SigningKeys.p256, SigningKeys.rsa, SigningKeys.ed25519, SampleCertificate.pem, ""] {
            let file = try SecretBytes.copying(text)
            #expect(failure { try Certificates.check(chain, belongsTo: file) } == .invalidInput)
        }
    }
}
