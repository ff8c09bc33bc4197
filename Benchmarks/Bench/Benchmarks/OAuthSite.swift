import BenchPeers
import Coffer
import CofferBase
import CofferEngine
import SystemPackage

/// A vault with a session at an HTTPS server on loopback, made by the commands that a user runs.
///
/// The vault is on a disk: what a renewal costs beside the network is mostly flushing it.
struct OAuthSite: Sendable {
    /// The time limit of one command.
    static let deadline = Duration.seconds(60)

    /// `coffer oauth token` and `coffer oauth refresh` of the session.
    static let token = ["oauth", "token", "work"]
    static let refresh = ["oauth", "refresh", "work"]
    /// `coffer token get` of a token as long as the session's.
    static let get = ["token", "get", "bench.example.org", "ada"]
    private static let put = ["token", "put", "bench.example.org", "ada"]

    /// The server's address.
    let origin: String
    /// The certificate of the server's authority.
    let authority: FilePath
    /// A directory for the peers.
    let folder: FilePath
    private let coffer: PeerProgram
    private let server: PeerConversation

    /// Starts the server, makes the vault and signs in. If a program that this takes is missing, reports that
    /// and returns `nil`.
    static func make(for name: String, _ runner: Runner) throws(CofferError) -> OAuthSite? {
        let place = FilePath(try OwnProcess.executable()).removingLastComponent()
        guard let coffer = PeerProgram.at(place.appending("coffer").string),
            PeerProgram.at(place.appending("coffer-oauth").string) != nil,
            let python = PeerProgram.find("python3"), PeerProgram.find("openssl") != nil
        else {
            runner.skip(name, peer: nil, reason: "coffer, coffer-oauth, python3 or openssl is missing")
            return nil
        }
        // A short name: the path of a socket in the directory has at most 107 bytes.
        let name = "oauth-" + HexText.encode(try SecureRandom.bytes(4))
        let folder = try makeFolder(name, in: runner.filesOnDisk().path)
        let root = FilePath(#filePath).removingLastComponent().removingLastComponent()
            .removingLastComponent().removingLastComponent()
        let script = root.appending("Benchmarks/oauth_server.py").string
        let server = try PeerConversation.start(python, [script, folder.string])
        let site = OAuthSite(
            origin: try answer(server, "origin"), authority: folder.appending("ca.pem"), folder: folder,
            coffer: coffer, server: server)
        try site.prepare()
        return site
    }

    private func prepare() throws(CofferError) {
        try write(VaultBench.value, to: value)
        try run(["init", "--no-passcode", "--keyring", "file"])
        try run(
            [
                "oauth", "profile", "add", "work", "--issuer", origin, "--client-id", "desktop", "--scope",
                "api", "--host", host, "--ca-file", authority.string,
            ])
        try run(["oauth", "login", "work", "--account", "ada", "--device"])
        try store()
    }

    // MARK: The server

    /// The host and the port of the server.
    var host: String { String(origin.dropFirst("https://".count)) }

    /// Sends a command to the server, which oauth_server.py describes, and returns the answer.
    func ask(_ line: String) throws(CofferError) -> String { try Self.answer(server, line) }

    private static func answer(
        _ server: PeerConversation, _ line: String
    ) throws(CofferError) -> String {
        let answer = try server.ask(line, deadline: deadline)
        guard answer.hasPrefix("ok") else {
            throw CofferError(.internalFailure, "The server of the benchmarks: \(answer).")
        }
        return String(answer.dropFirst(3))
    }

    // MARK: Commands

    /// A peer that is this package itself.
    func ownPeer(_ name: String) -> Peer { Peer(name: name, version: coffer.version() ?? "unknown") }

    /// Runs `coffer` on the vault.
    func run(_ words: [String]) throws(CofferError) {
        try coffer.run(words + home, deadline: Self.deadline)
    }

    /// Runs `coffer` on the vault and returns its output.
    func output(_ words: [String]) throws(CofferError) -> String {
        try coffer.output(words + home, deadline: Self.deadline)
    }

    /// Stores the token that `token get` reads by `coffer token put`.
    func store() throws(CofferError) {
        try coffer.run(Self.put + home, input: value.string, deadline: Self.deadline)
    }

    /// Runs `coffer` on the vault in this many processes at once and returns what all of them print.
    func outputs(_ words: [String], of starter: ProcessStarter) throws(CofferError) -> String {
        try starter.output([coffer.path] + words + home)
    }

    /// Creates a directory in the folder.
    func makeFolder(_ name: String) throws(CofferError) -> FilePath {
        try Self.makeFolder(name, in: folder)
    }

    private static func makeFolder(_ name: String, in parent: FilePath) throws(CofferError) -> FilePath {
        let base = try Descriptor.open(parent, [.read, .directory])
        try base.makeDirectory(FilePath(name))
        return parent.appending(name)
    }

    /// Replaces a file of the folder.
    func write(_ text: String, to path: FilePath, isProgram: Bool = false) throws(CofferError) {
        let file = try Descriptor.open(path, [.readWrite, .create])
        try file.truncate(to: 0)
        try file.write(Array(text.utf8).span, at: 0)
        if isProgram { try file.setPermissions(0o700) }
    }

    /// The place of the vault.
    var location: VaultLocation { VaultLocation(path: folder.appending("home")) }

    private var home: [String] { ["--home", location.path.string] }
    private var value: FilePath { folder.appending("value") }
}

/// Starts many processes of one command at once, by `xargs`.
struct ProcessStarter: Sendable {
    /// The number of processes.
    static let count = 100

    private let program: PeerProgram
    private let lines: FilePath

    /// `nil` if `xargs` is not installed.
    static func make(in site: OAuthSite) throws(CofferError) -> ProcessStarter? {
        guard let program = PeerProgram.find("xargs") else { return nil }
        let lines = site.folder.appending("lines")
        try site.write(String(repeating: "one\n", count: count), to: lines)
        return ProcessStarter(program: program, lines: lines)
    }

    /// Waits for all processes and returns what they print. Fails if one of them fails.
    func output(_ command: [String]) throws(CofferError) -> String {
        // With -I, a line of the input takes the place of braces, which the command does not have.
        try program.output(
            ["-P", String(Self.count), "-I", "{}"] + command, input: lines.string,
            deadline: OAuthSite.deadline)
    }
}
