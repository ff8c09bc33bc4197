import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("Keys from passcodes")
struct PasscodeDerivationTests {
    private func pbkdf2(rounds: Int = 1, count: Int = 20) throws -> [UInt8] {
        let secret = Array("password".utf8)
        let derived = try PBKDF2.derive(
            secret: secret.span, salt: Array("salt".utf8).span, rounds: rounds, digest: .sha1, count: count)
        return bytes(derived)
    }

    @Test("PBKDF2 derives the value of RFC 6070")
    func knownValue() throws {
        #expect(try pbkdf2(rounds: 2).hex == "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957")
    }

    @Test("PBKDF2 refuses impossible rounds and lengths", arguments: [0, -1, 1 << 31, Int.max, Int.min])
    func refusesRoundsAndLengths(number: Int) {
        #expect(failure { _ = try pbkdf2(rounds: number) } == .invalidInput)
        #expect(failure { _ = try pbkdf2(count: number) } == .invalidInput)
    }

    @Test("Argon2id's least and greatest costs are accepted, and any beyond them refused")
    func theFloorAndTheCeilingAreInBounds() throws {
        let (floor, ceiling) = (Argon2id.Cost.floor, Argon2id.Cost.ceiling)
        #expect(try Argon2id.Cost(memoryKiB: floor.memoryKiB, passes: floor.passes) == floor)
        #expect(try Argon2id.Cost(memoryKiB: ceiling.memoryKiB, passes: ceiling.passes) == ceiling)
        for memory in [0, -1, floor.memoryKiB - 1, ceiling.memoryKiB + 1, Int.max, Int.min] {
            #expect(failure { _ = try Argon2id.Cost(memoryKiB: memory, passes: 3) } == .refused)
        }
        for passes in [0, -1, floor.passes - 1, ceiling.passes + 1, Int.max, Int.min] {
            #expect(failure { _ = try Argon2id.Cost(memoryKiB: 65_536, passes: passes) } == .refused)
        }
    }

    @Test("Argon2id derives what pyca/cryptography computed and takes 16 bytes of salt")
    func argon2id() throws {
        let secret = try SecretBytes.copying("passcode")
        let derived = try Argon2id.deriveKey(secret: secret, salt: [UInt8].counting(16).span, cost: .floor)
        let expected = try key(
            [UInt8](hex: "1b583481273fc0a436a080b4d9977739454d3d529d3b1ead480cb81310831374"))
        let isRight = derived.isEqual(to: expected)
        #expect(isRight)
        for size in [0, 8, 15, 17, 32] {
            let salt = [UInt8].counting(size)
            let code = failure { _ = try Argon2id.deriveKey(secret: secret, salt: salt.span, cost: .floor) }
            #expect(code == .invalidInput)
        }
    }
}

@Suite("Digests and HMAC")
struct HashTests {
    @Test("A digest has its algorithm's size and depends on the message", arguments: Digest.allCases)
    func digestsHaveTheirSize(digest: Digest) throws {
        #expect(try digest.hash(Span()).count == digest.size)
        #expect(try digest.hash([1].span) != digest.hash([2].span))
    }

    @Test("Only the whole right tag under the right key is valid", arguments: Digest.allCases)
    func tagsAreCheckedWhole(digest: Digest) throws {
        let (right, wrong) = (try Keys(from: 0), try Keys(from: 1))
        let message = [UInt8].counting(10)
        let tag = try HMAC.authenticate(message.span, key: right.key, digest: digest)
        func isValid(_ tag: [UInt8], _ key: borrowing SymmetricKey) throws -> Bool {
            try HMAC.isValid(tag.span, for: message.span, key: key, digest: digest)
        }
        let results = (try isValid(tag, right.key), try isValid(tag, wrong.key))
        #expect(results == (true, false))
        for other in tag.withEachBitFlipped + (0..<tag.count).map({ Array(tag.prefix($0)) }) + [tag + [0]] {
            let isAccepted = try isValid(other, right.key)
            #expect(!isAccepted)
        }
    }

    /// A class may be put in a tuple, a key may not.
    private final class Keys {
        let key: SymmetricKey
        init(from: UInt8) throws { key = try CofferCryptoTests.key(.counting(32, from: from)) }
    }
}

@Suite("HKDF")
struct HKDFTests {
    @Test("HKDF derives between one byte and 255 blocks", arguments: Digest.allCases)
    func givesOneTo255Blocks(digest: Digest) throws {
        let master = try key(.counting(32))
        for count in [0, -1, 255 * digest.size + 1, Int.max, Int.min] {
            let derivation = failure {
                _ = try HKDF.derive(from: master, info: Span(), digest: digest, count: count)
            }
            let expansion = failure {
                _ = try HKDF.expand(master, info: Span(), digest: digest, count: count)
            }
            #expect(derivation == .invalidInput)
            #expect(expansion == .invalidInput)
        }
        let most = try HKDF.derive(from: master, info: Span(), digest: digest, count: 255 * digest.size)
        #expect(bytes(most).count == 255 * digest.size)
    }

    /// The label and the context are one string of bytes to HKDF; a second secret is not the same as none.
    @Test("Label, context and second secret each change the key")
    func everyInputCounts() throws {
        let master = try key(.counting(32))
        let other = try key(.counting(32, from: 1))
        let plain = try HKDF.deriveKey(from: master, info: "a")
        var differences = 0
        for (info, context) in [("b", []), ("a", [1]), ("", [])] as [(String, [UInt8])] {
            let derived = try HKDF.deriveKey(from: master, info: info, context: context.span)
            differences += derived.isEqual(to: plain) ? 0 : 1
        }
        let both = try HKDF.deriveKey(from: master, and: other, info: "a")
        let swapped = try HKDF.deriveKey(from: other, and: master, info: "a")
        differences += both.isEqual(to: plain) ? 0 : 1
        differences += both.isEqual(to: swapped) ? 0 : 1
        #expect(differences == 5)
        let bytes = try HKDF.derive(from: master, info: Array("a".utf8).span, count: 32)
        let same = SymmetricKey.adopting(bytes).isEqual(to: plain)
        #expect(same)
    }

    @Test("Subkeys and public bytes are cut from one expanded block")
    func blocksAreCut() throws {
        let block = try HKDF.expand(try key(.counting(32)), info: [1].span, digest: .sha512, count: 140)
        let first = try block.subkey(in: 0..<32)
        let whole = block.publicBytes(0..<140)
        let again = try key(Array(whole.prefix(32)))
        let same = first.isEqual(to: again)
        #expect(same)
        #expect(block.publicBytes(32..<44) == Array(whole[32..<44]))
    }
}
