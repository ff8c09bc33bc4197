import Foundation
import TestSupport
import Testing

@Suite("coffer rotate and coffer reclass")
struct RotateCommandTests {
    private func filled() throws -> (home: CommandHome, file: String) {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: Array("value".utf8)).code == 0)
        return (home, try home.add(home.file("f.txt", Array("content".utf8))))
    }

    @Test("The keys are replaced; the report and the status say so")
    func rotated() throws {
        let (home, file) = try filled()
        let run = try home("rotate", "--json")
        #expect(run.code == 0 && run.json["complete"] as? Bool == true, "\(run.errorText)")
        #expect(run.json["tokens"] as? Int == 1 && run.json["files"] as? Int == 1)
        #expect((run.json["classes"] as? [String])?.count == 5)
        #expect(try home("token", "get", "s", "a").text == "value")
        #expect(try home("file", "cat", file).text == "content")
        #expect(try home.status()["keyRotationUnfinished"] == nil)
        let advice = "coffer backup create"
        #expect(!run.errorText.contains(advice), "\(run.errorText)")
        let backup = home.folder.appending(path: "vault.age").path(percentEncoded: false)
        let recipient = "age1x3pc4wukzx9xl3dumlgajml8sd4yqqu7fwd3w0sqw8a3ljkqlycsgrn3ks"
        #expect(try home("backup", "create", backup, "--to", recipient).code == 0)
        // Earlier backups are of no use for what stays on the device, and of the same use for the rest.
        #expect(try home("rotate", "--class", "afterFirstUnlockThisDeviceOnly").errorText.contains(advice))
        #expect(!(try home("rotate", "--class", "afterFirstUnlock").errorText.contains(advice)))
        let one = try home("rotate", "--class", "whenUnlocked")
        #expect(one.text == "Keys of 0 tokens and 1 file rewrapped, old keys destroyed\n", "\(one.errorText)")
        #expect(try home("rotate", "--resume").text == "No rotation was in progress\n")
        #expect(try home("rotate", "--resume", "--all").code == 64)
    }

    private func sql(_ home: CommandHome, _ statement: String) throws -> CommandRun {
        try home("database", "query", "--vault", "notes", "--create", statement)
    }

    @Test("--all also replaces databases' own keys, --databases only those; rotate alone names the databases")
    func databases() throws {
        let (home, _) = try filled()
        #expect(try sql(home, "CREATE TABLE t (x); INSERT INTO t VALUES ('kept')").code == 0)
        let file = URL(filePath: home.path + "/vault/soups/database-notes.db")
        let first = try Data(contentsOf: file)
        let alone = try home("rotate", "--json")
        #expect(alone.code == 0 && alone.json["databasesAnOldCopyOpens"] as? [String] == ["database/notes"])
        #expect(alone.errorText.contains("coffer rotate --databases"), "\(alone.errorText)")
        #expect(try Data(contentsOf: file) == first)
        let all = try home("rotate", "--all", "--json")
        #expect(all.code == 0 && all.json["complete"] as? Bool == true, "\(all.errorText)")
        #expect(all.json["databases"] as? [String] == ["database/notes"] && all.json["files"] as? Int == 1)
        #expect((all.json["keptDatabases"] as? [Any])?.isEmpty == true)
        let second = try Data(contentsOf: file)
        #expect(second.prefix(32) != first.prefix(32))
        let text = try home("--json", "rotate", "--databases")
        #expect(
            text.code == 0 && text.json["databases"] as? [String] == ["database/notes"], "\(text.errorText)")
        #expect(text.json["complete"] == nil)
        #expect(try home("rotate", "--databases").text == "Keys of 1 database replaced\n")
        #expect(try Data(contentsOf: file).prefix(32) != second.prefix(32))
        #expect(try sql(home, "SELECT x FROM t").text == "kept\n")
        for wrong in [
            ["--all", "--databases"], ["--resume", "--databases"], ["--class", "whenUnlocked", "--all"],
        ] {
            #expect(try home.run(["rotate"] + wrong).code == 64)
        }
        #expect(try home.run(["rotate", "--databases"], passcode: "").code != 0)
    }

    @Test("A database that cannot be read is named, with the reason, and has an exit code of its own")
    func unreadableDatabase() throws {
        let (home, _) = try filled()
        #expect(try sql(home, "CREATE TABLE t (x)").code == 0)
        let file = URL(filePath: home.path + "/vault/soups/database-notes.db")
        let whole = try Data(contentsOf: file)
        var damaged = whole
        damaged[4000] ^= 1
        try damaged.write(to: file)
        let run = try home("rotate", "--all", "--json")
        let kept = try #require(run.json["keptDatabases"] as? [[String: String]], "\(run.errorText)")
        #expect(
            run.code == 75 && kept == [["name": "database/notes", "reason": "unreadable"]], "\(run.code)")
        #expect(run.json["complete"] as? Bool == true)
        #expect(run.errorText.contains("The database database/notes"), "\(run.errorText)")
        try whole.write(to: file)
        #expect(try home("rotate", "--databases").code == 0)
        #expect(try sql(home, "INSERT INTO t VALUES (1); SELECT x FROM t").text == "1\n")
    }

    @Test("Programs that write to a database beside replacements of its key lose no row")
    func besideDatabase() throws {
        let home = try CommandHome(passcode: nil)
        #expect(
            try home.run(["database", "query", "--vault", "notes", "--create", "CREATE TABLE t (x)"]).code
                == 0)
        let script = """
            set -u; end=$((SECONDS + 240))
            q() { "$0" database query --vault notes --home "$1" "$2" 2>>"$3.errors"; }
            for w in 1 2; do (
                until [ -e "$2.done" ] || [ "$SECONDS" -ge "$end" ]; do
                    q "$1" "INSERT INTO t VALUES ($w)" "$2" && echo "$w" >>"$2.rows"
                done
            ) & done
            for n in 1 2 3 4 5 6; do "$0" rotate --databases --home "$1" >>"$2.rotated" 2>&1; done
            touch "$2.done"; wait
            q "$1" "SELECT count(*) FROM t" "$2"; wc -l <"$2.rows"; cat "$2.rotated"
            """
        let run = try CommandRun.run(
            "bash", ["-c", script, CommandRun.cofferPath, home.path, home.folder.appending(path: "x").path()])
        let lines = run.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let counts = lines.prefix(2).compactMap { Int($0) }
        // A row may also be there if the command ended with an error.
        #expect(run.code == 0 && counts.count == 2 && counts[0] >= counts[1], "\(run.text)\n\(run.errorText)")
        #expect(run.text.contains("Keys of 1 database replaced"), "\(run.text)")
        #expect(try home.run(["rotate", "--databases"], passcode: nil).code == 0)
    }

    @Test("A rotation needs no more descriptors than a small limit allows")
    func fewDescriptors() throws {
        let home = try CommandHome(passcode: nil)
        let paths = try (0..<40).map { try home.file("f\($0)", [UInt8($0)]) }
        #expect(try home.run(["file", "add"] + paths).code == 0)
        // Those that the test's own process leaves open are not the command's.
        let limited = "for n in {3..99}; do eval \"exec $n>&-\"; done; ulimit -n 24; \"$0\" \"$@\""
        for command in [["rotate", "--json"], ["file", "rewrap", "--json"]] {
            let run = try home.run(command, passcode: "", before: ["/usr/bin/env", "bash", "-c", limited])
            #expect(run.code == 0, "\(run.errorText)")
            #expect((run.json["files"] ?? run.json["rewrapped"]) as? Int == 40)
        }
        #expect(try home("file", "verify", "--all").code == 0)
    }

    @Test("A file and a token that are stored beside a rotation get the new keys", arguments: [nil, "2468"])
    func beside(_ passcode: String?) throws {
        let home = try CommandHome(passcode: passcode)
        let first = try home.add(home.file("f.txt", Array("content".utf8)))
        let options = passcode.map { "--passcode-fd 3 3< <(echo \($0))" } ?? ""
        let script = """
            set -u; shopt -s nullglob;
            (
                until [ -e "$2.done" ]; do
                    echo late >"$2.late"
                    "$0" file add "$2.late" --home "$1" \(options) >>"$2.ids" || echo "add $?" >>"$2.failed"
                    printf v | "$0" token put s a --home "$1" \(options) || echo "put $?" >>"$2.failed"
                done
            ) &
            for n in 1 2 3; do "$0" rotate --home "$1" \(options) || echo "rotate $?" >>"$2.failed"; done
            touch "$2.done"; wait
            while read -r id; do "$0" file cat "$id" --home "$1" \(options); done <"$2.ids" | sort -u
            cat "$2.failed" 2>/dev/null; exit 0
            """
        let run = try CommandRun.run(
            "bash", ["-c", script, CommandRun.cofferPath, home.path, home.folder.appending(path: "x").path()])
        #expect(run.code == 0 && run.text.hasSuffix("late\n"), "\(run.text)\n\(run.errorText)")
        #expect(!run.text.contains("add") && !run.text.contains("put"), "\(run.text)\n\(run.errorText)")
        #expect(try home("file", "cat", first).text == "content")
        #expect(try home("token", "get", "s", "a").text == "v")
        #expect(try home("file", "verify", "--all").code == 0)
    }

    @Test("A named pipe among the files stops a rotation, which names it, until it is moved away")
    func pipe() throws {
        let (home, file) = try filled()
        let name = "00112233-4455-4677-8899-aabbccddeeff.coffer"
        let pipe = "\(home.path)/vault/files/\(name)"
        #expect(try CommandRun.run("mkfifo", [pipe]).code == 0)
        for _ in 0..<2 {
            let run = try home("rotate", "--json")
            #expect(run.code != 0 && run.errorText.contains(name), "\(run.errorText)")
            #expect(run.errorText.contains("Move the entry away"), "\(run.errorText)")
        }
        #expect(try home("doctor").text.contains("vault/files/\(name)"))
        #expect(try home("file", "cat", file).text == "content")
        try FileManager.default.moveItem(atPath: pipe, toPath: home.folder.appending(path: "away").path())
        let run = try home("rotate", "--json")
        #expect(run.code == 0 && run.json["complete"] as? Bool == true, "\(run.errorText)")
        #expect(try home("file", "cat", file).text == "content")
    }

    @Test("passcode change --rotate replaces both, and an old copy of the keybag opens nothing later")
    func withPasscode() throws {
        let (home, _) = try filled()
        let vault = home.path + "/vault/"
        let old = try ["keybag", "attempts"].map { ($0, try Data(contentsOf: URL(filePath: vault + $0))) }
        let run = try home.run(["passcode", "change", "--rotate", "--json"], new: "1357")
        #expect(run.code == 0 && run.json["complete"] as? Bool == true, "\(run.errorText)")
        #expect(try home.run(["token", "get", "s", "a"], passcode: "1357").text == "value")
        #expect(try home("token", "get", "s", "a").code != 0)
        for (name, bytes) in old { try bytes.write(to: URL(filePath: vault + name)) }
        let stolen = try home("token", "get", "s", "a")
        #expect(stolen.code != 0 && stolen.text.isEmpty)
    }

    @Test("A weaker class needs the passcode, and what keeps its class is listed")
    func reclassified() throws {
        let (home, file) = try filled()
        let bound = try home.file("bound", [1])
        #expect(try home("file", "add", bound, "--context", "tenant").code == 0)
        let run = try home("reclass", "--all", "--class", "whenUnlocked", "--json")
        #expect(run.code == 11 && run.json["tokens"] as? Int == 1, "\(run.errorText)")
        #expect(run.json["files"] as? Int == 1 && run.json["databases"] as? Int == 0)
        let kept = try #require(run.json["kept"] as? [[String: Any]])
        #expect(kept.map { $0["reason"] as? String } == ["contextBound"])
        #expect(try home("reclass", "bound", "--context", "tenant", "--class", "whenUnlocked").code == 0)
        let list = try home("token", "list", "--json")
        #expect((list.json["tokens"] as? [[String: Any]])?.first?["class"] as? String == "whenUnlocked")
        #expect(try home("file", "cat", file).text == "content")
        let back = try home("reclass", "s/a", file, "--class", "whenUnlockedThisDeviceOnly")
        #expect(back.text == "1 token, 1 file now in whenUnlockedThisDeviceOnly; 0 had that class already\n")
        #expect(try home("reclass", "--class", "whenUnlocked").code == 64)
        #expect(try home("reclass", "s/missing", "--class", "whenUnlocked").code != 0)
        let locked = try home.run(["reclass", "s/a", "--class", "whenUnlocked"], passcode: "")
        #expect(locked.code != 0)
    }

    @Test("init --movable and settings --movable decide the class of new items")
    func movable() throws {
        let home = try CommandHome("--movable")
        #expect(try home("token", "put", "s", "a", input: Array("v".utf8)).code == 0)
        let file = try home.add(home.file("f", [1]))
        #expect(try home("settings", "--json").json["movable"] as? Bool == true)
        let exported = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(exported?.first?["class"] as? String == "whenUnlocked")
        let files = try home("file", "list", "--json").json["files"] as? [[String: Any]]
        #expect(files?.first?["class"] as? String == "whenUnlocked" && files?.first?["id"] as? String == file)
        #expect(try home.run(["settings", "--movable", "off"], passcode: "").code == 0)
        #expect(try home.run(["settings", "--movable", "on"], passcode: "").code != 0)
        #expect(try home("settings", "--movable", "on").code == 0)
    }

    @Test("On a terminal, init asks whether new items may move", arguments: [("y", true), ("", false)])
    func question(_ answer: String, _ isMovable: Bool) throws {
        let folder = try ScratchDirectory.make()
        let home = folder.path(of: "home")
        let run = try TerminalRun.coffer(
            ["1357", "1357", answer], ["init", "--no-recovery", "--home", home] + CommandHome.cheap)
        #expect(run.code == 0 && run.prompts == 3, "\(run.shown)")
        #expect(run.shown.contains("Should a backup be able to restore"))
        let settings = try CommandRun.coffer("settings", "--json", "--home", home)
        #expect(settings.json["movable"] as? Bool == isMovable)
        _ = try CommandRun.coffer("wipe", "--yes", "--home", home)
    }
}
