import Foundation
import TestSupport
import Testing

@Suite("Completion of names in the vault")
struct NameCompletionTests {
    private func lines(_ run: CommandRun) -> [String] { run.text.split(separator: "\n").map(String.init) }

    /// The arguments with which a shell's script asks for the last of `words`, the `argument` of a command.
    private func question(_ command: [String], _ argument: String, _ words: [String]) -> [String] {
        let line = ["coffer"] + words
        return ["---completion"] + command
            + ["--", argument, String(line.count - 1), String(line.last?.count ?? 0)] + line
    }

    private func ask(
        _ home: String, _ command: [String], _ argument: String, _ words: [String]
    ) throws -> CommandRun {
        try CommandRun.run(
            CommandRun.cofferPath, question(command, argument, words), environment: ["COFFER_HOME": home],
            seconds: 60)
    }

    private func put(_ home: CommandHome, _ service: String, _ account: String, _ more: String...) throws {
        let run = try home.run(["token", "put", service, account] + more, input: [1])
        #expect(run.code == 0, "\(run.errorText)")
    }

    @Test("Services and the accounts of the one named before, without those that a shell would expand")
    func tokens() throws {
        let home = try CommandHome(passcode: nil)
        for (service, account) in [
            ("github.com", "ada"), ("github.com", "bob@example.com"), ("example.org", "eve"),
            ("$(touch owned)", "x"), ("a b", "x"), ("aws:default", "x"), ("example.org", "`x`"),
            ("caf\u{E9}", "x"), ("cafe\u{301}", "x"),
        ] {
            try put(home, service, account)
        }
        try put(home, "github.com", "ada", "--kind", "refresh")
        let services = try ask(home.path, ["token", "get"], "positional@0", ["token", "get", ""])
        #expect(services.code == 0 && services.errors.isEmpty, "\(services.errorText)")
        let expected = ["caf\u{E9}", "cafe\u{301}", "example.org", "github.com"].map { Array($0.utf8) }
        #expect(Set(lines(services).map { Array($0.utf8) }) == Set(expected), "\(services.text)")
        for (words, accounts) in [
            (["token", "get", "github.com", ""], ["ada", "bob@example.com"]),
            (["--json", "token", "get", "--kind", "access", "example.org", ""], ["eve"]),
            (["token", "get", "none.example", ""], []), (["token", "get", ""], []),
        ] as [([String], [String])] {
            let run = try ask(home.path, ["token", "get"], "positional@1", words)
            #expect(run.code == 0 && lines(run) == accounts, "\(words): \(run.text)")
        }
    }

    @Test("--home and --user on the command line choose the vault, also where bash splits them at =")
    func otherVault() throws {
        let home = try CommandHome(passcode: nil)
        let create = ["init", "--user", "ada", "--keyring", "file", "--no-passcode"]
        #expect(try home.run(create + CommandHome.cheap).code == 0)
        try put(home, "of.ada", "a", "--user", "ada")
        try put(home, "of.all", "a")
        for (options, service) in [
            ([], "of.all"), (["--user", "ada"], "of.ada"), (["--user=ada"], "of.ada"),
            (["--user", "=", "ada"], "of.ada"),
        ] as [([String], String)] {
            let words = ["--home", home.path] + options + ["token", "get", ""]
            let run = try ask("/nonexistent", ["token", "get"], "positional@0", words)
            #expect(run.code == 0 && lines(run) == [service], "\(options): \(run.text) \(run.errorText)")
        }
        let none = try ask("/nonexistent", ["token", "get"], "positional@0", ["token", "get", ""])
        #expect(none.code == 0 && lines(none).isEmpty && none.errors.isEmpty)
    }

    @Test("Databases and stores are offered always, soups while the vault is unlocked; none is made")
    func databases() throws {
        let home = try CommandHome()
        #expect(try home("database", "query", "--vault", "notes", "--create", "CREATE TABLE t (a)").code == 0)
        for (soup, store) in [("people", "default"), ("places", "default"), ("orders", "shop")] {
            let run = try home(
                "soup", "upsert", soup, "--store", store, "--index", "n:integer",
                input: Array("{\"n\":1}".utf8))
            #expect(run.code == 0, "\(run.errorText)")
        }
        func offered(_ command: [String], _ argument: String, _ words: String...) throws -> [String] {
            lines(try ask(home.path, command, argument, command + words))
        }
        #expect(try offered(["database", "query"], "--vault", "--vault", "") == ["notes"])
        #expect(try offered(["soup", "list"], "--store", "--store", "") == ["default", "shop"])
        #expect(try offered(["soup", "list"], "--store", "--global", "--store", "").isEmpty)
        #expect(try offered(["soup", "show"], "positional@0", "").isEmpty)
        #expect(try home("unlock").code == 0)
        #expect(try offered(["soup", "show"], "positional@0", "") == ["people", "places"])
        #expect(try offered(["soup", "show"], "positional@0", "--store", "shop", "") == ["orders"])
        #expect(try offered(["soup", "show"], "positional@0", "--store", "none", "").isEmpty)
        #expect(try offered(["soup", "list"], "--store", "--store", "") == ["default", "shop"])
        #expect(try home.run(["lock"], passcode: "").code == 0)
    }

    @Test("After oauth: commands, options, their values, profiles and files, each where it fits")
    func oauth() throws {
        let home = try CommandHome(passcode: nil)
        let add = ["oauth", "profile", "add", "work", "--issuer", "https://a.org", "--client-id", "id"]
        #expect(try home.run(add).code == 0)
        func offered(_ words: String...) throws -> [String] {
            let run = try ask(home.path, ["oauth"], "positional@0", ["oauth"] + words)
            #expect(run.code == 0 && run.errors.isEmpty, "\(run.errorText)")
            return lines(run).filter { !$0.isEmpty }
        }
        let commands = try offered("")
        #expect(commands.contains("login") && commands.contains("help") && !commands.contains("work"))
        for words in [["profile", ""], ["--json", "profile", ""], ["help", "profile", ""]] {
            let run = try ask(home.path, ["oauth"], "positional@0", ["oauth"] + words)
            #expect(lines(run).contains("import") && !lines(run).contains("work"), "\(run.text)")
        }
        #expect(try offered("login", "") == ["work"])
        #expect(try offered("profile", "show", "--home", home.path, "") == ["work"])
        #expect(try offered("login", "work", "").isEmpty)
        #expect(try offered("profile", "add", "").isEmpty)
        let options = try offered("login", "--")
        #expect(options.contains("--device") && options.contains("--home"), "\(options)")
        #expect(try !offered("token", "--").contains("--on-terminal"))
        let formats = ["raw", "header", "json", "xoauth2", "oauthbearer", "kubernetes"]
        #expect(try offered("token", "work", "--format", "") == formats)
        #expect(try offered("token", "work", "--format", "=") == formats)
        #expect(try offered("token", "work", "--format", "=", "j") == formats)
        #expect(try offered("token", "work", "--format=") == formats.map { "--format=" + $0 })
        #expect(try offered("profile", "update", "work", "--policy", "").contains("eachStart"))
        #expect(try offered("profile", "update", "work", "--proxy", "") == ["none", "environment"])
        #expect(try offered("token", "--account", "").isEmpty)
        let file = try home.file("servers.xml", [])
        for words in [["profile", "import"], ["profile", "update", "work", "--ca-file"]] {
            let line = ["oauth"] + words + [String(file.dropLast(3))]
            let run = try ask(home.path, ["oauth"], "positional@0", line)
            #expect(lines(run) == [file], "\(run.text)")
        }
    }

    @Test("After a command that opens databases: commands, options, values, names and files")
    func databaseCommands() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("database", "query", "--vault", "notes", "--create", "CREATE TABLE t (a)").code == 0)
        let upsert = ["soup", "upsert", "people", "--index", "n:integer"]
        #expect(try home.run(upsert, input: Array("{\"n\":1}".utf8)).code == 0)
        let stored = try home.file("letter", [1])
        _ = try home.add(stored)
        func offered(_ words: String...) throws -> [String] {
            let command = try #require(words.first { !$0.hasPrefix("--") })
            let run = try ask(home.path, [command], "positional@0", words)
            #expect(run.code == 0 && run.errors.isEmpty, "\(run.errorText)")
            return lines(run).filter { !$0.isEmpty }
        }
        #expect(try Set(offered("database", "")).isSuperset(of: ["query", "convert", "list", "remove"]))
        #expect(try Set(offered("--json", "soup", "")).isSuperset(of: ["list", "upsert"]))
        #expect(try offered("backup", "").contains("restore"))
        #expect(try offered("database", "query", "--").contains("--key-hex-fd"))
        #expect(try offered("database", "query", "--codec", "") == ["gcm1", "sqlcipher4", "sqlcipher3"])
        #expect(try offered("database", "query", "--vault", "") == ["notes"])
        #expect(try offered("database", "query", "--vault", "=") == ["notes"])
        #expect(try offered("database", "rm", "--vault=") == ["--vault=notes"])
        #expect(try offered("soup", "list", "--store", "") == ["default"])
        #expect(try offered("soup", "show", "") == ["people"])
        #expect(try offered("soup", "show", "--store", "default", "p") == ["people"])
        #expect(try offered("soup", "show", "--store", "none", "").isEmpty)
        #expect(try offered("reclass", "") == ["letter"])
        #expect(try offered("reclass", "letter", "") == ["letter"])
        #expect(try offered("reclass", "--class", "").contains("afterFirstUnlock"))
        #expect(try offered("backup", "verify", String(stored.dropLast(3))) == [stored])
        // Also by the scripts of earlier releases.
        let older = try ask(home.path, ["soup", "show"], "positional@0", ["soup", "show", ""])
        #expect(older.code == 0 && lines(older) == ["people"], "\(older.text)")
    }

    @Test("A locked vault offers nothing and asks nothing, also on a terminal")
    func locked() throws {
        let home = try CommandHome()
        try put(home, "github.com", "ada")
        let question = question(["token", "get"], "positional@0", ["token", "get", ""])
        let run = try ask(home.path, ["token", "get"], "positional@0", ["token", "get", ""])
        #expect(run.code == 0 && lines(run).isEmpty && run.errors.isEmpty, "\(run.errorText)")
        let typed = try TerminalRun.run(
            ["2468"], [CommandRun.cofferPath] + question, environment: ["COFFER_HOME": home.path])
        #expect(typed.code == 0 && typed.prompts == 0, "\(typed.shown)")
        #expect(typed.shown.allSatisfy { $0.isNewline }, "\(typed.shown)")
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
    }

    @Test("A completion that waits ends at its deadline, also with the alarm ignored or blocked")
    func deadline() throws {
        let home = try CommandHome(passcode: nil)
        let script = """
            import fcntl, os, signal, subprocess, sys
            lock = os.open(sys.argv[1] + "/lock", os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_EX)
            def ignore(): signal.signal(signal.SIGALRM, signal.SIG_IGN)
            def block(): signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            def neither(): pass
            starts = (ignore, block, neither)
            runs = [subprocess.Popen(sys.argv[2:], preexec_fn=start) for start in starts]
            print(*[run.wait() for run in runs])
            """
        let words = question(["token", "get"], "positional@0", ["token", "get", ""])
        let run = try CommandRun.run(
            "python3", ["-c", script, home.path, CommandRun.cofferPath] + words,
            environment: ["COFFER_HOME": home.path])
        // The wait for the lock alone would end after ten seconds, with code 0.
        #expect(run.code == 0 && run.text == "9 9 9\n", "\(run.text) \(run.errorText)")
    }

    @Test("bash completes services, accounts, soups and databases, and runs nothing that a name contains")
    func bash() throws {
        let home = try CommandHome(passcode: nil)
        for service in ["github.com", "gitlab.com", "$(touch owned)"] { try put(home, service, "ada") }
        let upsert = ["soup", "upsert", "people", "--index", "n:integer"]
        #expect(try home.run(upsert, input: Array("{\"n\":1}".utf8)).code == 0)
        #expect(try home("database", "query", "--vault", "notes", "--create", "CREATE TABLE t (a)").code == 0)
        let script = """
            cd "$2" && PATH="${1%/*}:$PATH" && export COFFER_HOME="$3"
            source /dev/stdin <<<"$(coffer --generate-completion-script bash)"
            complete_word() {
                COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
                COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
                _coffer coffer "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                printf '%s\\n' "${COMPREPLY[@]}" | sort
            }
            for command in get put remove rename copy refresh accept reject; do
                complete_word coffer token $command gi
                complete_word coffer token $command github.com a
            done
            for command in show query upsert remove; do complete_word coffer soup $command pe; done
            complete_word coffer database query --vault no
            complete_word coffer token get ''
            """
        let folder = home.folder.path(percentEncoded: false)
        let run = try CommandRun.run(
            "bash", ["-c", script, "bash", CommandRun.cofferPath, folder, home.path],
            environment: ["LC_ALL": "C"])
        let expected =
            (0..<8).flatMap { _ in ["github.com", "gitlab.com", "ada"] }
            + (0..<4).map { _ in "people" } + ["notes"]
        #expect(lines(run).prefix(29) == expected[...], "\(run.text) \(run.errorText)")
        #expect(!FileManager.default.fileExists(atPath: folder + "/owned"))
    }
}
