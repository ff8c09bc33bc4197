import CofferBase
import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("Programs with input and output")
struct SubprocessTests {
    private func run(
        _ arguments: [String], input: [UInt8] = [], limit: Int = 1 << 21, deadline: Duration = .seconds(60),
        isCancelled: () -> Bool = { false }
    ) throws -> (code: Int32, output: [UInt8]) {
        let outcome = try Subprocess.run(
            arguments.map { Array($0.utf8) }, input: input.span, limit: limit, deadline: deadline,
            isCancelled: isCancelled)
        return (outcome.code, outcome.output.span.copied())
    }

    @Test(
        "Every byte of the input arrives, and every byte of the output returns",
        arguments: [0, 1, 4095, 4096, 4097, 65_536, 1 << 20 + 3])
    func everyByteGoesThrough(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let (code, output) = try run(["cat"], input: bytes)
        #expect(code == 0)
        #expect(output == bytes)
    }

    @Test("The exit code and the output both reach the caller")
    func givesTheExitCode() throws {
        #expect(try run(["sh", "-c", "printf x; exit 7"]) == (7, [0x78]))
        #expect(try run(["sh", "-c", "kill -9 $$"]).code == 137)
    }

    @Test("A program that does not read its input is no error, and its output counts")
    func aProgramNeedNotRead() throws {
        let long = [UInt8](repeating: 1, count: 1 << 20)
        #expect(try run(["sh", "-c", "exec <&-; printf x"], input: long) == (0, [0x78]))
        #expect(try run(["true"], input: long) == (0, []))
    }

    @Test("Output beyond the limit is refused")
    func theOutputHasALimit() throws {
        #expect(try run(["printf", "12345"], limit: 5).output.count == 5)
        #expect(failure { _ = try run(["printf", "123456"], limit: 5) } == .invalidInput)
        #expect(failure { _ = try run(["yes"], limit: 100_000) } == .invalidInput)
    }

    @Test("The deadline ends a program, even one that ignores SIGTERM")
    func theDeadlineEndsIt() {
        let deadline = Duration.milliseconds(100)
        #expect(failure { _ = try run(["sleep", "1000"], deadline: deadline) } == .timedOut)
        let stubborn = "trap '' TERM; while :; do sleep 0.05; done"
        #expect(failure { _ = try run(["sh", "-c", stubborn], deadline: deadline) } == .timedOut)
    }

    @Test("Cancellation ends the program")
    func cancellationEndsIt() {
        var asked = 0
        let error = failure {
            _ = try run(["sleep", "1000"]) {
                asked += 1
                return asked > 2
            }
        }
        #expect(error == .cancelled)
    }

    @Test("Background processes that a program leaves are not waited for")
    func theProgramsEndIsTheEnd() throws {
        let scratch = try ScratchDirectory.make()
        let pipe = scratch.path(of: "pipe")
        #expect(try CommandRun.run("mkfifo", [pipe]).code == 0)
        let result = try run(
            ["sh", "-c", "(read -r line <\"$0\") & printf x", pipe], deadline: .seconds(120))
        #expect(result == (0, [0x78]))
        #expect(try CommandRun.run("sh", ["-c", ": >\"$0\"", pipe], seconds: 120).code == 0)
    }

    @Test("An empty command, a missing program and a directory are refused")
    func refusesWhatIsNotACommand() {
        #expect(failure { _ = try run([]) } == .invalidInput)
        #expect(failure { _ = try run(["/coffer-no-such-program"]) } == .invalidInput)
        #expect(failure { _ = try run(["/"]) } == .invalidInput)
    }
}
