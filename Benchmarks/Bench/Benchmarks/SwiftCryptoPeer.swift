import BenchPeers
import CofferBase
import CofferCrypto
import FoundationEssentials
import SystemPackage

/// swift-crypto in a separate process, built from the package beside bench. Coffer does not depend on it.
struct SwiftCryptoPeer: Sendable {
    private let peer: Peer
    private let conversation: PeerConversation

    /// Measures ours against swift-crypto's `operation`, or reports that it has not been built.
    ///
    /// `size` counts the bytes of the message, whose byte i is i modulo 256, or of the derived key. `result`
    /// is our latest result.
    static func compare(
        _ runner: Runner, _ name: String, _ operation: String, size: Int, key: [UInt8], nonce: [UInt8],
        ours: Runner.Work, result: () -> [UInt8]
    ) async throws(CofferError) {
        guard let found = find() else {
            return runner.skip(
                name, peer: "swift-crypto",
                reason: "not built: swift build -c release --package-path Benchmarks/SwiftCrypto")
        }
        let words = "\(PeerConversation.hex(key)) \(PeerConversation.hex(nonce))"
        var answer = ""
        // The work runs in the peer's process, so both sides use the wall clock.
        try await runner.compare(
            name, with: found.peer, clock: .wall, ours: ours,
            theirs: { (count) async throws(CofferError) in
                answer = try found.conversation.ask(
                    "\(operation) \(size) \(count) \(words)", deadline: .seconds(120))
            },
            agree: { () async throws(CofferError) in
                answer == "ok " + PeerConversation.hex(try Digest.sha256.hash(result().span))
            })
    }

    private static func find() -> SwiftCryptoPeer? {
        let root = FilePath(#filePath).removingLastComponent().removingLastComponent()
            .removingLastComponent().appending("SwiftCrypto")
        let program = PeerProgram.at(root.appending(".build/release/swift-crypto-peer").string)
        guard let program, let conversation = try? PeerConversation.start(program, []) else { return nil }
        let version = resolvedVersion(root.appending("Package.resolved")) ?? "unknown"
        return SwiftCryptoPeer(
            peer: Peer(name: "swift-crypto", version: version), conversation: conversation)
    }

    /// The version that the package was built with.
    private static func resolvedVersion(_ path: FilePath) -> String? {
        struct Resolved: Decodable {
            let pins: [Pin]
        }
        struct Pin: Decodable {
            let identity: String
            let state: [String: String]
        }
        guard let data = try? Data(contentsOf: URL(filePath: path.string)),
            let resolved = try? JSONDecoder().decode(Resolved.self, from: data)
        else { return nil }
        return resolved.pins.first { $0.identity == "swift-crypto" }?.state["version"]
    }
}
