@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization
import Testing
import TestSupport

@Suite("Signatures of digests by key pairs")
struct KeyPairDigestTests {
    private let message = [UInt8].counting(100)

    private func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CofferError)?.code
        }
    }

    @Test("A key pair with one of the uses signs, one without them and an unknown key do not")
    func uses() async throws {
        let home = try TestHome()
        let pairs = try await home.create().keyPairs
        let digest = try Digest.sha256.hash(message.span)
        for (alias, use) in [("tls", KeyPairUses.tlsClient), ("paper", .sign)] {
            let pair = try await pairs.generate(.p256, alias: alias, uses: use)
            let signature = try #require(
                try await pairs.sign(
                    digest: digest, withKey: pair.publicKey, forOneOf: [.tlsClient, .sign], scheme: .ecdsa,
                    confirm: { _ in false }))
            #expect(
                try pair.publicKey.isValid(signature: signature.span, for: message.span, scheme: .ecdsa))
        }
        let shell = try await pairs.generate(.p256, alias: "shell", uses: .ssh)
        #expect(
            await code {
                _ = try await pairs.sign(
                    digest: digest, withKey: shell.publicKey, forOneOf: [.tlsClient, .sign], scheme: .ecdsa,
                    confirm: { _ in true })
            } == .refused)
        let stranger = try SigningPrivateKey.generate(.p256).publicKey
        #expect(
            try await pairs.sign(
                digest: digest, withKey: stranger, forOneOf: .sign, scheme: .ecdsa, confirm: { _ in true })
                == nil)
        #expect(
            await code {
                _ = try await pairs.sign(
                    digest: Array(digest.dropLast()), withKey: shell.publicKey, forOneOf: .ssh,
                    scheme: .ecdsa, confirm: { _ in true })
            } == .invalidInput)
    }

    @Test("A key pair that asks signs only when confirmed, and the question names it")
    func confirmation() async throws {
        let home = try TestHome()
        let pairs = try await home.create().keyPairs
        let pair = try await pairs.generate(.ed25519, alias: "asked", uses: .sign, confirmsEachUse: true)
        let asked = Mutex<[String]>([])
        func signature(_ answer: Bool) async throws -> [UInt8]? {
            try await pairs.sign(
                message, withKey: pair.publicKey, forOneOf: [.tlsClient, .sign], scheme: .ed25519,
                confirm: { pair in
                    asked.withLock { $0.append(pair.alias) }
                    return answer
                })
        }
        #expect(await code { _ = try await signature(false) } == .refused)
        let made = try #require(try await signature(true))
        #expect(try pair.publicKey.isValid(signature: made.span, for: message.span, scheme: .ed25519))
        #expect(asked.withLock { $0 } == ["asked", "asked"])
    }

    @Test("A locked vault signs no digest, and the new key pair of a rotation waits for its certificate")
    func lockedAndNext() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let pairs = vault.keyPairs
        let digest = try Digest.sha256.hash(message.span)
        let pair = try await pairs.generate(.p256, alias: "work", uses: [.tlsClient, .sign])
        _ = try await pairs.selfSign("work", subject: CertificateSubject(commonName: "ada"))
        let next = try await pairs.rotate("work")
        #expect(next.role == .next)
        #expect(
            try await pairs.sign(
                digest: digest, withKey: next.publicKey, forOneOf: .tlsClient, scheme: .ecdsa,
                confirm: { _ in true }) == nil)
        vault.lock()
        #expect(
            await code {
                _ = try await pairs.sign(
                    digest: digest, withKey: pair.publicKey, forOneOf: .tlsClient, scheme: .ecdsa,
                    confirm: { _ in true })
            } == .locked)
    }
}
