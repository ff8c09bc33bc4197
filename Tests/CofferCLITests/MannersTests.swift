import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("Manners of the command")
struct MannersTests {
    @Test(
        "The help begins with everyday commands and ends with the exit codes", arguments: ["--help", "help"])
    func help(_ argument: String) throws {
        let lines = try CommandRun.coffer(argument).text.split(separator: "\n")
        func place(_ start: String) throws -> Int {
            try #require(lines.firstIndex { $0.hasPrefix(start) }, "\(start)")
        }
        let rare = try place("  keyring ")
        for name in ["init", "status", "unlock", "lock", "token", "run", "file"] {
            #expect(try place("  \(name) ") < rare, "\(name)")
        }
        let codes = try place("EXIT CODES:")
        #expect(try codes > place("  version ") && codes > place("  See 'coffer help"))
        #expect(lines[codes...].contains { $0.contains("5 wrong passcode") })
        #expect(lines.last?.hasSuffix("75 busy.") == true)
        #expect(try !CommandRun.coffer("token", "--help").text.contains("EXIT CODES"))
    }

    @Test(
        "An unknown command gets a suggestion",
        arguments: [
            (["tokn"], "coffer token"), (["stauts"], "coffer status"),
            (["unlok", "--json"], "coffer unlock"),
            (["token", "lst"], "coffer token list"), (["token", "rn"], "coffer token remove"),
            (["get", "s", "a"], "coffer token get"), (["add", "a"], "coffer file add"),
            (["ls"], "coffer token list or coffer file list"), (["help", "tokn"], "coffer token"),
            (["help", "token", "gett"], "coffer token get"), (["--json", "file", "ad"], "coffer file add"),
            (["file", "get", "x"], "coffer file cat"), (["file", "show", "x"], "coffer file cat"),
            (["token", "show"], "coffer token get"), (["soup", "get"], "coffer soup query"),
            (["token", "delete", "s", "a"], "coffer token remove"), (["soup", "del"], "coffer soup remove"),
            (["file", "cp"], "coffer file export"), (["file", "edit"], "coffer file view --writable"),
            (["database", "show"], "coffer database query"), (["open"], "coffer unlock"),
            (["edit", "x"], "coffer file view --writable"), (["set"], "coffer token put"),
            (["mv"], "coffer token rename or coffer file rename"),
            (["delete"], "coffer token remove or coffer file remove"),
        ])
    func suggestions(_ words: [String], _ expected: String) throws {
        let run = try CommandRun.run(CommandRun.cofferPath, words)
        #expect(run.code == 64 && run.errorText.contains("Did you mean \(expected)?"), "\(run.errorText)")
        #expect(words.contains("--json") ? run.errorCode == "usage" : run.output.isEmpty)
    }

    @Test("In a group of commands, the error names the group and ends with its usage")
    func group() throws {
        for words in [["token", "delete"], ["--json", "token", "delete"], ["help", "token", "delete"]] {
            let run = try CommandRun.run(CommandRun.cofferPath, words)
            let message = "coffer token has no command delete. Did you mean coffer token remove?"
            let usage = "Usage: coffer token <subcommand>\n  See 'coffer token --help' for more information."
            #expect(run.code == 64 && run.errorText == "Error: \(message)\n\(usage)\n", "\(run.errorText)")
        }
        let none = try CommandRun.coffer("token", "zz")
        #expect(none.code == 64 && none.errorText.contains("Run coffer token --help for a list."))
        let below = try CommandRun.coffer("help", "token", "get", "zz")
        #expect(below.errorText.contains("Usage: coffer token <subcommand>"), "\(below.errorText)")
    }

    @Test("Global options may stand between a group and its command, and a misspelt one gets a suggestion")
    func options() throws {
        let home = try CommandHome(passcode: nil)
        let run = try CommandRun.coffer("token", "--home", home.path, "--json", "list")
        #expect(run.code == 0 && run.json["tokens"] is [Any], "\(run.errorText)")
        for (words, usage) in [
            (["token", "--josn", "list"], "coffer token <subcommand>"),
            (["--josn", "token", "list"], "coffer <subcommand>"),
        ] {
            let wrong = try CommandRun.run(CommandRun.cofferPath, words)
            #expect(wrong.code == 64 && wrong.errorText.contains("'--josn'. Did you mean '--json'?"))
            #expect(wrong.errorText.contains("Usage: \(usage)\n"), "\(wrong.errorText)")
        }
        #expect(try CommandRun.coffer("token", "--version").code == 0)
        #expect(try CommandRun.coffer("token", "--nonsense").errorText.contains("Unknown option"))
    }

    @Test("A word that is near no command gets a pointer to the list, also a long or invisible one")
    func noSuggestion() throws {
        for word in ["nonsense-of-all-kinds", "zz", String(repeating: "token", count: 20_000), "\u{1B}[2J"] {
            let run = try CommandRun.run(CommandRun.cofferPath, [word])
            #expect(run.code == 64 && run.errorText.contains("Run coffer help for a list."))
            #expect(!run.errorText.contains("\u{1B}"))
        }
    }

    @Test(
        "Arguments that do not parse send nothing to the terminal that controls it",
        arguments: [
            ["token", "put", "s", "a", "--class", "\u{1B}]0;x\u{7}\u{9B}2J\u{202E}"],
            ["token", "list", "--\u{1B}[2J\u{7F}\u{9B}2J\u{202E}"],
        ])
    func quotedArguments(_ words: [String]) throws {
        let run = try CommandRun.run(CommandRun.cofferPath, words + ["--json"])
        #expect(run.code == 64 && run.errorCode == "usage" && run.errorText.contains("Usage: "))
        for text in [run.text, run.errorText] {
            let controls = text.unicodeScalars.filter { scalar in
                scalar != "\n"
                    && (scalar.properties.generalCategory == .control || scalar.properties.isBidiControl)
            }
            #expect(controls.isEmpty, "\(words)")
        }
        let message = (run.json["error"] as? [String: Any])?["message"] as? String
        #expect(message?.unicodeScalars.contains("\u{9B}") == true)
    }

    @Test("Names in JSON have escapes in place of characters that control a terminal")
    func namesInJSON() throws {
        let name = "a\u{1B}[0m\u{7F}b\u{9B}2J\u{202E}c\u{2066}d\u{200E}é"
        let home = try CommandHome(passcode: nil)
        _ = try home.add(try home.file(name, [1]))
        let run = try home("file", "list", "--json")
        let escaped = #"a\u001b[0m\u007fb\u009b2J\u202ec\u2066d\u200eé"#
        #expect(run.code == 0 && run.text.contains("\"\(escaped)\""), "\(run.errorText)")
        let files = run.json["files"] as? [[String: Any]]
        #expect(files?.first?["name"] as? String == name)
    }

    @Test(
        "Every list, remove, rename and copy has its short name",
        arguments: [
            ("token", "ls", "list"), ("token", "rm", "remove"), ("token", "mv", "rename"),
            ("token", "cp", "copy"), ("file", "ls", "list"), ("file", "rm", "remove"),
            ("file", "mv", "rename"), ("database", "ls", "list"), ("database", "rm", "remove"),
            ("soup", "ls", "list"), ("soup", "rm", "remove"), ("passcode", "rm", "remove"),
        ])
    func shortNames(_ group: String, _ short: String, _ long: String) throws {
        let help = try CommandRun.coffer("help", group, short)
        let same = try CommandRun.coffer("help", group, long)
        #expect(help.code == 0 && help.text == same.text)
        #expect(help.text.contains("USAGE: coffer \(group) \(long)"), "\(help.text)")
    }

    @Test("ls and rm are the same as list and remove")
    func aliases() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        #expect(try home("token", "ls").output == home("token", "list").output)
        #expect(try home("token", "rm", "s", "a").code == 0)
        let id = try home.add(try home.file("letter", [1]))
        #expect(try home("file", "ls", "--json").output == home("file", "list", "--json").output)
        #expect(try home("file", "rm", id).code == 0)
        let status = try home.status()
        #expect(status["tokens"] as? Int == 0 && status["files"] as? Int == 0)
        let help = try CommandRun.coffer("help", "token", "rm")
        #expect(help.code == 0 && help.text.contains("Remove a token."))
    }

    @Test("Messages name the standard streams and the program that cannot be run")
    func names() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        let script = "exec \"$0\" token get s a --home \"$1\" >/dev/full"
        let full = try CommandRun.run("sh", ["-c", script, CommandRun.cofferPath, home.path])
        #expect(full.code == 1 && full.errorText.contains("standard output"), "\(full.errorText)")
        let id = try home.add(try home.file("letter", [1]))
        for (arguments, code) in [
            (["token", "refresh", "s", "a"], 64), (["file", "view", id], 127),
            (["file", "view", id, "--writable"], 127), (["file", "view", id, "--descriptor"], 127),
        ] as [([String], Int32)] {
            let run = try home.run(arguments + ["--", "/no/such/program", "argument"])
            #expect(run.code == code && run.errorText.contains("Cannot run /no/such/program: "))
            #expect(!run.errorText.contains("argument"))
        }
        let unfit = try home("file", "view", id, "--", home.file("plain", [1]))
        #expect(unfit.code == 126, "\(unfit.errorText)")
    }

    @Test(
        "A read-only vault directory: the message says why a passcode cannot be used",
        .enabled(if: Namespace.isAvailable))
    func readOnlyDirectory() throws {
        let home = try CommandHome()
        let script = """
            mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 99
            echo 2468 | "$0" token list --passcode-fd 0 --home "$1"
            """
        let run = try Namespace.run(script, [home.path])
        #expect(run.code == 1 && run.errorText.contains("every passcode attempt"), "\(run.errorText)")
        #expect(run.errorText.contains(home.path) && run.errorText.contains("Read-only file system"))
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
    }

    @Test(
        "On a read-only mount, a vault without a passcode is read, waits for a writer, and does not change",
        .enabled(if: Namespace.isAvailable))
    func readOnlyWithoutPasscode() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "s", "a", input: Array("value".utf8)).code == 0)
        _ = try home.add(try home.file("letter", Array("content".utf8)))
        let before = try home("status", "--json").text
        let script = """
            mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 99
            for c in "token get s a" "file cat letter" "token list --json" "file list --json"; do
                "$0" $c --home "$1" >"$2"; code=$?
                echo "$(head -c 30 "$2") $code"
            done
            printf x | "$0" token put s b --home "$1"; echo $?
            "$0" token remove s a --home "$1"; echo $?
            """
        let output = try home.file("output", [])
        let run = try Namespace.run(script, [home.path, output])
        let lines = run.text.split(separator: "\n").map(String.init)
        try #require(run.code == 0 && lines.count == 6, "\(run.text) \(run.errorText)")
        #expect(lines[0] == "value 0" && lines[1] == "content 0", "\(run.errorText)")
        #expect(lines[2].hasPrefix("{\"tokens\":[{") && lines[3].hasPrefix("{\"files\":[{"))
        #expect(lines[4...5] == ["1", "1"])
        #expect(run.errorText.components(separatedBy: "every change").count == 3, "\(run.errorText)")
        #expect(try home("status", "--json").text == before)
    }

    @Test(
        "On a read-only mount, keys that unlock cached open a vault with a passcode for reading",
        .enabled(if: Namespace.isAvailable && KernelKeyring.isAvailable))
    func readOnlyWithCachedKeys() throws {
        let folder = try ScratchDirectory.make()
        let script = """
            cd "$1"; printf '2468\\n' >p
            "$0" init --home v --keyring file --kdf-memory 8 --kdf-passes 2 \\
                --passcode-fd 3 3<p >out || exit 98
            printf value | "$0" token put s a --home v --passcode-fd 3 3<p >out || exit 97
            "$0" unlock --home v --passcode-fd 3 3<p || exit 96
            mount --bind v v && mount -o remount,ro,bind v || exit 99
            "$0" token get s a --home v </dev/null; echo " $?"
            """
        let run = try Namespace.run(script, [folder.path(of: ".")])
        #expect(run.code == 0 && run.text == "value 0\n", "\(run.text) \(run.errorText)")
    }
}
