import Testing
import TestSupport

@Suite("Errors and usage")
struct ErrorTests {
    @Test(
        "Arguments that do not parse exit 64 and are named on standard error",
        arguments: [
            ["nonsense"], ["key"], ["key", "documented"], ["key", "documented", "--uuid"],
            ["key", "documented", "--uuid", "A", "--passcode-fd", "x"], ["crypt", "encrypt"],
            ["crypt", "encrypt", "--scheme", "aes-gcm"], ["vectors", "verify"], ["--nonsense"],
            ["key", "documented", "--uuid", "A", "--passcode-fd", "99"],
            ["key", "documented", "--uuid", "", "--json"],
        ])
    func usage(_ arguments: [String]) throws {
        let run = try CommandRun.run(CommandRun.cofferPath, arguments)
        // A command that only groups others prints its help.
        guard arguments != ["key"] else {
            #expect(run.code == 0 && run.text.contains("SUBCOMMANDS"))
            return
        }
        #expect(run.code == 64 && !run.errors.isEmpty)
        #expect(run.output.isEmpty || arguments.contains("--json"))
    }

    @Test("With --json, before or after the command, an error is one document on standard output, too")
    func documents() throws {
        let early = try CommandRun.coffer("--json", "crypt", "encrypt", "--scheme", "aes-gcm")
        let late = try CommandRun.coffer("crypt", "encrypt", "--scheme", "aes-gcm", "--json")
        for run in [early, late] {
            #expect(run.code == 64 && !run.errors.isEmpty)
            let error = run.json["error"] as? [String: Any]
            #expect(error?["code"] as? String == "invalidInput")
            #expect((error?["message"] as? String)?.isEmpty == false)
            #expect(run.json.count == 1 && error?.count == 2)
        }
        let unparsed = try CommandRun.coffer("key", "documented", "--json", "--nonsense")
        #expect((unparsed.json["error"] as? [String: Any])?["code"] as? String == "usage")
        #expect(unparsed.code == 64)
        let closed = try CommandRun.coffer(
            "crypt", "decrypt", "--scheme", "aes-gcm", "--key-hex-fd", "3", "--json",
            input: Array(repeating: 1, count: 40), descriptors: [3: Array(repeating: 0x30, count: 64)])
        #expect((closed.json["error"] as? [String: Any])?["code"] as? String == "notAuthentic")
        #expect(closed.code == 7)
    }

    @Test("An error with a remedy names it in JSON, and its sentence follows the message elsewhere")
    func remedies() throws {
        let home = try CommandHome(passcode: nil)
        let run = try home("file", "remove", "a/b", "--json")
        let error = try #require(run.json["error"] as? [String: Any], "\(run.text)")
        #expect(error["code"] as? String == "invalidInput" && error["remedy"] as? String == "listFiles")
        let message = try #require(error["message"] as? String)
        let advice = try #require(error["advice"] as? String)
        #expect(!message.contains("coffer") && advice.contains("coffer file list"))
        #expect(run.errorText == "coffer: \(message) \(advice)\n")
    }

    @Test("Help on a command that there is not is a wrong argument")
    func helpOnNothing() throws {
        for words in [["nosuch"], ["token", "nosuch"]] {
            let run = try CommandRun.run(CommandRun.cofferPath, ["help"] + words)
            #expect(run.code == 64 && run.errorText.contains("no command nosuch"), "\(run.errorText)")
        }
        for words in [[], ["token"], ["token", "put"]] {
            let run = try CommandRun.run(CommandRun.cofferPath, ["help"] + words)
            #expect(run.code == 0 && run.text.contains("USAGE"), "\(words): \(run.errorText)")
        }
        let empty = try ScratchDirectory.make()
        let none = try CommandRun.coffer("vectors", "verify", empty.path(of: "."))
        #expect(none.code == 1 && none.errorText.contains("No vector file was found"), "\(none.errorText)")
    }

    @Test("Global options may stand before the command, with and without a value of their own")
    func globalOptions() throws {
        let run = try CommandRun.coffer(
            "--home", "/nowhere", "--json", "--passcode-fd=3", "key", "documented", "--uuid", "A",
            descriptors: [3: Array("1234\n".utf8)])
        #expect(run.code == 0)
        #expect(run.json["passcodeHash"] as? String == "A6xnQhbz4Vx2HuGl4lXwZ5U2I8iziLRFnhP5eNfIRvQ=")
    }

    @Test(
        "Help is there for every command",
        arguments: [
            [], ["key"], ["key", "documented"], ["key", "pbkdf2"], ["crypt"], ["crypt", "encrypt"],
            ["crypt", "decrypt"], ["vectors"], ["vectors", "verify"],
        ])
    func help(_ command: [String]) throws {
        let run = try CommandRun.run(CommandRun.cofferPath, command + ["--help"])
        #expect(run.code == 0 && run.errors.isEmpty)
        #expect(run.text.contains("OVERVIEW: ") && run.text.contains("USAGE: "))
    }

    @Test(
        "Only commands that use a home speak of one",
        arguments: [
            (["key", "documented"], true), (["key", "pbkdf2"], false), (["crypt", "encrypt"], false),
            (["vectors", "verify"], false), (["demo"], false), (["status"], true), (["token", "get"], true),
        ])
    func home(_ command: [String], usesHome: Bool) throws {
        let run = try CommandRun.run(CommandRun.cofferPath, command + ["--help"])
        #expect(run.code == 0 && run.text.contains("--home") == usesHome && run.text.contains("--json"))
    }

    @Test("Completion is there for every shell and knows every command", arguments: ["bash", "zsh", "fish"])
    func completion(_ shell: String) throws {
        let run = try CommandRun.coffer("--generate-completion-script", shell)
        #expect(run.code == 0 && run.errors.isEmpty)
        for word in [
            "unlock", "refresh", "if-version", "passcode-fd", "git-credential", "rename", "allow-expired",
        ] {
            #expect(run.text.contains(word), "\(word)")
        }
        guard shell == "bash" else { return }
        #expect(try CommandRun.run("bash", ["-n"], input: run.output).code == 0)
    }

    @Test("The manual page has every command, and roff takes nothing in it for its own")
    func manual() throws {
        let run = try CommandRun.run(PackageRoot.path + "Scripts/man-page", [CommandRun.cofferPath])
        #expect(run.code == 0 && run.errors.isEmpty)
        for command in [
            "init", "token refresh", "file view", "wipe", "key documented", "git\\-credential",
            "database convert", "soup upsert", "backup restore", "reclass",
        ] {
            #expect(run.text.contains("\n.SS coffer \(command)\n"), "\(command)")
        }
        #expect(run.text.contains("\n.SH EXIT STATUS\n0 ok, "))
        let own = [".TH", ".SH", ".SS", ".TP", ".PP", ".B ", ".I "]
        for line in run.text.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(own.contains { line.hasPrefix($0) }, "\(line)")
        }
    }

    @Test("coffer-oauth has a manual page of its own, with every command")
    func manualOfOAuth() throws {
        let program = CommandRun.programs + "coffer-oauth"
        let run = try CommandRun.run(PackageRoot.path + "Scripts/man-page", [program])
        #expect(run.code == 0 && run.errors.isEmpty, "\(run.errorText)")
        #expect(run.text.hasPrefix(".TH COFFER-OAUTH 1\n.SH NAME\ncoffer\\-oauth \\- "))
        for command in ["login", "token", "status", "profile add", "key create"] {
            #expect(run.text.contains("\n.SS coffer oauth \(command)\n"), "\(command)")
        }
        #expect(run.text.contains("\n.SH EXIT STATUS\n0 ok, "))
    }

    @Test("The manual page ends without a word when its reader has enough")
    func manualInPart() throws {
        let script = "\"$0\" \"$1\" | head -n 1"
        let page = PackageRoot.path + "Scripts/man-page"
        let run = try CommandRun.run("sh", ["-c", script, page, CommandRun.cofferPath])
        #expect(run.text == ".TH COFFER 1\n" && run.errors.isEmpty, "\(run.errorText)")
    }

    @Test("No error contains a secret")
    func secrets() throws {
        let secret = "5ecre7-5ecre7-not-hexadecimal"
        let badKey = try CommandRun.coffer(
            "crypt", "encrypt", "--scheme", "aes-gcm", "--key-hex-fd", "3", "--json",
            descriptors: [3: Array(secret.utf8)])
        let shortKey = try CommandRun.coffer(
            "crypt", "encrypt", "--scheme", "aes-gcm", "--key-hex-fd", "3", "--json",
            descriptors: [3: Array("5ec7e75ec7e7".utf8)])
        let longLine = try CommandRun.coffer(
            "key", "documented", "--uuid", "A", "--passcode-fd", "3", "--json",
            descriptors: [3: Array(String(repeating: secret, count: 200).utf8)])
        for run in [badKey, shortKey, longLine] {
            #expect(run.code == 64)
            for text in [run.text, run.errorText] {
                #expect(!text.contains("5ecre7") && !text.contains("5ec7e7"))
            }
        }
    }
}
