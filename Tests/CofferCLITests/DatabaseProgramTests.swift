import Foundation
import TestSupport
import Testing

@Suite("The program of the commands that open databases")
struct DatabaseProgramTests {
    /// The companion's description of its commands that people see.
    private func described() throws -> [[String: Any]] {
        let run = try CommandRun.run(
            CommandRun.programs + "coffer-database", ["--experimental-dump-help"])
        let root = try #require(run.json["command"] as? [String: Any])
        let commands = try #require(root["subcommands"] as? [[String: Any]])
        return commands.filter {
            $0["shouldDisplay"] as? Bool != false && $0["commandName"] as? String != "help"
        }
    }

    private func names(_ commands: Any?) -> [String] {
        (commands as? [[String: Any]] ?? []).compactMap { $0["commandName"] as? String }
            .filter { $0 != "help" }
    }

    /// The words of a text, which the parser breaks into lines where it likes.
    private func words(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test(
        "Without its companion, not even one in PATH, a command says what to install, and changes nothing",
        arguments: [
            ["database", "list"], ["soup", "list"], ["backup", "verify", "file"],
            ["reclass", "--all", "--class", "whenUnlocked"], ["rotate", "--all"],
            ["--json", "database", "--help"],
            ["help", "soup", "query"],
        ])
    func alone(_ command: [String]) throws {
        let home = try CommandHome(passcode: nil)
        let copy = try home.lonelyCommand()
        let run = try CommandRun.run(
            copy, command + ["--home", home.path, "--json"],
            environment: ["PATH": CommandRun.programs + ":/usr/bin:/bin"])
        #expect(run.code == 1 && run.errorCode == "unsupported", "\(run.text)")
        #expect(run.errorText.contains("The program coffer-database is not in the directory"))
        #expect(run.errorText.contains("Install it there."), "\(run.errorText)")
    }

    @Test("What must always work needs no companion")
    func independent() throws {
        let home = try CommandHome()
        let copy = try home.lonelyCommand()
        func run(_ arguments: String..., input: [UInt8] = []) throws -> CommandRun {
            try CommandRun.run(
                copy, arguments + ["--home", home.path, "--passcode-fd", "3"], input: input,
                descriptors: [3: Array("2468\n".utf8)])
        }
        #expect(try run("token", "put", "svc", "ada", input: Array("secret".utf8)).code == 0)
        #expect(try run("token", "get", "svc", "ada").text == "secret")
        let path = try home.file("letter", Array("content".utf8))
        #expect(try run("file", "add", path).code == 0)
        #expect(try run("file", "cat", "letter").text == "content")
        #expect(try run("unlock").code == 0)
        #expect(try run("status", "--json").json["state"] as? String == "unlocked")
        #expect(try run("lock").code == 0)
        let doctor = try run("doctor", "--json")
        let checks = try #require(doctor.json["checks"] as? [[String: Any]])
        #expect(doctor.code == 0 && !checks.isEmpty)
        #expect(!checks.contains { $0["name"] as? String == "sqlite" })
        let version = try CommandRun.run(copy, ["version"])
        #expect(version.code == 0 && version.text.contains("coffer-database is not installed"))
        let document = try CommandRun.run(copy, ["version", "--json"]).json
        #expect((document["libraries"] as? [String: Any])?["SQLite"] is NSNull)
        #expect(try run("rotate").code == 0)
        #expect(try run("wipe", "--yes").code == 0)
    }

    @Test("A companion that fails is no finding about SQLite, and the rest of the report is there")
    func failing() throws {
        let home = try CommandHome(passcode: nil)
        let copy = try home.lonelyCommand()
        let companion = copy + "-database"
        for script in ["exit 3", "echo '{'", "kill -KILL $$", "echo '[]'"] {
            try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: companion))
            try #require(try CommandRun.run("chmod", ["755", companion]).code == 0)
            let doctor = try CommandRun.run(copy, ["doctor", "--json", "--home", home.path])
            let checks = try #require(doctor.json["checks"] as? [[String: Any]], "\(doctor.errorText)")
            let found = checks.filter { $0["name"] as? String == "sqlite" }
            #expect(doctor.code == 0 && checks.count > 3 && found.count == 1, "\(script)")
            #expect(found.allSatisfy { $0["status"] as? String == "unknown" }, "\(found)")
            let version = try CommandRun.run(copy, ["version"])
            #expect(version.code == 0 && version.text.contains("SQLite unknown"), "\(version.text)")
        }
    }

    @Test("doctor and version have what the companion says of SQLite")
    func sqlite() throws {
        let program = CommandRun.programs + "coffer-database"
        let report = try CommandRun.run(program, ["linked-sqlite"])
        let version = try #require(report.json["version"] as? String)
        #expect(report.code == 0 && version.hasPrefix("3."))
        #expect(try CommandRun.coffer("version").text.contains("\nSQLite \(version)\n"))
        let expected = (report.json["checks"] as? [[String: Any]] ?? []).compactMap {
            $0["message"] as? String
        }
        let home = try CommandHome(passcode: nil)
        let checks = try home("doctor", "--json").json["checks"] as? [[String: Any]] ?? []
        let found = checks.filter { $0["name"] as? String == "sqlite" }.compactMap {
            $0["message"] as? String
        }
        #expect(found == expected)
    }

    @Test("coffer knows the companion's commands by name, and says of them what it says")
    func commands() throws {
        let overview = words(try CommandRun.coffer("--help").text)
        let all = try described()
        #expect(names(all) == ["database", "soup", "backup", "reclass"])
        for command in all {
            let name = try #require(command["commandName"] as? String)
            let abstract = try #require(command["abstract"] as? String)
            #expect(overview.contains("\(name) \(abstract)"), "\(name)")
            for below in names(command["subcommands"]) {
                // The suggestion for a command without its group comes from coffer's own list.
                let run = try CommandRun.coffer(below)
                let full = "coffer \(name) \(below)"
                let others = ["list", "create", "restore", "remove", "show", "verify", "upsert"]
                #expect(run.code == 64)
                #expect(others.contains(below) || run.errorText.contains(full), "\(run.errorText)")
            }
        }
        let query = try CommandRun.coffer("query").errorText
        #expect(query.contains("Did you mean coffer database query or coffer soup query?"), "\(query)")
        let restore = try CommandRun.coffer("restore").errorText
        #expect(restore.contains("Did you mean coffer backup restore?"), "\(restore)")
    }

    @Test(
        "Help is the companion's, however it is asked for",
        arguments: [["database"], ["database", "query"], ["soup", "upsert"], ["backup"], ["reclass"]])
    func help(_ command: [String]) throws {
        let help = try CommandRun.run(CommandRun.cofferPath, command + ["--help"])
        let usage = "USAGE: coffer \(command.joined(separator: " "))"
        #expect(help.code == 0 && help.errors.isEmpty && help.text.contains(usage), "\(help.text)")
        for form in [["help"] + command, command + ["-h"]] {
            let other = try CommandRun.run(CommandRun.cofferPath, form)
            #expect(other.code == 0 && other.text == help.text, "\(form)")
        }
    }

    @Test("Unknown commands, options and missing arguments are 64, also as JSON")
    func mistakes() throws {
        let unknown = try CommandRun.coffer("database", "qury", "--json")
        #expect(unknown.code == 64 && unknown.errorCode == "usage")
        #expect(unknown.errorText.contains("Did you mean coffer database query?"), "\(unknown.errorText)")
        #expect(try CommandRun.coffer("help", "database", "qury").code == 64)
        #expect(try CommandRun.coffer("soup", "show").code == 64)
        #expect(try CommandRun.coffer("backup", "--josn").errorText.contains("Did you mean '--json'?"))
        let bare = try CommandRun.coffer("reclass", "--class", "whenUnlocked")
        #expect(bare.code == 64 && bare.errorText.contains("Specify items"), "\(bare.errorText)")
    }

    @Test("Global options may stand before the command, between a group and its command, and behind")
    func options() throws {
        let home = try CommandHome(passcode: nil)
        for words in [
            ["--json", "--home", home.path, "database", "list"],
            ["database", "--json", "--home=" + home.path, "list"],
            ["database", "list", "--home", home.path, "--json"],
        ] {
            let run = try CommandRun.run(CommandRun.cofferPath, words)
            #expect(run.code == 0 && run.text == "[]\n", "\(words): \(run.text) \(run.errorText)")
        }
    }
}
