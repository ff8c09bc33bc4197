import TestSupport
import Testing

@Suite("Pipes that end early")
struct PipeEndTests {
    /// Runs a pipeline in which `$0` is the command and `$FILE` a file; gives its output and, in the last
    /// line, the exit codes of its parts.
    private func run(_ home: CommandHome, _ pipeline: String, file: String = "") throws -> CommandRun {
        try CommandRun.run(
            "bash",
            ["-c", pipeline + "; codes=\"${PIPESTATUS[*]}\"; echo; echo \"$codes\"", CommandRun.cofferPath],
            environment: ["COFFER_HOME": home.path, "FILE": file])
    }

    @Test(
        "A reader that has enough ends the command, by the signal or with an error; nothing else changes",
        arguments: ["file cat big", "file export big -", "token get s a"])
    func output(_ command: String) throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("big", [UInt8](repeating: 0x78, count: 3 << 20))
        _ = try home.add(path)
        let value = [UInt8](repeating: 0x78, count: 1 << 20)
        #expect(try home("token", "put", "s", "a", input: value).code == 0)
        let run = try run(home, "\"$0\" \(command) | head -c 3")
        #expect(run.text == "xxx\n141 0\n" || run.text == "xxx\n1 0\n", "\(run.text) \(run.errorText)")
        #expect(!run.errorText.contains("xxx"))
        #expect(try home("file", "verify", "--all").code == 0)
        #expect(try home("token", "get", "s", "a").output == value)
        let status = try home.status()
        #expect(status["files"] as? Int == 1 && status["tokens"] as? Int == 1)
    }

    @Test("What is stored stays stored when nobody reads the answer")
    func answers() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("note", [1, 2])
        _ = try run(home, "printf value | \"$0\" token put s a | true")
        _ = try run(home, "\"$0\" file add \"$FILE\" --json | true", file: path)
        #expect(try home("token", "get", "s", "a").text == "value")
        #expect(try home("file", "cat", "note").output == [1, 2])
        #expect(try home("file", "verify", "--all").code == 0)
    }

    @Test("An input that ends before its content begins costs no attempt, and stores nothing")
    func input() throws {
        let home = try CommandHome()
        for command in [
            "token put s a --passcode-fd 0", "token list --passcode-fd 0",
            "passcode change --passcode-fd 0 --new-passcode-fd 0",
        ] {
            let run = try run(home, "true | \"$0\" \(command)")
            #expect(run.text.hasSuffix("\n0 64\n"), "\(command): \(run.text) \(run.errorText)")
        }
        let half = try run(
            home, "printf '2468\\n' | \"$0\" passcode change --passcode-fd 0 --new-passcode-fd 0")
        #expect(half.text.hasSuffix("\n0 64\n"), "\(half.text) \(half.errorText)")
        let status = try home.status()
        #expect(status["attemptsLeft"] as? Int == 10 && status["tokens"] as? Int == 0)
        #expect(try home("token", "list").code == 0)
    }
}
