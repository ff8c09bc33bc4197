import TestSupport
import Testing

@Suite("Prompts whose terminal ends, hangs up or has no echo")
struct TerminalEndTests {
    /// A program that starts its arguments with the signal of a hung-up terminal ignored, as nohup does.
    private static let withoutHangUp = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"]

    private func put(_ home: CommandHome) -> [String] {
        [CommandRun.cofferPath, "token", "put", "s", "a", "--home", home.path]
    }

    @Test("A terminal that hangs up at a prompt ends the command, and nothing is stored or counted")
    func hungUp() throws {
        let home = try CommandHome()
        for (answers, command) in [
            (["24^HUP"], put(home)), (["2468", "half^HUP"], put(home)),
            (["2468", "1357^HUP"], [CommandRun.cofferPath, "passcode", "change", "--home", home.path]),
            (
                ["2468", "1357", "13^HUP"],
                [CommandRun.cofferPath, "passcode", "change", "--home", home.path]
            ),
        ] {
            let run = try TerminalRun.run(answers, command)
            #expect(run.code == -1 && run.prompts == answers.count && run.isQuiet, "\(answers): \(run.shown)")
        }
        let status = try home.status()
        #expect(status["attemptsLeft"] as? Int == 10 && status["tokens"] as? Int == 0)
        #expect(try home("token", "list").code == 0)
    }

    @Test("A command that ignores the signal finds the terminal gone, and stores nothing")
    func ignored() throws {
        let home = try CommandHome()
        for answers in [["24^HUP"], ["2468", "half^HUP"]] {
            let run = try TerminalRun.run(answers, Self.withoutHangUp + put(home))
            #expect(run.code > 0 && run.prompts == answers.count, "\(answers): \(run.code)")
        }
        let status = try home.status()
        #expect(status["attemptsLeft"] as? Int == 10 && status["tokens"] as? Int == 0)
    }

    @Test("An init whose terminal hangs up leaves nothing that keeps the next one from making the vault")
    func initialisation() throws {
        let folder = try ScratchDirectory.make()
        let create =
            ["init", "--no-movable", "--no-recovery", "--home", folder.path(of: "home")] + CommandHome.cheap
        for answers in [["13^HUP"], ["1357", "^HUP"]] {
            #expect(try TerminalRun.coffer(answers, create).code == -1)
        }
        let made = try TerminalRun.coffer(["1357", "1357"], create)
        #expect(made.code == 0, "\(made.shown)")
        _ = try CommandRun.coffer("wipe", "--yes", "--home", folder.path(of: "home"))
    }

    @Test("The end of input at a prompt is an empty answer: refused, and nothing is stored or counted")
    func endOfInput() throws {
        let home = try CommandHome()
        for answers in [["^D"], ["2468", "^D"]] {
            let run = try TerminalRun.run(answers, put(home))
            #expect(run.code == 64 && run.prompts == answers.count, "\(answers): \(run.shown)")
            #expect(run.isQuiet && run.echoesAtEnd && run.shown.contains("coffer: "), "\(run.shown)")
        }
        let status = try home.status()
        #expect(status["attemptsLeft"] as? Int == 10 && status["tokens"] as? Int == 0)
        // Asked three times in all, not for ever.
        let change = ["passcode", "change", "--home", home.path]
        let changed = try TerminalRun.coffer(["2468", "^D", "^D", "^D", "1357", "1357"], change)
        #expect(changed.code == 64 && changed.prompts == 4, "\(changed.shown)")
        #expect(try home("token", "list").code == 0)
    }

    @Test("A terminal without echo works, and gets none from the command, however it ends")
    func withoutEcho() throws {
        let home = try CommandHome(passcode: nil)
        for (answer, code) in [("typed-value-7", 0), ("^C", -2), ("^D", 64)] {
            let run = try TerminalRun.run([answer], put(home), hasEcho: false)
            #expect(run.code == code && run.prompts == 1, "\(answer): \(run.shown)")
            #expect(run.isQuiet && !run.echoesAtEnd && !run.shown.contains("typed-value-7"), "\(run.shown)")
        }
        #expect(try home("token", "get", "s", "a").text == "typed-value-7")
    }
}
