@testable import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import CofferVault
import FoundationEssentials
import Testing
import TestSupport

@Suite("Rotation and export of key pairs")
struct KeyPairRotationTests {
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

    private func signs(_ pairs: KeyPairStore, _ alias: String) async throws -> Bool {
        let pair = try #require(try await pairs.keyPair(alias))
        let signature = try await pairs.sign(message, with: alias)
        return try pair.publicKey.isValid(
            signature: signature.span, for: message.span, scheme: .standard(for: pair.algorithm))
    }

    @Test("Without a certificate, the new key pair takes over at once, and the former one signs for SSH only")
    func atOnce() async throws {
        let home = try TestHome()
        let pairs = try await home.create(Self.passcode).keyPairs
        let first = try await pairs.generate(
            .p256, alias: "a", class: .whenUnlocked, confirmsEachUse: false, isExportable: true)
        let second = try await pairs.rotate("a", algorithm: .ed25519)
        #expect(second.role == .current && second.generation == 2 && second.algorithm == .ed25519)
        #expect(second.isExportable && second.uses == first.uses && second.protection == .whenUnlocked)
        #expect(try await pairs.list() == [second])
        #expect(try await pairs.list(includingRotations: true).map(\.role) == [.current, .former])
        #expect(try await signs(pairs, "a"))
        let old = try await pairs.sign(
            message, withKey: first.publicKey, for: .ssh, scheme: .ecdsa, confirm: { _ in false })
        #expect(old != nil)
        #expect(await code { _ = try await pairs.generate(.p256, alias: "a") } == .alreadyExists)
        try await pairs.rename("a", to: "b")
        #expect(try await pairs.list(includingRotations: true).map(\.alias) == ["b", "b"])
        #expect(try await pairs.reclassify(["b"], to: .whenUnlockedThisDeviceOnly).changed == 2)
        #expect(try await pairs.retire("b").map(\.id) == [first.id])
        #expect(try await pairs.retire("b").isEmpty)
        #expect(try await pairs.list(includingRotations: true).map(\.id) == [second.id])
        #expect(await code { try await pairs.retire("a") } == .absent)
        #expect(await code { try await pairs.rotate("a") } == .absent)
        #expect(await code { try await pairs.cancelRotation(of: "a") } == .absent)
    }

    @Test("With a certificate, the new key pair takes over when it has one, too")
    func withCertificate() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let pairs = vault.keyPairs
        let subject = try CertificateSubject(commonName: "ada")
        let first = try await pairs.generate(.p256, alias: "a", uses: [.sign, .tlsClient])
        let chain = try await pairs.selfSign("a", subject: subject)
        let next = try await pairs.rotate("a")
        #expect(next.role == .next && next.chain == nil)
        #expect(await code { try await pairs.rotate("a") } == .alreadyExists)
        #expect(try await pairs.keyPair("a")?.id == first.id)
        #expect(
            try await pairs.sign(
                message, withKey: next.publicKey, for: .sign, scheme: .ecdsa, confirm: { _ in true }) == nil)
        #expect(try await pairs.cancelRotation(of: "a")?.id == next.id)
        #expect(try await pairs.cancelRotation(of: "a") == nil)
        let again = try await pairs.rotate("a")
        #expect(again.generation == 2)
        // The certificate of the present key pair is still taken.
        #expect(try await pairs.install(chain, for: "a").id == first.id)
        #expect(try await pairs.list().map(\.id) == [first.id])
        let new = try await pairs.selfSign("a", subject: subject)
        let current = try #require(try await pairs.keyPair("a"))
        #expect(current.id == again.id && current.chain == new)
        let all = try await home.unlocked(Self.passcode).keyPairs.list(includingRotations: true)
        #expect(all.map(\.role) == [.current, .former] && all[1].chain == chain)
        #expect(await code { try await pairs.install(chain, for: "a") } == .conflict)
        _ = try await vault.rotateKeys(passcode: try Passcode(copying: Self.passcode))
        #expect(try await signs(pairs, "a"))
        vault.lock()
        #expect(await code { try await pairs.rotate("a") } == .locked)
        #expect(try await pairs.retire("a").map(\.id) == [first.id])
        #expect(try await pairs.remove("a")?.id == again.id)
        #expect(try await pairs.list(includingRotations: true).isEmpty)
    }

    @Test("A key pair that awaits its certificate stays in use through a rotation, and still gets it")
    func awaiting() async throws {
        let home = try TestHome()
        let pairs = try await home.create(Self.passcode).keyPairs
        let subject = try CertificateSubject(commonName: "ada")
        let key = HeldPrivateKey(try SigningPrivateKey.generate(.p256))
        let first = try await pairs.importing(
            key, alias: "a", class: .whenUnlocked, uses: [.sign, .tlsClient], confirmsEachUse: false)
        _ = try await pairs.csr(for: "a", subject: subject)
        let next = try await pairs.rotate("a")
        #expect(next.role == .next)
        #expect(try await pairs.keyPair("a")?.id == first.id)
        #expect(try await signs(pairs, "a"))
        let now = Int64(Date().timeIntervalSince1970)
        let answer = try CertificateChain(
            reading: CertificateWriter.selfSigned(key.key, subject, [], .client, from: now - 60, days: 1))
        #expect(try await pairs.install(answer, for: "a").id == first.id)
        #expect(try await pairs.list().map(\.chain) == [answer])
        _ = try await pairs.selfSign("a", subject: subject)
        #expect(try await pairs.list().map(\.id) == [next.id])
        let all = try await pairs.list(includingRotations: true)
        #expect(all.map(\.role) == [.current, .former] && all[1].chain == answer)
    }

    @Test("Only a record that is not current has the version that earlier releases refuse")
    func versions() async throws {
        let home = try TestHome()
        let pairs = try await home.create().keyPairs
        _ = try await pairs.generate(.ed25519, alias: "a")
        #expect(try pairs.contents().records.map { $0.encoded[0] } == [1])
        _ = try await pairs.rotate("a")
        let records = try pairs.contents().records
        for record in records {
            #expect(record.encoded[0] == (record.pair.role == .former ? 3 : 1))
            var newer = record.encoded
            newer[0] = 4
            #expect(await code { _ = try KeyPairRecord.decode(newer) } == .unsupportedVersion)
            guard record.pair.role == .former else { continue }
            // The role follows the certificates: none is requested, and there are none.
            let place = record.encoded.count - 96 - 4 - (32 + 40) - 1
            for role: UInt8 in [0, 3, 255] {
                var other = record.encoded
                #expect(other[place] == 2)
                other[place] = role
                #expect(await code { _ = try KeyPairRecord.decode(other) } == .corrupt)
            }
        }
        _ = try await pairs.retire("a")
        #expect(try pairs.contents().records.map { $0.encoded[0] } == [1])
    }

    @Test("A private key that is not exportable leaves the vault in no way, and the class decides, too")
    func export() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let pairs = vault.keyPairs
        let secret = try Passcode(copying: "a long passphrase")
        _ = try await pairs.generate(.p256, alias: "fixed", class: .whenUnlocked)
        let pair = try await pairs.generate(.p256, alias: "out", class: .whenUnlocked, isExportable: true)
        _ = try await pairs.generate(
            .p256, alias: "asks", class: .whenUnlocked, confirmsEachUse: true, isExportable: true)
        for form in KeyBundle.Form.allCases {
            #expect(
                await code { _ = try await pairs.export("fixed", as: form, passphrase: secret) } == .refused)
            #expect(
                await code { _ = try await pairs.export("asks", as: form, passphrase: secret) } == .refused)
            let short = try Passcode(copying: "short")
            #expect(await code { _ = try await pairs.export("out", as: form, passphrase: short) } == .refused)
            #expect(await code { _ = try await pairs.export("x", as: form, passphrase: secret) } == .absent)
        }
        let file = try await pairs.export("out", as: .pkcs12, passphrase: secret)
        let bundle = try KeyBundle.reading(SecretBytes.copying(file.span)) { () throws(CofferError) in
            try SecretBytes.copying("a long passphrase")
        }
        #expect(bundle.publicKey == pair.publicKey)
        #expect(await code { _ = try await pairs.importing(bundle, alias: "new") } == .alreadyExists)
        let refused = await code {
            _ = try await pairs.generate(.p256, alias: "b", isExportable: true)
        }
        #expect(refused == .invalidInput)
        _ = try await pairs.reclassify(["out"], to: .whenUnlockedThisDeviceOnly)
        #expect(await code { _ = try await pairs.export("out", as: .pem, passphrase: secret) } == .refused)
        #expect(try await pairs.remove("out")?.isExportable == true)
        #expect(try await pairs.importing(bundle, alias: "new").isExportable == false)
        #expect(await code { _ = try await pairs.export("new", as: .pem, passphrase: secret) } == .refused)
        vault.lock()
        #expect(await code { _ = try await pairs.export("asks", as: .pem, passphrase: secret) } == .locked)
    }
}
