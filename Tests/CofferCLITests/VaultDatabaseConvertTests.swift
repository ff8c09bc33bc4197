import Foundation
import TestSupport
import Testing

/// `coffer database convert --vault`: a database whose key the vault keeps, as a file of its own.
@Suite("coffer database convert --vault")
struct VaultDatabaseConvertTests {
    private let key = Array(String(repeating: "0a", count: 32).utf8)

    private func scene() throws -> CommandHome {
        let home = try CommandHome()
        let sql = "CREATE TABLE t (x); INSERT INTO t VALUES ('canary 7')"
        let made = try home.run(["database", "query", "--vault", "notes", "--create", sql])
        try #require(made.code == 0, "\(made.errorText)")
        return home
    }

    private func convert(
        _ home: CommandHome, _ target: String, to format: String, _ more: String..., key: [UInt8]? = nil
    ) throws -> CommandRun {
        let words = ["database", "convert", "--vault", "notes", "--home", home.path, "--passcode-fd", "3"]
        return try CommandRun.run(
            CommandRun.cofferPath, words + [target, "--to", format] + more,
            descriptors: [3: Array("2468".utf8), 4: key ?? self.key])
    }

    private func target(_ home: CommandHome) -> String {
        home.folder.appending(path: "out.db").path(percentEncoded: false)
    }

    @Test("A plain file for SQLite, that only this user may read")
    func plain() throws {
        let home = try scene()
        let target = target(home)
        let run = try convert(home, target, to: "plain", "--json")
        #expect(run.code == 0, "\(run.errorText)")
        #expect(run.json["format"] as? String == "plain" && run.json["target"] as? String == target)
        let code =
            "import sqlite3, sys\n"
            + "print(sqlite3.connect(sys.argv[1]).execute('SELECT x FROM t').fetchall())"
        #expect(try CommandRun.run("python3", ["-c", code, target]).text == "[('canary 7',)]\n")
        let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try convert(home, target, to: "plain").code == 13)
    }

    @Test("A file under a key of its own", arguments: ["gcm1", "sqlcipher4"])
    func encrypted(format: String) throws {
        let home = try scene()
        let target = target(home)
        let run = try convert(home, target, to: format, "--new-key-hex-fd", "4")
        #expect(run.code == 0, "\(run.errorText)")
        let query = ["database", "query", "--codec", format, "--key-hex-fd", "3", target, "SELECT x FROM t"]
        #expect(
            try CommandRun.run(CommandRun.cofferPath, query, descriptors: [3: key]).text == "canary 7\n")
        #expect(try Data(contentsOf: URL(filePath: target)).range(of: Data("canary".utf8)) == nil)
    }

    @Test("With a wrong passcode, name, target, or number of keys, nothing is written")
    func refused() throws {
        let home = try scene()
        let target = target(home)
        let line = ["database", "convert", target, "--to", "plain", "--vault"]
        #expect(try home.run(line + ["notes"], passcode: "1357").code == 5)
        let absent = try home.run(line + ["letters"])
        #expect(absent.code == 3 && absent.errorText.contains("no database"), "\(absent.errorText)")
        #expect(try home.run(line + ["../notes"]).errorText.contains("A database's name"))
        #expect(try home.run(["database", "list"], passcode: "").text.split(separator: "\n").count == 2)
        #expect(try convert(home, target, to: "gcm1").errorText.contains("--new-key-hex-fd"))
        #expect(try convert(home, target, to: "plain", "--new-key-hex-fd", "4").code == 64)
        #expect(try convert(home, target, to: "gcm1", "--key-hex-fd", "4").code == 64)
        #expect(try home.run(line + ["notes", "--from", "plain"]).code == 64)
        #expect(try home.run(line + ["notes", "another"]).code == 64)
        #expect(try home.run(["database", "convert", "--vault", "notes", "--to", "plain"]).code == 64)
        #expect(!FileManager.default.fileExists(atPath: target))
        let inside = home.path + "/vault/out.db"
        #expect(try convert(home, inside, to: "plain").code == 11)
        #expect(!FileManager.default.fileExists(atPath: inside))
    }

    @Test("A journal or a WAL of another database beside the target is refused, not played back")
    func foreignLog() throws {
        let home = try scene()
        let target = target(home)
        let code = """
            import os, sqlite3, sys
            c = sqlite3.connect(sys.argv[1])
            c.execute("PRAGMA journal_mode = WAL")
            c.execute("CREATE TABLE t (x)")
            c.execute("INSERT INTO t VALUES ('another')")
            c.commit()
            os._exit(0)
            """
        #expect(try CommandRun.run("python3", ["-c", code, target]).code == 0)
        try FileManager.default.removeItem(atPath: target)
        try FileManager.default.removeItem(atPath: target + "-shm")
        let log = try Data(contentsOf: URL(filePath: target + "-wal"))
        #expect(log.count > 4096)
        for (format, more) in [("plain", []), ("gcm1", ["--new-key-hex-fd", "4"])] {
            let words = [
                "database", "convert", "--vault", "notes", "--home", home.path, "--passcode-fd", "3",
            ]
            let run = try CommandRun.run(
                CommandRun.cofferPath, words + [target, "--to", format] + more,
                descriptors: [3: Array("2468".utf8), 4: key])
            #expect(run.code == 13 && run.errorText.contains(target + "-wal"), "\(run.errorText)")
        }
        #expect(!FileManager.default.fileExists(atPath: target))
        #expect(try Data(contentsOf: URL(filePath: target + "-wal")) == log)
    }

    @Test("VACUUM INTO makes a copy that opens only in the place of the database, and says so")
    func vacuumInto() throws {
        let home = try scene()
        let target = target(home)
        let query = ["database", "query", "--vault", "notes"]
        let run = try home.run(query + ["VACUUM INTO '\(target)'"])
        let advice = "coffer database convert --vault"
        #expect(run.code == 0 && run.errorText.contains(advice), "\(run.errorText)")
        #expect(try Data(contentsOf: URL(filePath: target)).range(of: Data("canary".utf8)) == nil)
        #expect(try home.run(query + ["VACUUM"]).errorText.isEmpty)
    }

    @Test("status counts the databases of a vault, but not its soup stores")
    func status() throws {
        let home = try scene()
        #expect(try home.status()["databases"] as? Int == 1)
        let soup = try home.run(
            ["soup", "upsert", "people", "--index", "Name:string"], input: Array("{\"Name\":\"Ada\"}".utf8))
        #expect(soup.code == 0, "\(soup.errorText)")
        #expect(try home.status()["databases"] as? Int == 1)
        #expect(try home.run(["database", "remove", "--vault", "notes", "--yes"], passcode: "").code == 0)
        #expect(try home.status()["databases"] as? Int == 0)
        // Where the databases cannot be listed, the status still tells the rest.
        let folder = home.path + "/vault/soups"
        try FileManager.default.removeItem(atPath: folder)
        #expect(try CommandRun.run("ln", ["-s", "soups", folder]).code == 0)
        let status = try home.status()
        #expect(status["databases"] is NSNull && status["state"] as? String == "locked")
    }
}
