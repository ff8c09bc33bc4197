import CofferCommandLine
import Foundation
import Testing
import TestSupport

@Suite("Commands that are read without the parser: they mean what the parser would read")
struct SimpleCommandTests {
    private static let flags = ["--allow-expired"]
    private static let valued = ["--access-key-id"]

    private static func read(_ words: [String]) -> SimpleWords? {
        SimpleWords(words, flags: flags, valued: valued)
    }

    @Test("Arguments and whole options in any order are read")
    func accepted() throws {
        let words = try #require(
            Self.read([
                "--home", "/a b", "svc", "--json", "--access-key-id", "=x", "ada", "--allow-expired",
                "--passcode-fd", "3",
            ]))
        #expect(words.arguments == ["svc", "ada"])
        #expect(words["--access-key-id"] == "=x" && words["--user"] == nil)
        #expect(words.has("--allow-expired") && !words.has("--allow-prompt"))
        let global = try #require(GlobalOptions(words))
        #expect(global.home == "/a b" && global.user == nil && global.passcodeFd == 3)
        #expect(global.json && !global.allowPrompt)
        let noWords = try #require(Self.read([]))
        let none = try #require(GlobalOptions(noWords))
        #expect(none.home == nil && none.passcodeFd == nil && !none.json)
    }

    @Test(
        "Whatever else the parser could read, or would refuse, is left to it",
        arguments: [
            ["--home"], ["--home", "--json"], ["--home", "-x"], ["--home=/a"], ["--hom", "/a"], ["-h"],
            ["--help"], ["help"], ["svc", "help"], ["--", "svc"], ["-"], ["-svc"], [""], ["--json=true"],
            ["--json", "--json"], ["--home", "/a", "--home", "/b"], ["--version"], ["--unknown"],
            ["--no-json"], ["---completion"], ["--force"], ["--json\u{301}"], ["--access-key-id"],
        ])
    func refused(_ words: [String]) { #expect(Self.read(words) == nil) }

    @Test("A descriptor that is no number is left to the parser", arguments: ["x", "3x", "99999999999"])
    func descriptor(_ text: String) throws {
        let words = try #require(Self.read(["--passcode-fd", text]))
        let global = GlobalOptions(words)
        #expect(global == nil)
    }

    /// Runs a command twice: as it is, and with an option in a form that only the parser reads.
    private static func compare(
        _ home: CommandHome, _ arguments: [String], input: String = "", code: Int32, _ said: String
    ) throws {
        let input = Array(input.utf8)
        let simple = try CommandRun.run(
            CommandRun.cofferPath, arguments + ["--home", home.path], input: input)
        let parsed = try CommandRun.run(
            CommandRun.cofferPath, arguments + ["--home=\(home.path)"], input: input)
        #expect(simple.code == code, "\(arguments): \(simple.errorText)")
        let output = simple.text + simple.errorText
        #expect(said.isEmpty || output.contains(said), "\(output)")
        #expect(simple.code == parsed.code && simple.text == parsed.text)
        #expect(simple.errorText == parsed.errorText)
    }

    @Test("Both ways give the same answers, errors and exit codes")
    func equal() throws {
        let home = try CommandHome(passcode: nil)
        try #require(home("token", "put", "svc", "ada", input: Array("the token".utf8)).code == 0)
        let old = ["token", "put", "svc", "old", "--expires", "2020-01-01T00:00:00Z"]
        try #require(home.run(old, input: Array("an old one".utf8)).code == 0)
        try #require(home("token", "put", "aws:default", "AKIA", input: Array("key".utf8)).code == 0)
        try Self.compare(home, ["token", "get", "svc", "ada"], code: 0, "the token")
        try Self.compare(home, ["token", "get", "svc", "ada", "--json"], code: 0, "valueBase64")
        try Self.compare(home, ["token", "get", "svc", "nobody"], code: 3, "nobody")
        try Self.compare(home, ["token", "get", "svc", "nobody", "--json"], code: 3, "\"absent\"")
        try Self.compare(home, ["token", "get", "svc", "old"], code: 11, "expired")
        try Self.compare(home, ["token", "get", "svc", "old", "--allow-expired"], code: 0, "an old one")
        try Self.compare(home, ["token", "get", "svc", "ada", "--user", "eve"], code: 12, "eve")
        try Self.compare(home, ["token", "get", "svc"], code: 64, "account")
        try Self.compare(home, ["token", "get", "svc", "ada", "third"], code: 64, "third")
        try Self.compare(home, ["aws-credential-process"], code: 0, "AKIA")
        try Self.compare(home, ["aws-credential-process", "--access-key-id", "B"], code: 3, "")
        try Self.compare(home, ["docker-credential", "list"], code: 0, "{")
        try Self.compare(home, ["docker-credential", "get"], input: "x.example", code: 1, "not found")
        try Self.compare(
            home, ["git-credential", "store"],
            input: "protocol=https\nhost=h.example\nusername=u\npassword=p\n\n", code: 0, "")
        try Self.compare(
            home, ["git-credential", "get"], input: "protocol=https\nhost=h.example\n\n", code: 0,
            "password=p")
        try Self.compare(home, ["git-credential", "other"], code: 0, "")
    }
}
