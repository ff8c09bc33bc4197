import CofferBase
import CofferEngine
import Glibc
import Testing
import TestSupport

@Suite("Loopback sockets")
struct LoopbackSocketTests {
    private static let deadline = Duration.seconds(60)

    private func connect(to socket: borrowing LoopbackSocket) throws -> LoopbackConnection {
        try .connecting(to: socket.address, port: socket.port, deadline: Self.deadline)
    }

    /// The next connection, which arrives after a moment.
    private func accepted(by socket: borrowing LoopbackSocket) throws -> LoopbackConnection {
        let ready = try socket.wait(for: [], milliseconds: 60_000)
        #expect(ready.hasConnection)
        let connection = try socket.accept()
        return try #require(connection)
    }

    private func read(_ connection: LoopbackConnection, count: Int) throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: count)
        var span = buffer.mutableSpan
        #expect(try connection.waitForInput(milliseconds: 60_000))
        switch connection.read(into: &span) {
        case .bytes(let count): return Array(buffer.prefix(count))
        case .nothing: return []
        case .end: return nil
        }
    }

    @Test("A port that is taken is refused, and another program's socket does not share it")
    func aTakenPortIsRefused() throws {
        let first = try LoopbackSocket.listening(on: .ipv4)
        let port = first.port
        #expect(failure { _ = try LoopbackSocket.listening(on: .ipv4, port: port) } == .busy)
        // The first one is still there.
        _ = try connect(to: first)
    }

    @Test("A port on which nothing listens refuses a connection")
    func nothingListens() throws {
        var port: UInt16 = 0
        do {
            let socket = try LoopbackSocket.listening(on: .ipv4)
            port = socket.port
        }
        #expect(
            failure {
                _ = try LoopbackConnection.connecting(to: .ipv4, port: port, deadline: Self.deadline)
            } == .inputOutput)
    }

    @Test("A closed port can be used again at once, even after connections")
    func aPortIsFreeAgain() throws {
        var port: UInt16 = 0
        for _ in 0..<3 {
            let socket = try LoopbackSocket.listening(on: .ipv4, port: port)
            port = socket.port
            let client = try connect(to: socket)
            let server = try accepted(by: socket)
            #expect(server.write(([1] as [UInt8]).span) == 1)
            #expect(try read(client, count: 1) == [1])
        }
    }

    @Test("Bytes go both ways, and each side sees the other's end", arguments: LoopbackAddress.allCases)
    func bytesGoBothWays(address: LoopbackAddress) throws {
        // Machines without IPv6 have no ::1.
        let missing = failure { _ = try LoopbackSocket.listening(on: address) }
        guard missing == nil else {
            #expect(address == .ipv6 && missing == .unsupported)
            return
        }
        let socket = try LoopbackSocket.listening(on: address)
        let client = try connect(to: socket)
        let server = try accepted(by: socket)
        var empty: [UInt8] = [0]
        var span = empty.mutableSpan
        #expect(server.read(into: &span) == .nothing)
        #expect(client.write(([1, 2, 3] as [UInt8]).span) == 3)
        #expect(try read(server, count: 8) == [1, 2, 3])
        client.finishWriting()
        #expect(try read(server, count: 8) == nil)
        #expect(server.write(([4] as [UInt8]).span) == 1)
        #expect(try read(client, count: 8) == [4])
    }

    @Test("The wait ends at its limit, and nobody waits to be accepted")
    func theWaitEnds() throws {
        let socket = try LoopbackSocket.listening(on: .ipv4)
        let ready = try socket.wait(for: [], milliseconds: 1)
        #expect(!ready.hasConnection)
        let connection = try socket.accept()
        #expect(connection == nil)
    }

    /// Lowers the limit of open files, so this runs in a separate process.
    @Test("Without a free descriptor a connection goes on waiting, and the socket stays")
    func noFreeDescriptor() async {
        await #expect(processExitsWith: .success) {
            let socket = try LoopbackSocket.listening(on: .ipv4)
            let client = try LoopbackConnection.connecting(
                to: .ipv4, port: socket.port, deadline: .seconds(60))
            let limit = try CommandRun.run("prlimit", ["--pid", "\(getpid())", "--nofile=128:128"])
            try #require(limit.code == 0)
            var copies: [Int32] = []
            while case let copy = dup(2), copy >= 0 { copies.append(copy) }
            let ready = try socket.wait(for: [], milliseconds: 60_000)
            let refused = try socket.accept()
            let paused = try socket.wait(for: [], milliseconds: 1, acceptsConnections: false)
            for copy in copies { close(copy) }
            let accepted = try socket.accept()
            #expect(!copies.isEmpty && ready.hasConnection && refused == nil)
            #expect(!paused.hasConnection && accepted != nil)
            client.finishWriting()
        }
    }

    @Test("Only the connection with input is ready")
    func onlyOneIsReady() throws {
        let socket = try LoopbackSocket.listening(on: .ipv4)
        let clients = try (0..<3).map { _ in try connect(to: socket) }
        let servers = try clients.map { _ in try accepted(by: socket) }
        #expect(clients[1].write(([1] as [UInt8]).span) == 1)
        let ready = try socket.wait(for: servers.map { ($0, false) }, milliseconds: 60_000)
        #expect(ready.connections.count { $0 } == 1)
        let writable = try socket.wait(for: servers.map { ($0, true) }, milliseconds: 60_000)
        #expect(writable.connections == [true, true, true])
    }

    @Test("The kernel says whose program holds the other end, until it closes it")
    func theOtherEndsOwner() throws {
        let socket = try LoopbackSocket.listening(on: .ipv4)
        var client: LoopbackConnection? = try connect(to: socket)
        let server = try accepted(by: socket)
        #expect(server.peerOwner == .user(geteuid()))
        #expect(server.peerOwner.mayBeOwn && client != nil)
        client?.finishWriting()
        #expect(server.peerOwner == .user(geteuid()))
        client = nil
        // A program that another test starts holds a copy of the client's descriptor until its exec.
        let end = Clock.sinceBoot + Self.deadline
        while server.peerOwner != .gone, Clock.sinceBoot < end { Clock.sleep(for: .milliseconds(1)) }
        #expect(server.peerOwner == .gone)
        #expect(!server.peerOwner.mayBeOwn)
    }

    @Test("Writing to a connection that the other side has closed is an answer and no signal")
    func aBrokenConnection() throws {
        let socket = try LoopbackSocket.listening(on: .ipv4)
        var client: LoopbackConnection? = try connect(to: socket)
        let server = try accepted(by: socket)
        client = nil
        #expect(client == nil)
        #expect(try read(server, count: 1) == nil)
        let end = Clock.sinceBoot + Self.deadline
        let bytes = [UInt8](repeating: 0, count: 1 << 16)
        while server.write(bytes.span) != nil, Clock.sinceBoot < end {}
        #expect(Clock.sinceBoot < end)
    }
}

@Suite("Detached programs")
struct DetachedProcessTests {
    private func start(_ arguments: String..., patience: Duration = .seconds(60)) throws
        -> DetachedProcess.Outcome
    {
        try DetachedProcess.start(arguments.map { Array($0.utf8) }, patience: patience)
    }

    @Test("A missing program and an empty command are refused")
    func missing() {
        #expect(failure { _ = try start("no-such-program-here") } == .invalidInput)
        #expect(failure { _ = try DetachedProcess.start([], patience: .zero) } == .invalidInput)
    }

    @Test("The exit code of a program that ends is known")
    func ends() throws {
        #expect(try start("true") == .ended(0))
        #expect(try start("sh", "-c", "exit 7") == .ended(7))
        #expect(try start("sh", "-c", "kill -9 $$") == .ended(137))
    }

    @Test("A program gets no descriptor of this process, also none without close-on-exec")
    func descriptors() throws {
        let number = dup(STDERR_FILENO)
        defer { close(number) }
        #expect(number > STDERR_FILENO)
        #expect(try start("sh", "-c", "test ! -e /proc/$$/fd/\(number)") == .ended(0))
        #expect(try start("sh", "-c", "test -e /proc/$$/fd/2") == .ended(0))
    }

    @Test("A program that goes on is left running")
    func running() throws {
        let scratch = try ScratchDirectory.make()
        let pipe = scratch.path(of: "pipe")
        #expect(try CommandRun.run("mkfifo", [pipe]).code == 0)
        let outcome = try start("sh", "-c", "read -r line <\"$0\"", pipe, patience: .milliseconds(20))
        #expect(outcome == .running)
        #expect(try CommandRun.run("sh", ["-c", ": >\"$0\"", pipe], seconds: 120).code == 0)
    }

    @Test("A program has a session of its own")
    func session() throws {
        #expect(
            try start("sh", "-c", "read -r a b c d e session g </proc/$$/stat; [ $session = $$ ]")
                == .ended(0))
    }
}
