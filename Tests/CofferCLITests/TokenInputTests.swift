import Testing
import TestSupport

@Suite("Where coffer token put reads from")
struct TokenInputTests {
    @Test("A token typed at a terminal is not shown, and is stored without its newline")
    func typed() throws {
        let home = try CommandHome(passcode: nil)
        let put = ["token", "put", "s", "a", "--home", home.path]
        let run = try TerminalRun.coffer(["typed-value-7"], put)
        #expect(run.code == 0 && run.prompts == 1 && run.isQuiet && run.echoesAtEnd)
        #expect(run.shown.contains("Token: ") && !run.shown.contains("typed-value-7"))
        #expect(try home("token", "get", "s", "a").text == "typed-value-7")
    }

    @Test("A line typed with control characters stores nothing; a new passcode is asked for again")
    func controlCharacters() throws {
        let home = try CommandHome(passcode: nil)
        for answer in ["\u{1A}fg", "typed\u{1B}[A", "a\tb"] {
            let run = try TerminalRun.coffer([answer], ["token", "put", "s", "a", "--home", home.path])
            #expect(run.code == 64 && run.isQuiet && run.echoesAtEnd, "\(run.shown)")
            #expect(run.shown.contains("control character"), "\(run.shown)")
        }
        #expect(try home.status()["tokens"] as? Int == 0)
        #expect(try home("token", "put", "s", "a", input: Array("\u{1A}fg".utf8)).code == 0)
        let folder = try ScratchDirectory.make()
        let create =
            ["init", "--no-movable", "--no-recovery", "--home", folder.path(of: "home")] + CommandHome.cheap
        let made = try TerminalRun.coffer(["24\u{1A}68", "2468", "2468"], create)
        #expect(made.code == 0 && made.prompts == 3 && made.shown.contains("Try again."), "\(made.shown)")
    }

    @Test("A prompt that is stopped and continued has no echo, whatever the shell did meanwhile")
    func continued() throws {
        let home = try CommandHome(passcode: nil)
        let put = ["token", "put", "s", "a", "--home", home.path]
        let run = try TerminalRun.coffer(["^Ztyped-value-7"], put)
        #expect(run.code == 0 && run.isQuiet && run.echoesAtEnd, "\(run.shown)")
        #expect(!run.shown.contains("typed-value-7"))
        #expect(try home("token", "get", "s", "a").text == "typed-value-7")
    }

    @Test("The passcode is asked for first, then the token")
    func afterThePasscode() throws {
        let home = try CommandHome()
        let put = ["token", "put", "s", "a", "--home", home.path]
        let run = try TerminalRun.coffer(["2468", "typed-value-7"], put)
        #expect(run.code == 0 && run.prompts == 2 && run.isQuiet, "\(run.shown)")
        #expect(try home("token", "get", "s", "a").text == "typed-value-7")
    }

    @Test("An empty line, an interrupt, and a line that the terminal cuts store nothing")
    func nothingStored() throws {
        let home = try CommandHome(passcode: nil)
        let put = ["token", "put", "s", "a", "--home", home.path]
        let long = String(repeating: "t", count: 5000)
        for (answer, code, message) in [
            ("", 64, "No token was stored, because the token is empty"), ("^C", -2, ""),
            (long, 64, "a terminal passes on at most"),
        ] {
            let run = try TerminalRun.coffer([answer], put)
            #expect(run.code == code && run.isQuiet && run.echoesAtEnd, "\(run.shown)")
            #expect(message.isEmpty || run.shown.contains(message), "\(run.shown)")
            #expect(!run.shown.contains("tttt"))
        }
        #expect(try home.status()["tokens"] as? Int == 0)
        let most = String(repeating: "t", count: 4000)
        #expect(try TerminalRun.coffer([most], put).code == 0)
        #expect(try home("token", "get", "s", "a").text == most)
    }

    @Test("A passcode file of Windows opens the vault, and sets the same passcode")
    func windowsFile() throws {
        let home = try CommandHome()
        for line in ["2468\r\n", "2468\r\nrest"] {
            let run = try CommandRun.coffer(
                "token", "list", "--home", home.path, "--passcode-fd", "3",
                descriptors: [3: Array(line.utf8)])
            #expect(run.code == 0, "\(run.errorText)")
        }
        let changed = try CommandRun.coffer(
            "passcode", "change", "--home", home.path, "--passcode-fd", "3", "--new-passcode-fd", "4",
            descriptors: [3: Array("2468\r\n".utf8), 4: Array("1357\r\n".utf8)])
        #expect(changed.code == 0, "\(changed.errorText)")
        #expect(try home.run(["token", "list"], passcode: "1357").code == 0)
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
    }

    @Test("Standard input has the passcode in its first line and the token in the rest")
    func bothOnOneDescriptor() throws {
        let home = try CommandHome()
        let put = ["token", "put", "s", "a", "--passcode-fd", "0"]
        for end in ["\n", "\r\n"] {
            let run = try home.run(put, passcode: "", input: Array("2468\(end)line\r\n\nlast\n".utf8))
            #expect(run.code == 0, "\(run.errorText)")
            #expect(try home("token", "get", "s", "a").text == "line\r\n\nlast\n")
        }
        // The same file under two numbers.
        let path = try home.file("both", Array("2468\nvalue".utf8))
        let shared = try CommandRun.run(
            "sh",
            [
                "-c", "exec \"$0\" token put s a --home \"$1\" --passcode-fd 3 3<\"$2\" <&3",
                CommandRun.cofferPath, home.path, path,
            ])
        #expect(shared.code == 0, "\(shared.errorText)")
        #expect(try home("token", "get", "s", "a").text == "value")
    }

    @Test("A token where the passcode is expected costs no attempt, if nothing follows it")
    func tokenAlone() throws {
        let home = try CommandHome()
        for input in ["a-token-alone", "a-token-alone\n", ""] {
            let put = ["token", "put", "s", "a", "--passcode-fd", "0", "--json"]
            let run = try home.run(put, passcode: "", input: Array(input.utf8))
            #expect(run.code == 64 && run.errorCode == "invalidInput", "\(run.errorText)")
        }
        let status = try home.status()
        #expect(status["attemptsLeft"] as? Int == 10 && status["tokens"] as? Int == 0)
    }
}
