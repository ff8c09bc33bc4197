import CofferBase
import CofferCrypto
import CofferEngine
import TestSupport
import Testing

@Suite("Signatures of digests")
struct DigestSchemeTests {
    private static let message: [UInt8] = Array("text".utf8)

    @Test(
        "A signature of the digest is one of the message, and no other size is signed",
        arguments: [SigningAlgorithm.p256, .p384])
    func ecdsa(_ algorithm: SigningAlgorithm) throws {
        let key = try SigningPrivateKey.generate(algorithm)
        let function: Digest = algorithm == .p256 ? .sha256 : .sha384
        let digest = try function.hash(Self.message.span)
        let signature = try key.sign(digest: digest.span, scheme: .ecdsa)
        let publicKey = key.publicKey
        #expect(
            try publicKey.isValid(signature: signature.span, for: Self.message.span, scheme: .ecdsa))
        let other: [UInt8] = Self.message + [0]
        #expect(try !publicKey.isValid(signature: signature.span, for: other.span, scheme: .ecdsa))
        for size in [0, 20, 31, 33, 65] {
            let bytes = [UInt8](repeating: 1, count: size)
            #expect(failure { _ = try key.sign(digest: bytes.span, scheme: .ecdsa) } == .invalidInput)
        }
        #expect(failure { _ = try key.sign(digest: digest.span, scheme: .rsaPSS(.sha256)) } == .invalidInput)
    }

    @Test("Ed25519 signs no digest")
    func ed25519() throws {
        let key = try SigningPrivateKey.generate(.ed25519)
        let digest = [UInt8](repeating: 1, count: 32)
        #expect(failure { _ = try key.sign(digest: digest.span, scheme: .ecdsa) } == .invalidInput)
    }

    @Test("Of DigestInfo, only whole ones with SHA-256, SHA-384 and SHA-512 are read")
    func digestInfo() throws {
        let beginning: [UInt8] = [
            0x30, 0x31, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
            0x00, 0x04, 0x20,
        ]
        let digest = [UInt8](0..<32)
        let whole = beginning + digest
        let read = try #require(DigestScheme.read(digestInfo: whole))
        #expect(read.function == .sha256 && read.digest == digest)
        #expect(DigestScheme.read(digestInfo: whole + [0]) == nil)
        #expect(DigestScheme.read(digestInfo: Array(whole.dropLast())) == nil)
        #expect(DigestScheme.read(digestInfo: digest) == nil && DigestScheme.read(digestInfo: []) == nil)
        for index in beginning.indices {
            var damaged = whole
            damaged[index] ^= 0x40
            #expect(DigestScheme.read(digestInfo: damaged) == nil, "byte \(index)")
        }
    }
}
