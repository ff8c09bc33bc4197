import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("Child processes that end with their parent")
struct BoundChildProcessTests {
    private func start(_ script: String, readsOutput: Bool = true) throws -> BoundChildProcess {
        try BoundChildProcess.start(
            ["/bin/sh", "-c", script].map { Array($0.utf8) }, readsOutput: readsOutput)
    }

    private func output(of process: BoundChildProcess) throws -> String {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64)
        while true {
            var span = piece.mutableSpan
            guard let count = try process.read(into: &span) else { break }
            all += piece.prefix(count)
        }
        return String(decoding: all, as: UTF8.self)
    }

    @Test("The parent writes to the child, reads its output and learns its exit code")
    func hearsAndIsHeard() throws {
        let process = try start("read line; echo \"[$line]\"; exit 7")
        try process.write(Array("a line\n".utf8).span)
        #expect(try output(of: process) == "[a line]\n")
        #expect(process.ended() == 7)
        #expect(!process.isRunning)
        // Asking again returns the same code, and no process is left to send a signal to.
        process.end()
        #expect(process.ended() == 7)
    }

    @Test("Output that the parent does not ask for is dropped")
    func whatIsNotAskedForIsDropped() throws {
        let process = try start("echo unheard; echo unheard >&2", readsOutput: false)
        #expect(try output(of: process).isEmpty)
        #expect(process.ended() == 0)
    }

    @Test("A child ended by a signal has the exit code 128 plus its number")
    func aSignalIsItsNumberAnd128() throws {
        #expect(try start("kill -TERM $$").ended() == 143)
        let process = try start("read line")
        #expect(process.isRunning)
        process.stop()
        process.end()
        #expect(process.ended() == 137)
    }

    @Test("Writing to a child that has ended is an error and no signal to the parent")
    func writingToOneThatIsGoneIsAnError() async throws {
        let process = try start("exit 0")
        #expect(process.ended() == 0)
        // A child that starts elsewhere at this moment has the pipe open until its program begins.
        #expect(await eventually { failure { try process.write([10].span) } == .inputOutput })
    }

    @Test("A name that is no program is refused")
    func whatIsNoProgramIsRefused() {
        let names: [[[UInt8]]] = [[], [Array("/nonexistent/program".utf8)], [[0x61, 0]]]
        for name in names { #expect(failure { _ = try BoundChildProcess.start(name) } == .invalidInput) }
    }
}
