import CofferBase
import CofferCrypto
import TestSupport
import Testing

@Suite("Parts of certificates")
struct CertificatePartsTests {
    private static let start: Int64 = 1_800_000_000

    private func made() throws -> [UInt8] {
        try CertificateWriter.selfSigned(
            SigningPrivateKey.generate(.p256), CertificateSubject(commonName: "ada"), [.dns("a.example")],
            .client, from: Self.start, days: 10)
    }

    @Test("The number and the names are the certificate's, each with its tag and length")
    func parts() throws {
        let der = try made()
        let parts = try #require(CertificateParts(der: der))
        // One name: a sequence of a set of a sequence with the common name (2.5.4.3) as UTF8String.
        let name: [UInt8] =
            [0x30, 0x0E, 0x31, 0x0C, 0x30, 0x0A, 0x06, 0x03, 0x55, 0x04, 0x03, 0x0C, 0x03] + Array("ada".utf8)
        #expect(parts.subject == name && parts.issuer == name)
        #expect(parts.serial.first == 0x02 && parts.serial.count == 2 + Int(parts.serial[1]))
        let digits = HexText.encode(Array(parts.serial.dropFirst(2).drop { $0 == 0 }))
        #expect(try CertificateDetails(der: der).serial == digits)
    }

    @Test("Nothing is read of a certificate that is cut, and what is changed ends no process")
    func damaged() throws {
        let der = try made()
        for count in 0..<der.count { #expect(CertificateParts(der: Array(der[..<count])) == nil) }
        for index in 0..<100 {
            for change: UInt8 in [0x01, 0x7F, 0x80, 0xFF] {
                var other = der
                other[index] ^= change
                guard let parts = CertificateParts(der: other) else { continue }
                for part in [parts.serial, parts.issuer, parts.subject] { #expect(part.count <= der.count) }
            }
        }
        for wrong: [UInt8] in [[], [0x30], [0x30, 0x80], [0x30, 0x00], [0x30, 0x02, 0x30, 0x00]] {
            #expect(CertificateParts(der: wrong) == nil)
        }
        // A length in more bytes than it needs is not DER.
        var long: [UInt8] = [0x30, 0x83, 0x00]
        long += der[2...]
        #expect(CertificateParts(der: long) == nil)
    }
}
