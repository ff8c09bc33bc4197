import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// Signatures by key pairs of a vault for other programs.
enum KeyPairBenchmarks {
    static let all: [Benchmark] = [Benchmark(name, measure)]

    private static let name = "keys-pkcs11-ecdsa"

    /// Signatures of a digest by a vault without a passcode, which is opened and unlocked for each.
    private static func measure(_ runner: Runner) async throws(CofferError) {
        let workspace = try runner.files()
        // Short names: the path of a socket has at most 107 bytes.
        let folders = try (makeFolder("pkcs11", in: workspace), makeFolder("softhsm", in: workspace))
        let (vault, location) = try await VaultBench.session("keys", tokens: 0, in: workspace)
        _ = try await vault.keyPairs.generate(.p256, alias: "bench", uses: .sign)
        vault.close()
        let client: PKCS11Client
        do throws(CofferError) {
            client = try PKCS11Client.ofVault(location.path, in: folders.0)
        } catch {
            return runner.skip(name, peer: nil, reason: error.message)
        }
        let token: PKCS11Client
        do throws(CofferError) {
            token = try PKCS11Client.ofSoftHSM(in: folders.1)
        } catch {
            runner.skip(name, peer: "softhsm2", reason: error.message)
            return try await alone(runner, client)
        }
        try await runner.compare(
            name, with: Peer(name: "softhsm2", version: token.version), clock: .wall,
            note: "theirs: keeps the key in memory; " + aim,
            ours: { (runs) async throws(CofferError) in try client.sign(runs) },
            theirs: { (runs) async throws(CofferError) in try token.sign(runs) },
            agree: { () async throws(CofferError) -> Bool in
                let (own, other) = try (client.isValid(), token.isValid())
                return own && other
            })
    }

    private static let aim = "the aim is 2 ms at most"

    private static func alone(_ runner: Runner, _ client: PKCS11Client) async throws(CofferError) {
        guard try client.isValid() else {
            throw CofferError(.internalFailure, "\(name): the signature is not valid.")
        }
        try await runner.measure(
            name, clock: .wall, note: aim,
            ours: { (runs) async throws(CofferError) in try client.sign(runs) })
    }

    private static func makeFolder(
        _ name: String, in workspace: Workspace
    ) throws(CofferError) -> FilePath {
        try Descriptor.open(workspace.path, [.read, .directory]).makeDirectory(FilePath(name))
        return workspace.file(name)
    }
}
