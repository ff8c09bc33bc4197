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
            ("", 64, "The token is empty"), ("^C", -2, ""), (long, 64, "A terminal passes on at most"),
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
}
