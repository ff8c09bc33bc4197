import BenchPeers
import CofferBase
import SystemPackage

/// SQLCipher in a separate process, because two libraries with SQLite's names cannot share one.
struct SQLCipherPeer: Sendable {
    let peer: Peer
    private let conversation: PeerConversation

    /// The time limit of one command.
    private static let deadline = Duration.seconds(120)

    /// Starts the peer; returns `nil` if there is no Python with SQLCipher: see Scripts/setup-packages.
    static func start() -> SQLCipherPeer? {
        let root = FilePath(#filePath).removingLastComponent().removingLastComponent()
            .removingLastComponent().removingLastComponent()
        let own = PeerProgram.at(root.appending(".build/sqlcipher/bin/python").string)
        let script = root.appending("Benchmarks/sqlcipher_peer.py").string
        for python in [own, PeerProgram.find("python3")].compactMap({ $0 }) {
            guard let conversation = try? PeerConversation.start(python, [script]),
                let version = try? ask(conversation, "version")
            else { continue }
            let number = version.prefix { $0 != " " }
            return SQLCipherPeer(
                peer: Peer(name: "sqlcipher", version: String(number)), conversation: conversation)
        }
        return nil
    }

    private static func ask(
        _ conversation: PeerConversation, _ line: String
    ) throws(CofferError) -> String {
        let answer = try conversation.ask(line, deadline: deadline)
        guard answer.hasPrefix("ok") else {
            throw CofferError(.internalFailure, "SQLCipher: \(answer).")
        }
        return String(answer.dropFirst(3))
    }

    func open(_ path: FilePath) throws(CofferError) {
        _ = try Self.ask(conversation, "open \(path) \(PeerConversation.hex(BenchDatabase.key))")
    }

    @discardableResult
    func run(_ sql: String) throws(CofferError) -> String { try Self.ask(conversation, "run \(sql)") }

    func commit(_ work: DatabaseWork) throws(CofferError) {
        let counts = "\(work.commits) \(DatabaseWork.updated)"
        _ = try Self.ask(conversation, "commits \(counts) \(DatabaseWork.update)")
    }

    func close() throws(CofferError) { _ = try Self.ask(conversation, "close") }
}
