import BenchPeers
import Coffer
import CofferBase
import SystemPackage

/// Tokens: in the embedded keyring, in a real Secret Service, and through the command.
enum VaultBenchmarks {
    static let all: [Benchmark] =
        [1, 100, 1000].flatMap { count in
            [
                Benchmark("vault-file-get/\(count)", and: ["vault-file-put/\(count)"]) {
                    (runner) async throws(CofferError) in
                    try await file(runner, count)
                }
            ]
        } + [
            Benchmark(
                "vault-secret-service-get",
                { (runner) async throws(CofferError) in
                    try await get(runner, "vault-secret-service-get", others: 0)
                }),
            Benchmark(
                "vault-secret-service-get/10000",
                { (runner) async throws(CofferError) in
                    try await get(runner, "vault-secret-service-get/10000", others: 10_000)
                }),
            Benchmark("vault-secret-service-put", put), Benchmark("cli-token-get", command),
        ]

    private static let deadline = Duration.seconds(60)

    /// Get and put with this many tokens in one vault.
    private static func file(_ runner: Runner, _ count: Int) async throws(CofferError) {
        let made = try await VaultBench.session("file-\(count)", tokens: count, in: runner.files())
        let session = made.session
        let id = try VaultBench.id(count / 2)
        try await runner.measure("vault-file-get/\(count)", clock: .wall) {
            (runs) async throws(CofferError) in
            for _ in 0..<runs { try await check(session, id) }
        }
        try await runner.measure("vault-file-put/\(count)", clock: .wall) {
            (runs) async throws(CofferError) in
            for _ in 0..<runs { try await session.tokens.put(Token(copying: VaultBench.value), for: id) }
        }
        session.close()
    }

    private static func check(_ session: Vault, _ id: TokenID) async throws(CofferError) {
        let count = try await session.tokens.get(id)?.token.count
        guard count == VaultBench.value.utf8.count else { throw PeerMismatch.wrongToken }
    }

    private enum PeerMismatch {
        static var wrongToken: CofferError { CofferError(.internalFailure, "The token differs.") }
    }

    #if SecretService
        private static let peer = Peer(name: "libsecret", version: BaselineSecretService.version)

        private static func vault(
            _ runner: Runner, _ name: String, others: Int = 0
        ) async throws(CofferError) -> (session: Vault, location: VaultLocation)? {
            guard let bus = try VaultBench.keyring(others: others) else {
                runner.skip(name, peer: "libsecret", reason: "gnome-keyring or dbus-daemon is not installed")
                return nil
            }
            BaselineSecretService.disconnect()
            try BaselineSecretService.store("bench", VaultBench.value)
            return try await VaultBench.session(
                "service-\(name.filter(\.isLetter))\(others)", tokens: 1, in: runner.files(),
                keyring: .secretService, bus: bus)
        }

        private static func get(_ runner: Runner, _ name: String, others: Int) async throws(CofferError) {
            guard let (session, _) = try await vault(runner, name, others: others) else { return }
            let id = try VaultBench.id(0)
            try await runner.compare(
                name, with: peer, clock: .wall, note: others > 0 ? "beside \(others) other items" : nil,
                ours: { (runs) async throws(CofferError) in
                    for _ in 0..<runs { try await check(session, id) }
                },
                theirs: { (runs) async throws(CofferError) in
                    for _ in 0..<runs { _ = try BaselineSecretService.lookup("bench") }
                },
                agree: { () async throws(CofferError) in
                    try BaselineSecretService.lookup("bench") == VaultBench.value
                })
            _ = try await session.wipe()
        }

        private static func put(_ runner: Runner) async throws(CofferError) {
            let name = "vault-secret-service-put"
            guard let (session, _) = try await vault(runner, name) else { return }
            let id = try VaultBench.id(0)
            let ours: Runner.Work = { (runs) async throws(CofferError) in
                for _ in 0..<runs { try await session.tokens.put(Token(copying: VaultBench.value), for: id) }
            }
            let agree = { () async throws(CofferError) in
                try await check(session, id)
                return try BaselineSecretService.lookup("bench") == VaultBench.value
            }
            try await runner.compare(
                name, with: peer, clock: .wall, note: "theirs: the store alone", ours: ours,
                theirs: { (runs) async throws(CofferError) in
                    for _ in 0..<runs { try BaselineSecretService.store("bench", VaultBench.value) }
                }, agree: agree)
            try await runner.compare(
                name, with: Peer(name: "libsecret, verified", version: peer.version), clock: .wall,
                note: "theirs: lookup, store and lookup, which is what ours does", ours: ours,
                theirs: { (runs) async throws(CofferError) in
                    for _ in 0..<runs {
                        _ = try BaselineSecretService.lookup("bench")
                        try BaselineSecretService.store("bench", VaultBench.value)
                        _ = try BaselineSecretService.lookup("bench")
                    }
                }, agree: agree)
            _ = try await session.wipe()
        }

        private static func command(_ runner: Runner) async throws(CofferError) {
            let name = "cli-token-get"
            let place = FilePath(try OwnProcess.executable()).removingLastComponent().appending("coffer")
            guard let tool = PeerProgram.find("secret-tool"), let coffer = PeerProgram.at(place.string) else {
                return runner.skip(name, peer: "secret-tool", reason: "secret-tool or coffer is missing")
            }
            guard let (session, location) = try await vault(runner, name) else { return }
            let id = try VaultBench.id(0)
            let arguments = ["token", "get", id.service, id.account, "--home", location.path.string]
            let lookup = ["lookup", "bench", "bench"]
            try await runner.compare(
                name, with: Peer(name: "secret-tool", version: peer.version), clock: .wall,
                note: "both from the Secret Service; \(linkage(of: place.string))",
                ours: { (runs) async throws(CofferError) in
                    for _ in 0..<runs { try coffer.run(arguments, deadline: deadline) }
                },
                theirs: { (runs) async throws(CofferError) in
                    for _ in 0..<runs { try tool.run(lookup, deadline: deadline) }
                },
                agree: { () async throws(CofferError) in
                    let ours = try coffer.output(arguments, deadline: deadline)
                    let theirs = try tool.output(lookup, deadline: deadline)
                    return ours == VaultBench.value && theirs == VaultBench.value
                })
            _ = try await session.wipe()
        }
        /// How a program is linked, which decides how fast it starts.
        private static func linkage(of program: String) -> String {
            guard let tool = PeerProgram.find("ldd"),
                let libraries = try? tool.output([program], deadline: deadline)
            else { return "how coffer is linked is not known" }
            let isShared = libraries.utf8.contains("libswiftCore.so".utf8)
            return isShared ? "coffer by swift build" : "coffer by Scripts/build-release"
        }
    #else
        private static func get(_ runner: Runner, _ name: String, others: Int) async throws(CofferError) {
            runner.skip(name, peer: "libsecret", reason: "built without the trait SecretService")
        }

        private static func put(_ runner: Runner) async throws(CofferError) {
            try await get(runner, "vault-secret-service-put", others: 0)
        }

        private static func command(_ runner: Runner) async throws(CofferError) {
            try await get(runner, "cli-token-get", others: 0)
        }
    #endif
}
