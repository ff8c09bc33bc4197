import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("AES key wrap")
struct KeyWrapTests {
    @Test(
        "A wrapped key unwraps to the same key, and a flipped bit is not authentic",
        arguments: [16, 24, 32])
    func comesBack(kekSize: Int) throws {
        let kek = try key(.counting(kekSize))
        let secret = try key(.counting(32, from: 0x40))
        let wrapped = try KeyWrap.wrap(secret, under: kek)
        #expect(wrapped.count == 32 + KeyWrap.overhead)
        let unwrapped = try KeyWrap.unwrap(wrapped.span, under: kek)
        let same = unwrapped.isEqual(to: secret)
        #expect(same)
        for flipped in wrapped.withEachBitFlipped {
            #expect(failure { _ = try KeyWrap.unwrap(flipped.span, under: kek) } == .notAuthentic)
        }
    }

    @Test("Keys of odd sizes are refused", arguments: oddKeySizes)
    func refusesSizes(size: Int) throws {
        let odd = try key(.counting(size))
        let right = try key(.counting(32))
        let wrapped = try KeyWrap.wrap(right, under: right)
        // 64 bytes are a key to wrap, but not to wrap under.
        #expect(failure { _ = try KeyWrap.wrap(odd, under: right) } == (size == 64 ? nil : .invalidInput))
        #expect(failure { _ = try KeyWrap.wrap(right, under: odd) } == .invalidInput)
        #expect(failure { _ = try KeyWrap.unwrap(wrapped.span, under: odd) } == .invalidInput)
        #expect(
            failure { _ = try KeyWrap.unwrap(wrapped.span.extracting(..<16), under: right) } == .notAuthentic)
    }
}

@Suite("Sealed boxes")
struct SealedBoxTests {
    @Test("Only the holder of the secret key opens the box, whole and unchanged")
    func onlyTheHolderOpens() throws {
        let secret = try key(.counting(32))
        let other = try key(.counting(32, from: 1))
        let publicKey = try SealedBox.publicKey(of: secret)
        let box = try SealedBox.seal([1, 2, 3].span, to: publicKey.span)
        #expect(box.count == 3 + SealedBox.overhead)
        let opened = try SealedBox.open(box.span, secretKey: secret)
        #expect(bytes(opened) == [1, 2, 3])
        #expect(failure { _ = try SealedBox.open(box.span, secretKey: other) } == .notAuthentic)
        for flipped in box.withEachBitFlipped {
            #expect(failure { _ = try SealedBox.open(flipped.span, secretKey: secret) } == .notAuthentic)
        }
        for count in 0..<SealedBox.overhead {
            let short = Array(box.prefix(count))
            #expect(failure { _ = try SealedBox.open(short.span, secretKey: secret) } == .notAuthentic)
        }
    }

    @Test("A key that is not 32 bytes long is refused", arguments: oddKeySizes)
    func refusesSizes(size: Int) throws {
        let odd = try key(.counting(size))
        let bytes = [UInt8].counting(size)
        #expect(failure { _ = try SealedBox.publicKey(of: odd) } == .invalidInput)
        #expect(failure { _ = try SealedBox.seal([1].span, to: bytes.span) } == .invalidInput)
    }
}

@Suite("Ed25519")
struct Ed25519Tests {
    @Test("Only the right signature over the right message is valid")
    func signsAndChecks() throws {
        let seed = try key(.counting(32))
        let message = [UInt8].counting(10)
        let publicKey = try Ed25519.publicKey(seed: seed)
        let signature = try Ed25519.sign(message.span, seed: seed)
        func isValid(_ signature: [UInt8], _ message: [UInt8]) throws -> Bool {
            try Ed25519.isValid(signature: signature.span, for: message.span, publicKey: publicKey.span)
        }
        #expect(signature.count == Ed25519.signatureSize)
        #expect(try isValid(signature, message))
        #expect(try !isValid(signature, message + [0]))
        #expect(try !isValid(signature + [0], message))
        #expect(try !isValid([], message))
        for flipped in signature.withEachBitFlipped { #expect(try !isValid(flipped, message)) }
    }

    @Test("A seed that is not 32 bytes long is refused", arguments: oddKeySizes)
    func refusesSeeds(size: Int) throws {
        let odd = try key(.counting(size))
        #expect(failure { _ = try Ed25519.publicKey(seed: odd) } == .invalidInput)
        #expect(failure { _ = try Ed25519.sign([1].span, seed: odd) } == .invalidInput)
    }
}
