import BenchPeers
import CofferBase
import CofferCrypto
import CofferEngine

/// Key derivation from secrets.
enum DerivationBenchmarks {
    static let all: [Benchmark] =
        [32, 64].map { size in
            Benchmark("pbkdf2-sha256/600k/\(size)") { (runner) async throws(CofferError) in
                try await pbkdf2(runner, size: size)
            }
        } + [
            Benchmark("documented-key", documentedKey),
            Benchmark("argon2id/policy", argon2id),
        ]

    static var openSSL: Peer { Peer(name: "openssl", version: OpenSSLFailure.libraryVersion) }

    private static func pbkdf2(_ runner: Runner, size: Int) async throws(CofferError) {
        let secret = Array("correct horse battery staple".utf8)
        let salt = [UInt8](0..<16)
        let rounds = 600_000
        var own: [UInt8] = []
        var other: [UInt8] = []
        let name = "pbkdf2-sha256/600k/\(size)"
        func ours(_ count: Int) async throws(CofferError) {
            for _ in 0..<count {
                let key = try PBKDF2.derive(
                    secret: secret.span, salt: salt.span, rounds: rounds, count: size)
                own = key.exposing { $0.copied() }
            }
        }
        try await runner.compare(
            name, with: openSSL, ours: ours,
            theirs: { (count) async throws(CofferError) in
                for _ in 0..<count {
                    other = try BaselineDerivation.pbkdf2SHA256(
                        secret: secret, salt: salt, rounds: rounds, count: size)
                }
            },
            agree: { own == other })
        try await SwiftCryptoPeer.compare(
            runner, name, "pbkdf2-sha256", size: size, key: secret, nonce: salt, ours: ours
        ) { own }
    }

    private static func documentedKey(_ runner: Runner) async throws(CofferError) {
        let passcode: SecretBytes? = try SecretBytes.copying("12345678")
        let uuid = "6BA7B810-9DAD-41D1-80B4-00C04FD430C8"
        try await runner.measure(
            "documented-key",
            ours: { (count) async throws(CofferError) in
                for _ in 0..<count { _ = try Insecure.DocumentedKey.key(uuid: uuid, passcode: passcode) }
            })
    }

    private static func argon2id(_ runner: Runner) async throws(CofferError) {
        let text = "correct horse battery staple"
        let secret = try SecretBytes.copying(text)
        let bytes = Array(text.utf8)
        let salt = [UInt8](0..<16)
        let cost = Argon2id.Cost.standard
        var key = try SymmetricKey.random()
        var other: [UInt8] = []
        try await runner.compare(
            "argon2id/policy", with: Peer(name: "libsodium", version: Host.sodium),
            note: "\(cost.memoryKiB / 1024) MiB, \(cost.passes) passes",
            ours: { (count) async throws(CofferError) in
                for _ in 0..<count {
                    key = try Argon2id.deriveKey(secret: secret, salt: salt.span, cost: cost)
                }
            },
            theirs: { (count) async throws(CofferError) in
                for _ in 0..<count {
                    other = try BaselineDerivation.argon2id(
                        secret: bytes, salt: salt, passes: cost.passes, memoryBytes: cost.memoryKiB * 1024,
                        count: 32)
                }
            },
            agree: { () async throws(CofferError) in
                key.isEqual(to: try SymmetricKey.copying(other.span))
            })
    }
}
