import CofferBase
import CofferEngine
import TestSupport
import Testing

@Suite(.enabled(if: FastPBKDF2.isAvailable, "this processor has no SHA-256 instructions"))
struct FastPBKDF2Tests {
    private func derive(
        _ secret: [UInt8], _ salt: [UInt8], rounds: Int, count: Int, fast: Bool
    ) throws -> [UInt8] {
        var output = [UInt8](repeating: 0xaa, count: count)
        var span = output.mutableSpan
        if fast {
            try FastPBKDF2.derive(secret: secret.span, salt: salt.span, rounds: rounds, into: &span)
        } else {
            try PBKDF2Binding.deriveByLibrary(
                secret: secret.span, salt: salt.span, rounds: rounds, digest: .sha256, into: &span)
        }
        return output
    }

    private func agree(_ secret: [UInt8], _ salt: [UInt8], rounds: Int, count: Int) throws -> Bool {
        let fast = try derive(secret, salt, rounds: rounds, count: count, fast: true)
        return try fast == derive(secret, salt, rounds: rounds, count: count, fast: false)
    }

    @Test func randomInputsAgreeWithTheLibrary() throws {
        for _ in 0..<300 {
            let secret = try SecureRandom.bytes(.random(in: 0...200))
            let salt = try SecureRandom.bytes(.random(in: 0...100))
            let (rounds, count) = (Int.random(in: 1...150), Int.random(in: 1...200))
            let equal = try agree(secret, salt, rounds: rounds, count: count)
            #expect(equal, "secret \(secret.hex), salt \(salt.hex), \(rounds) rounds, \(count) bytes")
        }
    }

    /// The HMAC key's block has 64 bytes; longer secrets are hashed first.
    @Test(arguments: [0, 1, 31, 32, 63, 64, 65, 128], [1, 31, 32, 33, 64, 65, 96, 97])
    func edgesAgreeWithTheLibrary(secretSize: Int, count: Int) throws {
        #expect(try agree(.counting(secretSize), .counting(16), rounds: 2, count: count))
    }

    /// RFC 7914 section 11.
    @Test func knownValue() throws {
        var output = [UInt8](repeating: 0, count: 64)
        var span = output.mutableSpan
        try PBKDF2Binding.derive(
            secret: Array("Password".utf8).span, salt: Array("NaCl".utf8).span, rounds: 80_000,
            digest: .sha256, into: &span)
        #expect(
            output.hex == """
                4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56\
                a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d
                """)
    }
}
