import Foundation
import Glibc
import TestSupport
import Testing

@Suite("coffer run")
struct RunCommandTests {
    private static let secret = Array("s3cret\n'\"$x ü\n".utf8)

    /// A home with an access token and a refresh token.
    private func make() throws -> CommandHome {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "https://a.example/path", "ada", input: Self.secret).code == 0)
        #expect(
            try home("token", "put", "s", "a", "--kind", "refresh", input: Array("fresh".utf8)).code == 0)
        return home
    }

    private func start(_ home: CommandHome, _ options: [String], _ script: String) throws -> Helper {
        try #require(
            Helper(
                [CommandRun.cofferPath, "run", "--home", home.path, "--file", "T=s/a#refresh"] + options
                    + ["--", "sh", "-c", script]))
    }

    @Test("A file holds the token byte for byte, can be read twice and not be changed")
    func file() throws {
        let home = try make()
        let run = try home(
            "run", "--file", "KEY=https://a.example/path/ada", "--", "sh", "-c", "cat \"$KEY\"; cat \"$KEY\"")
        #expect(run.code == 0 && run.output == Self.secret + Self.secret, "\(run.errorText)")
        let path = try home("run", "--file", "KEY=s/a#refresh", "--", "sh", "-c", "echo \"$KEY\"")
        #expect(path.text.hasPrefix("/proc/self/fd/"))
        for change in ["echo more >>\"$KEY\"", "truncate -s 99 \"$KEY\"", "truncate -s 0 \"$KEY\""] {
            let run = try home(
                "run", "--file", "KEY=s/a#refresh", "--", "sh", "-c",
                "(\(change)) 2>/dev/null && exit 9; cat \"$KEY\"")
            #expect(run.code == 0 && run.text == "fresh", "\(change)")
        }
    }

    @Test("A variable holds the token and replaces one of its name; others stay")
    func variable() throws {
        let home = try make()
        let script = "printf '%s|%s|%s' \"$KEY\" \"$KEY2\" \"$(env | grep -c '^KEY=s3')\""
        let run = try home.run(
            ["run", "--env", "KEY=https://a.example/path/ada", "--", "sh", "-c", script],
            environment: ["KEY": "old", "KEY2": "stays"])
        #expect(run.code == 0 && run.output == Self.secret + Array("|stays|1".utf8), "\(run.errorText)")
        let both = try home(
            "run", "--env", "A=s/a#refresh", "--file", "B=s/a#refresh", "--", "sh", "-c",
            "printf '%s' \"$A\"; cat \"$B\"")
        #expect(both.code == 0 && both.text == "freshfresh")
    }

    @Test("The separators can be parts of a name")
    func escapes() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "a#b", "c/d%2F", input: [0x78]).code == 0)
        let run = try home("run", "--env", "X=a%23b/c%2Fd%252F", "--", "sh", "-c", "printf %s \"$X\"")
        #expect(run.code == 0 && run.text == "x", "\(run.errorText)")
    }

    @Test("The exit code is the command's; with --json it is in the one document")
    func exitCode() throws {
        let home = try make()
        for code in [0, 1, 42, 255] as [Int32] {
            let run = try home(
                "run", "--env", "X=s/a#refresh", "--json", "--", "sh", "-c", "echo noise; exit \(code)")
            #expect(run.code == code && run.json["exitCode"] as? Int == Int(code))
            #expect(run.errorText.contains("noise"))
        }
        #expect(try home("run", "--env", "X=s/a#refresh", "--", "sh", "-c", "kill -9 $$").code == 137)
        let missing = try home("run", "--env", "X=s/a#refresh", "--json", "--", "/no/such/program")
        #expect(missing.code == 127 && missing.errorCode == "invalidInput")
        let unfit = try home("run", "--env", "X=s/a#refresh", "--", home.file("plain", [1]))
        #expect(unfit.code == 126 && unfit.errorText.contains("Cannot run "), "\(unfit.errorText)")
    }

    @Test(
        "Wrong arguments run nothing",
        arguments: [
            [], ["--env", "X"], ["--env", "X=s"], ["--env", "1X=s/a#refresh"], ["--env", "X-Y=s/a#refresh"],
            ["--env", "=s/a#refresh"], ["--env", "X=s/a#fresh"], ["--env", "X=/a#refresh"],
            ["--env", "X=s/a#refresh", "--file", "X=s/a#refresh"],
            ["--env", "X=s/a#refresh", "--grace", "0"],
        ])
    func refused(_ options: [String]) throws {
        let home = try make()
        let run = try home.run(["run", "--json"] + options + ["--", "echo", "ran"])
        #expect(run.code == 64 && run.errorCode == "invalidInput" && !run.errorText.contains("ran\n"))
        #expect(try home("run", "--env", "X=s/a#refresh").code == 64)
    }

    @Test("Absent, expired and unfit tokens are told apart")
    func tokens() throws {
        let home = try make()
        #expect(try home("run", "--env", "X=s/a", "--", "true").code == 3)
        let expired = ["token", "put", "s", "old", "--expires", "2020-01-01T00:00:00Z"]
        #expect(try home.run(expired, input: [0x78]).code == 0)
        let refused = try home("run", "--env", "X=s/old", "--", "true")
        #expect(refused.code == 11 && refused.errorText.contains("--allow-expired"))
        #expect(try home("run", "--env", "X=s/old", "--allow-expired", "--", "true").code == 0)
        #expect(try home("token", "put", "s", "nul", input: [0x78, 0, 0x79]).code == 0)
        let nul = try home("run", "--env", "X=s/nul", "--", "true")
        #expect(nul.code == 64 && nul.errorText.contains("NUL"))
        let file = try home("run", "--file", "X=s/nul", "--", "sh", "-c", "cat \"$X\"")
        #expect(file.code == 0 && file.output == [0x78, 0, 0x79])
        let long = [UInt8](repeating: 0x61, count: 200_000)
        #expect(try home("token", "put", "s", "long", input: long).code == 0)
        #expect(try home("run", "--env", "X=s/long", "--", "true").code == 64)
        #expect(try home("run", "--file", "X=s/long", "--", "sh", "-c", "cat \"$X\"").output == long)
    }

    @Test("The passcode's descriptor, and every other but the token's file, stays here")
    func descriptors() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [0x78]).code == 0)
        let script = "for d in /proc/$$/fd/*; do test ${d##*/} -le 2 || readlink $d || true; done"
        // Another test's file, open at this moment without close-on-exec, would reach the command, too.
        let code = "import os, sys; os.closerange(4, 4096); os.execvp(sys.argv[1], sys.argv[1:])"
        let words = ["run", "--file", "X=s/a", "--", "sh", "-c", script]
        let run = try home.run(words, before: ["python3", "-c", code])
        let memory = run.text.split(separator: "\n").filter { $0.contains("coffer") }
        #expect(
            run.code == 0 && memory.count == 1 && memory.first?.contains("memfd") == true,
            "\(run.code) \(run.text) \(run.errorText)")
    }

    @Test("A signal is passed on, and the command decides about its exit code", arguments: [SIGTERM, SIGINT])
    func signals(_ number: Int32) throws {
        let home = try make()
        let helper = try start(
            home, [], "trap 'exit 7' TERM INT; echo ready; while :; do sleep 0.1; done")
        kill(helper.identifier, number)
        #expect(helper.end() == 7)
    }

    @Test("A signal to read settings again is passed on, and ends nothing", arguments: [SIGHUP, SIGUSR1])
    func reload(_ number: Int32) throws {
        let home = try make()
        let helper = try start(
            home, ["--grace", "1"],
            "trap 'echo again' HUP USR1; trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done")
        for _ in 0..<2 {
            kill(helper.identifier, number)
            #expect(helper.line() == "again")
        }
        kill(helper.identifier, SIGTERM)
        #expect(helper.end() == 7)
    }

    @Test("A command that ignores SIGTERM is killed after the grace")
    func stubborn() throws {
        let home = try make()
        let helper = try start(
            home, ["--grace", "1"], "trap '' TERM; echo ready; while :; do sleep 0.1; done")
        kill(helper.identifier, SIGTERM)
        #expect(helper.end() == 128 + SIGKILL)
    }

    @Test("Further signals do not extend the grace")
    func insistent() throws {
        let home = try make()
        let helper = try start(
            home, ["--grace", "1"], "trap 'echo again' TERM; echo ready; while :; do sleep 0.1; done")
        // A signal that arrives before the next sleep is answered at once, so only time bounds the answers.
        let end = ContinuousClock.now + .seconds(60)
        repeat {
            kill(helper.identifier, SIGTERM)
        } while helper.line() == "again" && .now < end
        #expect(.now < end && helper.end() == 128 + SIGKILL)
    }

    @Test("The help prefers files, and says who can read the environment")
    func help() throws {
        let text = try CommandRun.coffer("help", "run").text.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(text.contains("Prefer --file") && text.contains("every process of this user can read it"))
    }
}
