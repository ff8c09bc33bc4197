import BenchPeers
import CofferBase
import SystemPackage

/// `age` with one generated identity: one layer of encryption to a public key.
struct AgePeer: Sendable {
    let peer: Peer
    private let program: PeerProgram
    let identity: FilePath
    let recipient: String

    /// `nil` if `age` or `age-keygen` is not installed.
    static func make(in workspace: Workspace) throws(CofferError) -> AgePeer? {
        guard let program = PeerProgram.find("age"), let generator = PeerProgram.find("age-keygen") else {
            return nil
        }
        let identity = workspace.file("age-identity-\(try Workspace.randomName())")
        try generator.run(["-o", identity.string], deadline: .seconds(10))
        let text = try generator.output(["-y", identity.string], deadline: .seconds(10))
        return AgePeer(
            peer: Peer(name: "age", version: program.version() ?? "unknown"), program: program,
            identity: identity, recipient: String(text.filter { !$0.isWhitespace }))
    }

    func seal(_ source: FilePath, to target: FilePath) throws(CofferError) {
        try program.run(
            ["-r", recipient, "-o", target.string, source.string], deadline: FilePeers.deadline)
    }

    func open(_ sealed: FilePath, to target: FilePath) throws(CofferError) {
        try program.run(
            ["-d", "-i", identity.string, "-o", target.string, sealed.string], deadline: FilePeers.deadline)
    }
}

/// `cp`: the lower bound for every program that moves a file's bytes.
struct CopyPeer: Sendable {
    let peer: Peer
    private let program: PeerProgram

    /// `nil` if there is no `cp`.
    static func make() -> CopyPeer? {
        guard let program = PeerProgram.find("cp") else { return nil }
        return CopyPeer(
            peer: Peer(name: "cp", version: program.version() ?? "unknown"), program: program)
    }

    func copy(_ source: FilePath, to target: FilePath) throws(CofferError) {
        try program.run([source.string, target.string], deadline: FilePeers.deadline)
    }
}

enum FilePeers {
    /// After this time a peer is considered stuck.
    static let deadline = Duration.seconds(120)
}
