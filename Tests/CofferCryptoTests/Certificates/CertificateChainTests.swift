import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("Certificates and requests")
struct CertificateChainTests {
    private static let now: Int64 = 1_800_000_000

    private func made(
        _ key: borrowing SigningPrivateKey, from start: Int64 = now, days: Int = 10
    ) throws -> [UInt8] {
        try CertificateWriter.selfSigned(
            key, CertificateSubject(commonName: "ada"), [.dns("a.example")], .client, from: start, days: days)
    }

    @Test(
        "The times of a certificate are those asked for, in leap years and on both sides of 2050",
        arguments: [
            0, 68_169_599, 68_169_600, 951_782_399, 951_782_400, 1_709_164_800, 1_709_251_199, 1_709_251_200,
            1_735_689_599, 2_524_607_999, 2_524_608_000, 4_107_542_399, 4_107_542_400, 253_200_000_000,
        ] as [Int64])
    func times(_ start: Int64) throws {
        let key = try SigningPrivateKey.generate(.ed25519)
        for days in [1, 59, 60, 365, 366, 825] {
            let details = try CertificateDetails(der: made(key, from: start, days: days))
            #expect(details.notBefore == start && details.notAfter == start + Int64(days) * 86_400 - 1)
        }
    }

    @Test("Years that no certificate can state are refused", arguments: [-1, 253_300_000_000] as [Int64])
    func years(_ start: Int64) throws {
        let key = try SigningPrivateKey.generate(.ed25519)
        #expect(failure { _ = try made(key, from: start) } == .invalidInput)
    }

    @Test("A self-signed certificate is what it was asked to be", arguments: [SigningAlgorithm.p256, .p384])
    func details(_ algorithm: SigningAlgorithm) throws {
        let key = try SigningPrivateKey.generate(algorithm)
        let details = try CertificateDetails(der: made(key))
        #expect(details.subject == "CN=ada" && details.issuer == "CN=ada" && details.isSelfIssued)
        #expect(details.names == ["DNS:a.example"] && details.serial.utf8.count <= 16)
        #expect(try details.serial != CertificateDetails(der: made(key)).serial)
    }

    @Test("An RSA key signs its certificate")
    func rsa() throws {
        let secret = try RSASignature.privateKey(importing: try SecretBytes.copying(SigningKeys.rsa))
        let key = try SigningPrivateKey.make(.rsa, secret)
        let chain = try CertificateChain(reading: made(key))
        try chain.check(for: key.publicKey, at: Self.now)
    }

    @Test("No certificate with a changed bit is installed, and none that is cut")
    func changed() throws {
        let key = try SigningPrivateKey.generate(.ed25519)
        let der = try made(key)
        let publicKey = key.publicKey
        func isInstalled(_ bytes: [UInt8]) -> Bool {
            failure {
                try CertificateChain(reading: bytes).check(for: publicKey, at: Self.now)
            } == nil
        }
        #expect(isInstalled(der))
        for bytes in der.withEachBitFlipped {
            guard isInstalled(bytes) else { continue }
            // Another issuer than the owner: a certificate whose authority is not given cannot be verified.
            #expect(try !CertificateDetails(der: bytes).isSelfIssued)
        }
        for count in der.indices { #expect(!isInstalled(Array(der[..<count]))) }
        #expect(!isInstalled(der + [0]) && !isInstalled(der + der))
    }

    @Test("The dates count to the second, and expired ones pass only if that is allowed")
    func dates() throws {
        let key = try SigningPrivateKey.generate(.p256)
        let chain = try CertificateChain(reading: made(key, days: 1))
        let publicKey = key.publicKey
        func code(_ time: Int64, _ allowsExpired: Bool = false) -> CofferError.Code? {
            failure { try chain.check(for: publicKey, at: time, allowsExpired: allowsExpired) }
        }
        let end = Self.now + 86_399
        #expect(code(Self.now - 1) == .refused && code(Self.now - 1, true) == .refused)
        #expect(code(Self.now) == nil && code(end) == nil)
        #expect(code(end + 1) == .refused && code(end + 1, true) == nil)
    }

    @Test("PEM and DER are the same chain, and a chain in PEM is read as it was written")
    func forms() throws {
        let key = try SigningPrivateKey.generate(.p384)
        let chain = try CertificateChain(reading: made(key))
        let text = try chain.pem()
        let windows = "text\r\n" + text.replacing("\n", with: "\r\n")
        let spaced = text.replacing("\n", with: " \t\r\n")
        let indented = "  " + text.replacing("\n", with: "\n  ") + "\n"
        let forms = [text, windows, "# Ours\n" + text + "more\n", spaced, indented, "0 s:CN=ada\n" + text]
        for form in forms {
            for start in ["", "\u{FEFF}"] {
                #expect(try CertificateChain(reading: Array((start + form).utf8)) == chain)
                // No block is passed over in silence.
                let two = Array((start + form + text).utf8)
                #expect(try CertificateChain(reading: two).certificates.count == 2)
            }
        }
        #expect(
            failure {
                try CertificateChain(reading: Array(text.utf8)).check(
                    for: SigningPrivateKey.generate(.p384).publicKey, at: Self.now)
            } == .conflict)
        let nine = String(repeating: text, count: 9)
        #expect(failure { _ = try CertificateChain(reading: Array(nine.utf8)) } == .invalidInput)
    }

    @Test("A critical extension that nobody knows is refused, one that is not critical is passed over")
    func criticalExtensions() throws {
        let key = try SigningPrivateKey.generate(.ed25519)
        let der = try made(key)
        func code(ofUnknown end: [UInt8]) throws -> CofferError.Code? {
            let places = der.indices.filter {
                Array(der[$0...].prefix(2)) == [0x55, 0x1D]
                    && Array(der[($0 + 3)...].prefix(end.count)) == end
            }
            var changed = der
            // The last number of the extension's identifier.
            changed[try #require(places.first) + 2] = 0x7E
            return failure {
                try CertificateChain(reading: changed).check(for: key.publicKey, at: Self.now + 1)
            }
        }
        #expect(try code(ofUnknown: [0x01, 0x01, 0xFF]) == .unsupported)
        // Only the signature is wrong.
        #expect(try code(ofUnknown: [0x04]) == .invalidInput)
    }

    @Test("A certificate with a part in BER is refused, although OpenSSL reads it")
    func basicEncoding() throws {
        let key = try SigningPrivateKey.generate(.ed25519)
        var der = try made(key)
        let truth = try #require(der.indices.first { Array(der[$0...].prefix(3)) == [1, 1, 0xFF] })
        der[truth + 2] = 1
        #expect(try !CertificateDetails(der: der).subject.isEmpty)
        #expect(failure { _ = try CertificateChain(reading: der) } == .invalidInput)
    }

    @Test(
        "A URI needs a scheme and something after it",
        arguments: ["", ":", "a", "a:", ":a", "::", "1:a", "a:\u{7}", "a:ü"])
    func uris(_ text: String) throws {
        #expect(failure { _ = try CertificateName.uri(text) } == .invalidInput)
        _ = try CertificateName.uri("a:b")
    }

    @Test("More days, names and longer parts than a certificate may have are refused")
    func bounds() throws {
        let key = try SigningPrivateKey.generate(.ed25519)
        for days in [0, -1, 826, Int.max] {
            #expect(failure { _ = try made(key, days: days) } == .invalidInput)
        }
        let subject = try CertificateSubject(commonName: "a")
        let names = try (0...100).map { try CertificateName.dns("a\($0).example") }
        #expect(
            failure { _ = try CertificateWriter.request(key, subject, names, .client) } == .invalidInput)
        #expect(
            failure { _ = try CertificateWriter.request(key, subject, Array(names.dropLast()), .client) }
                == nil)
    }
}
