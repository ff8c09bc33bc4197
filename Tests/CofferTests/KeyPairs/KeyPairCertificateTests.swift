@testable import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import CofferVault
import FoundationEssentials
import Testing
import TestSupport

@Suite("Certificates of key pairs")
struct KeyPairCertificateTests {
    private static let passcode = "correct horse"
    private let message = [UInt8].counting(100)

    private func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CofferError)?.code
        }
    }

    private func subject() throws -> CertificateSubject { try CertificateSubject(commonName: "ada") }

    @Test("A request makes a key pair await a certificate, which a certificate ends")
    func states() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let pairs = vault.keyPairs
        let pair = try await pairs.generate(.p256, alias: "a", uses: [.sign, .tlsClient])
        #expect(try pair.certificateStatus() == nil)
        _ = try await pairs.csr(for: "a", subject: subject())
        let awaiting = try #require(try await pairs.keyPair("a"))
        #expect(try awaiting.certificateStatus()?.state == .awaitingSignature && awaiting.id == pair.id)
        let chain = try await pairs.selfSign("a", subject: subject())
        let again = try await home.unlocked()
        let installed = try #require(try await again.keyPairs.keyPair("a"))
        #expect(installed.chain == chain && !installed.isAwaitingCertificate)
        #expect(try installed.certificateStatus()?.state == .usable)
        _ = try await pairs.csr(for: "a", subject: subject())
        #expect(try await pairs.keyPair("a") == installed)
        let signature = try await again.keyPairs.sign(message, with: "a")
        #expect(try pair.publicKey.isValid(signature: signature.span, for: message.span, scheme: .ecdsa))
    }

    @Test("Only uses that include the purpose make a request, and only after confirmation")
    func uses() async throws {
        let home = try TestHome()
        let pairs = try await home.create().keyPairs
        _ = try await pairs.generate(.ed25519, alias: "ssh", uses: .ssh)
        _ = try await pairs.generate(.ed25519, alias: "sign", uses: .sign)
        _ = try await pairs.generate(.ed25519, alias: "asks", uses: .tlsClient, confirmsEachUse: true)
        let subject = try subject()
        #expect(await code { _ = try await pairs.csr(for: "ssh", subject: subject) } == .refused)
        #expect(await code { _ = try await pairs.csr(for: "none", subject: subject) } == .absent)
        #expect(
            await code { _ = try await pairs.csr(for: "sign", subject: subject, purpose: .client) }
                == .refused)
        #expect(await code { _ = try await pairs.selfSign("asks", subject: subject) } == .refused)
        #expect(try await pairs.keyPair("asks")?.chain == nil)
        #expect(await code { _ = try await pairs.selfSign("asks", subject: subject) { _ in true } } == nil)
        #expect(await code { _ = try await pairs.csr(for: "sign", subject: subject) } == nil)
    }

    @Test("A certificate stays through another alias, another class and a rotation")
    func kept() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let pairs = vault.keyPairs
        let pair = try await pairs.generate(.p256, alias: "a")
        let chain = try await pairs.selfSign("a", subject: subject())
        try await pairs.rename("a", to: "b")
        _ = try await pairs.reclassify(to: .whenPasscodeSetThisDeviceOnly)
        #expect(try await pairs.keyPair("b")?.chain == chain)
        _ = try await vault.rotateKeys(passcode: Passcode(copying: Self.passcode))
        let again = try await home.unlocked(Self.passcode)
        #expect(try await again.keyPairs.keyPair("b")?.chain == chain)
        let signature = try await again.keyPairs.sign(message, with: "b")
        #expect(try pair.publicKey.isValid(signature: signature.span, for: message.span, scheme: .ecdsa))
    }

    @Test("A refused chain and a locked vault change nothing")
    func refused() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let pairs = vault.keyPairs
        _ = try await pairs.generate(.p256, alias: "a")
        _ = try await pairs.generate(.p256, alias: "b")
        let foreign = try await pairs.selfSign("b", subject: subject())
        let before = try home.read("keypairs")
        #expect(await code { try await pairs.install(foreign, for: "a") } == .conflict)
        #expect(await code { try await pairs.install(foreign, for: "c") } == .absent)
        #expect(await code { _ = try await pairs.selfSign("b", subject: subject()) } == .alreadyExists)
        vault.lock()
        #expect(await code { try await pairs.install(foreign, for: "a") } == .conflict)
        #expect(await code { _ = try await pairs.csr(for: "a", subject: subject()) } == .locked)
        #expect(await code { _ = try await pairs.selfSign("a", subject: subject()) } == .locked)
        #expect(try home.read("keypairs") == before)
        #expect(try await pairs.keyPair("b")?.chain == foreign)
    }

    @Test("The end of a certificate is told at 30, 7 and 0 days")
    func warnings() async throws {
        let home = try TestHome()
        let clock = TestClock()
        let vault = try await home.create(clock: clock.source)
        _ = try await vault.keyPairs.generate(.ed25519, alias: "a")
        _ = try await vault.keyPairs.selfSign("a", subject: subject(), days: 40)
        let pair = try #require(try await vault.keyPairs.keyPair("a"))
        let start = Double(clock.source.wallClock().components.seconds)
        for (days, left, warning) in [
            (0, 40, nil), (9, 31, nil), (10, 30, 30), (32.5, 7, 7), (33, 7, 7), (39, 1, 7), (39.5, 0, 0),
            (40, 0, 0), (41, -1, 0), (50, -10, 0),
        ] as [(Double, Int, Int?)] {
            let status = try pair.certificateStatus(at: Date(timeIntervalSince1970: start + days * 86_400))
            #expect(status?.daysLeft == left && status?.warning == warning, "\(days)")
            #expect((status?.state == .expired) == (days >= 40))
        }
        let early = try pair.certificateStatus(at: Date(timeIntervalSince1970: start - 1))
        #expect(early?.state == .notYetValid)
        for time in [Double.infinity, .greatestFiniteMagnitude, -.infinity, .nan] {
            let status = try pair.certificateStatus(at: Date(timeIntervalSince1970: time))
            #expect(status?.state == (time > 0 ? .expired : .notYetValid))
        }
        #expect(try await vault.status().certificates.map(\.state) == [.usable])
        clock.advance(by: .seconds(33 * 86_400))
        let checks = try await vault.securityChecks().filter { $0.name == "key-certificate" }
        #expect(checks.map(\.status) == [.advisory] && checks.map(\.remedy) == [.renewCertificate])
        clock.advance(by: .seconds(7 * 86_400))
        let ended = try await vault.securityChecks().filter { $0.name == "key-certificate" }
        #expect(ended.map(\.status) == [.missing])
    }

    @Test("A record without a certificate keeps the first version; a later version is refused")
    func versions() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let pairs = vault.keyPairs
        func encoded() throws -> [UInt8] { try #require(try pairs.contents().record("a")).encoded }
        _ = try await pairs.generate(.ed25519, alias: "a")
        #expect(try encoded().first == 1)
        _ = try await pairs.csr(for: "a", subject: subject())
        #expect(try encoded().first == 2)
        _ = try await pairs.selfSign("a", subject: subject())
        let record = try encoded()
        #expect(record.first == 2)
        #expect(try KeyPairRecord.decode(record).encoded == record)
        #expect(failure { _ = try KeyPairRecord.decode([4] + record.dropFirst()) } == .unsupportedVersion)
        for count in record.indices {
            #expect(failure { _ = try KeyPairRecord.decode(Array(record[..<count])) } != nil)
        }
    }

    @Test("Who has the device key alone cannot exchange a certificate for another one")
    func bound() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let pairs = vault.keyPairs
        _ = try await pairs.generate(.ed25519, alias: "a")
        _ = try await pairs.selfSign("a", subject: subject())
        let first = try #require(try pairs.contents().record("a"))
        _ = try await pairs.selfSign("a", subject: subject(), replacing: true)
        let second = try #require(try pairs.contents().record("a"))
        // The wrapped key, and the Ed25519 key with its length, nonce and tag.
        let end = 96 + 4 + 24 + 32 + 16
        let mixed = try KeyPairRecord.decode(first.encoded.dropLast(end) + second.encoded.suffix(end))
        #expect(mixed.pair.chain == first.pair.chain)
        let key = try vault.core.keys.key(mixed.pair.protection)
        #expect(failure { _ = try first.open(under: key, vaultID: vault.core.device.vaultID) } == nil)
        #expect(failure { _ = try mixed.open(under: key, vaultID: vault.core.device.vaultID) } == .corrupt)
    }
}
