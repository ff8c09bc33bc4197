import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("libsodium: Ed25519")
struct Ed25519BindingTests {
    private let seed = [UInt8](hex: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")

    private func isValid(_ signature: [UInt8], _ message: [UInt8], _ publicKey: [UInt8]) throws -> Bool {
        try Ed25519Binding.isValid(signature: signature.span, for: message.span, publicKey: publicKey.span)
    }

    @Test("Key and signature are those of RFC 8032, 7.1, test 1")
    func knownValue() throws {
        let publicKey = try Ed25519Binding.publicKey(seed: seed.span)
        #expect(publicKey.hex == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
        let signature = try Ed25519Binding.sign(Span(), seed: seed.span)
        #expect(
            signature.hex
                == "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555"
                + "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b")
        #expect(try isValid(signature, [], publicKey))
    }

    @Test("A seed that is not 32 bytes long is refused", arguments: oddKeySizes + [16])
    func refusesSeeds(size: Int) {
        let seed = [UInt8].counting(size)
        #expect(failure { _ = try Ed25519Binding.publicKey(seed: seed.span) } == .invalidInput)
        #expect(failure { _ = try Ed25519Binding.sign([1].span, seed: seed.span) } == .invalidInput)
    }

    @Test("A flipped bit in signature, message or public key makes the signature invalid")
    func everyBitCounts() throws {
        let message = [UInt8].counting(10)
        let publicKey = try Ed25519Binding.publicKey(seed: seed.span)
        let signature = try Ed25519Binding.sign(message.span, seed: seed.span)
        #expect(try isValid(signature, message, publicKey))
        for other in signature.withEachBitFlipped { #expect(try !isValid(other, message, publicKey)) }
        for other in message.withEachBitFlipped { #expect(try !isValid(signature, other, publicKey)) }
        for other in publicKey.withEachBitFlipped { #expect(try !isValid(signature, message, other)) }
    }

    @Test("A signature or public key of another size is not valid", arguments: [0, 31, 33, 63, 64, 65])
    func otherSizesAreNotValid(size: Int) throws {
        let publicKey = try Ed25519Binding.publicKey(seed: seed.span)
        let signature = try Ed25519Binding.sign([1].span, seed: seed.span)
        if size != 64 { #expect(try !isValid(.counting(size), [1], publicKey)) }
        #expect(try !isValid(signature, [1], .counting(size)))
    }

    /// RFC 8032, 5.1.7: S must be below the group's order L. S + L would verify the same equation.
    @Test("A signature whose S is not below the group's order is refused")
    func refusesMalleableSignatures() throws {
        let order = [UInt8](hex: "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        let message = [UInt8].counting(10)
        let publicKey = try Ed25519Binding.publicKey(seed: seed.span)
        var signature = try Ed25519Binding.sign(message.span, seed: seed.span)
        var carry = 0
        for index in 0..<32 {
            let sum = Int(signature[32 + index]) + Int(order[index]) + carry
            signature[32 + index] = UInt8(sum & 0xff)
            carry = sum >> 8
        }
        #expect(try !isValid(signature, message, publicKey))
    }
}

@Suite("libsodium: sealed boxes")
struct SealedBoxBindingTests {
    private let secretKey = [UInt8].counting(32)

    private func open(_ box: [UInt8], _ secretKey: [UInt8]) throws -> [UInt8] {
        let message = try SealedBoxBinding.open(box.span, secretKey: secretKey.span)
        return message.span.copied()
    }

    @Test("The recipient opens the box, and sealing again makes another", arguments: [0, 1, 32, 1000])
    func opensWhatItSealed(count: Int) throws {
        let publicKey = try SealedBoxBinding.publicKey(secretKey: secretKey.span)
        let box = try SealedBoxBinding.seal([UInt8].counting(count).span, to: publicKey.span)
        #expect(box.count == count + SealedBoxBinding.overhead)
        #expect(try open(box, secretKey) == .counting(count))
        #expect(try SealedBoxBinding.seal([UInt8].counting(count).span, to: publicKey.span) != box)
    }

    @Test("A key that is not 32 bytes long is refused", arguments: oddKeySizes + [16])
    func refusesKeys(size: Int) {
        let key = [UInt8].counting(size)
        #expect(failure { _ = try SealedBoxBinding.publicKey(secretKey: key.span) } == .invalidInput)
        #expect(failure { _ = try SealedBoxBinding.seal([1].span, to: key.span) } == .invalidInput)
        #expect(failure { _ = try open(.counting(64), key) } == .invalidInput)
    }

    @Test(
        "A public key of low order, whose boxes anyone could open, is refused",
        arguments: [0, 1] as [UInt8])
    func refusesPointsOfLowOrder(first: UInt8) {
        let key = [first] + [UInt8](repeating: 0, count: 31)
        #expect(failure { _ = try SealedBoxBinding.seal([1].span, to: key.span) } == .invalidInput)
    }

    @Test("A changed or cut box and another key are not authentic")
    func refusesEverythingElse() throws {
        let publicKey = try SealedBoxBinding.publicKey(secretKey: secretKey.span)
        let box = try SealedBoxBinding.seal([UInt8].counting(8).span, to: publicKey.span)
        for other in box.withEachBitFlipped where other != box {
            // X25519 masks the highest bit of a public key: the sealed box binds it through its nonce all the
            // same.
            #expect(failure { _ = try open(other, secretKey) } == .notAuthentic)
        }
        for count in 0..<box.count {
            #expect(failure { _ = try open(Array(box.prefix(count)), secretKey) } == .notAuthentic)
        }
        #expect(failure { _ = try open(box, .counting(32, from: 9)) } == .notAuthentic)
    }
}
