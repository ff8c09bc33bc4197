import CofferBase
import CofferEngine
import Synchronization
import SystemPackage
import Testing
import TestSupport

@Suite("Sockets with a path")
struct LocalSocketTests {
    private static let name: FilePath = "agent.sock"

    private func place(in scratch: borrowing ScratchDirectory) -> FilePath { scratch.path.pushing(Self.name) }

    /// Leaves a socket file on which nothing listens.
    private func abandon(_ path: FilePath) throws { _ = try LocalSocket.listening(at: path) }

    @Test("A socket on which nothing listens any more is replaced")
    func abandoned() throws {
        let scratch = try ScratchDirectory.make()
        let path = place(in: scratch)
        try abandon(path)
        let socket = try LocalSocket.listening(at: path)
        #expect(try scratch.descriptor.status(of: Self.name)?.permissions == 0o600)
        _ = try LocalConnection.connecting(to: path)
        #expect(try socket.wait(milliseconds: 60_000))
        let connection = try socket.accept()
        #expect(connection != nil)
    }

    @Test("A socket on which a program listens is left to that program")
    func inUse() throws {
        let scratch = try ScratchDirectory.make()
        let path = place(in: scratch)
        let socket = try LocalSocket.listening(at: path)
        #expect(failure { _ = try LocalSocket.listening(at: path) } == .busy)
        _ = try LocalConnection.connecting(to: path)
        #expect(try socket.wait(milliseconds: 60_000))
    }

    @Test("Nothing but a socket is replaced", arguments: ["file", "pipe", "directory", "link"])
    func others(kind: String) throws {
        let scratch = try ScratchDirectory.make()
        let path = place(in: scratch)
        switch kind {
        case "file": try scratch.write(Self.name, [1])
        case "pipe": try #require(CommandRun.run("mkfifo", [path.string]).code == 0)
        case "directory": try #require(CommandRun.run("mkdir", [path.string]).code == 0)
        default:
            try abandon(scratch.path.pushing("other.sock"))
            try scratch.link(Self.name.string, to: "other.sock")
        }
        let before = try scratch.descriptor.status(of: Self.name)
        #expect(failure { _ = try LocalSocket.listening(at: path) } == .alreadyExists)
        #expect(try scratch.descriptor.status(of: Self.name) == before)
    }

    @Test("Of many that find the same abandoned socket, one listens, and connections reach it")
    func together() throws {
        let scratch = try ScratchDirectory.make()
        let path = place(in: scratch)
        for _ in 0..<40 {
            try abandon(path)
            let sockets = Mutex<[LocalSocket]>([])
            Threads.run(8) {
                guard let socket = try? LocalSocket.listening(at: path) else { return }
                sockets.withLock { $0.append(socket) }
            }
            let listening = sockets.withLock { $0 }
            try #require(listening.count == 1)
            _ = try LocalConnection.connecting(to: path)
            #expect(try listening[0].wait(milliseconds: 60_000))
            listening[0].removeFile()
        }
    }
}
