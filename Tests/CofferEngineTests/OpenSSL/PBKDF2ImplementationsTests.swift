import CofferBase
import CofferEngine
import TestSupport
import Testing

/// Every way of computing PBKDF2 gives the same bytes.
@Suite("PBKDF2 implementations")
struct PBKDF2ImplementationsTests {
    private func derive(
        _ way: PBKDF2Binding.Implementation, _ secret: [UInt8], _ salt: [UInt8], rounds: Int,
        digest: DigestAlgorithm = .sha256, count: Int
    ) throws -> [UInt8] {
        var output = [UInt8](repeating: 0xaa, count: count)
        var span = output.mutableSpan
        try PBKDF2Binding.derive(
            by: way, secret: secret.span, salt: salt.span, rounds: rounds, digest: digest, into: &span)
        return output
    }

    /// Whether every way that this processor has gives the same.
    private func agree(
        _ secret: [UInt8], _ salt: [UInt8], rounds: Int, digest: DigestAlgorithm, count: Int
    ) throws -> Bool {
        let ways = PBKDF2Binding.Implementation.allCases.filter { $0.isAvailable(for: digest) }
        let results = try ways.map {
            try derive($0, secret, salt, rounds: rounds, digest: digest, count: count)
        }
        return results.count >= 2 && Set(results).count == 1
    }

    /// Secrets longer than a block, which HMAC hashes first, are among them: blocks have 64 or 128 bytes.
    @Test(
        "The implementations agree on random secrets, salts, rounds and lengths",
        .timeLimit(.minutes(10)),
        arguments: [(.sha256, 10_000), (.sha1, 2_000), (.sha224, 500), (.sha384, 500), (.sha512, 2_000)]
            as [(DigestAlgorithm, Int)])
    func randomInputs(digest: DigestAlgorithm, repetitions: Int) throws {
        for _ in 0..<repetitions {
            let secret = try SecureRandom.bytes(.random(in: 0...200))
            let salt = try SecureRandom.bytes(.random(in: 0...200))
            let (rounds, count) = (Int.random(in: 1...50), Int.random(in: 1...200))
            guard try agree(secret, salt, rounds: rounds, digest: digest, count: count) else {
                Issue.record("\(digest): \(secret.hex), salt \(salt.hex), \(rounds) rounds, \(count) bytes")
                return
            }
        }
    }

    @Test(
        "The implementations agree around the HMAC block and whole output blocks",
        arguments: DigestAlgorithm.allCases, [0, 1, 31, 32, 63, 64, 65, 127, 128, 129, 1_000])
    func edges(digest: DigestAlgorithm, secretSize: Int) throws {
        for blocks in 1...3 {
            for count in [blocks * digest.size - 1, blocks * digest.size, blocks * digest.size + 1] {
                #expect(
                    try agree(
                        .counting(secretSize), .counting(16), rounds: 2, digest: digest, count: count),
                    "\(count) bytes")
            }
        }
    }

    @Test("The implementations agree after many rounds", arguments: DigestAlgorithm.allCases)
    func manyRounds(digest: DigestAlgorithm) throws {
        #expect(try agree(.counting(8), .counting(16), rounds: 2_000, digest: digest, count: 100))
    }

    @Test("Every available implementation derives the value of RFC 7914, section 11")
    func knownValue() throws {
        let expected = """
            4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56\
            a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d
            """
        for way in PBKDF2Binding.Implementation.allCases where way.isAvailable(for: .sha256) {
            let (secret, salt) = (Array("Password".utf8), Array("NaCl".utf8))
            #expect(try derive(way, secret, salt, rounds: 80_000, count: 64).hex == expected)
        }
    }

    @Test("The binding takes the fastest implementation, and OpenSSL's own for a few rounds")
    func choice() {
        for digest in DigestAlgorithm.allCases {
            #expect(PBKDF2Binding.implementation(for: digest, rounds: 1) == .library)
            let way = PBKDF2Binding.implementation(for: digest, rounds: 600_000)
            #expect(way != .library && way.isAvailable(for: digest))
            #expect((way == .instructions) == (digest == .sha256 && PBKDF2SHANI.isAvailable))
        }
    }
}
