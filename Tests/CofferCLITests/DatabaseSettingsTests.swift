import Foundation
import TestSupport
import Testing

@Suite("coffer database with SQLCipher's settings")
struct DatabaseSettingsTests {
    private func database(_ arguments: [String], passphrase: String = "correct horse") throws -> CommandRun {
        try CommandRun.run(
            CommandRun.cofferPath, ["database"] + arguments + ["--passphrase-fd", "3"],
            descriptors: [3: Array(passphrase.utf8)])
    }

    private static let fill = "CREATE TABLE t (a); INSERT INTO t VALUES (7)"

    @Test("A database is made and read with other rounds, pages and a clear header")
    func settings() throws {
        let scratch = try ScratchDirectory.make()
        let salt = String(repeating: "07", count: 16)
        for (name, settings) in [
            ("rounds", ["--kdf-iterations", "4000"]), ("pages", ["--page-size", "1024"]),
            ("header", ["--salt-hex", salt]), ("header48", ["--salt-hex", salt, "--clear-header", "48"]),
        ] {
            let path = scratch.path(of: name)
            let query = ["query", path, "--codec", "sqlcipher4"]
            let made = try database(query + settings + ["--create", Self.fill])
            #expect(made.code == 0, "\(name): \(made.errorText)")
            #expect(try database(query + settings + ["SELECT a FROM t"]).text == "7\n", "\(name)")
            let other = try database(query + ["SELECT a FROM t"])
            #expect(other.code != 0, "\(name)")
            guard name.hasPrefix("header") else { continue }
            let text = other.errorText
            #expect(text.contains("--salt-hex") && text.contains("--clear-header"), "\(text)")
            #expect(!text.contains("DatabaseKey"), "\(text)")
        }
        #expect(try Data(contentsOf: URL(filePath: scratch.path(of: "header"))).starts(with: "SQLite".utf8))
    }

    @Test("smartstore finds the settings, for a query and a conversion; a wrong key exits 7")
    func smartstore() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "store.db")
        let make = [
            "query", path, "--codec", "sqlcipher4", "--kdf-iterations", "4000", "--create", Self.fill,
        ]
        #expect(try database(make).code == 0)
        let query = ["query", path, "--profile", "smartstore", "SELECT a FROM t"]
        #expect(try database(query).text == "7\n")
        let wrong = try database(query, passphrase: "wrong")
        #expect(wrong.code == 7 && wrong.errorText.contains("SQLCipher 1"), "\(wrong.errorText)")
        let target = scratch.path(of: "new.db")
        let convert = try database(["convert", path, target, "--profile", "smartstore", "--to", "gcm1"])
        #expect(convert.code == 0, "\(convert.errorText)")
        #expect(try database(["query", target, "--codec", "gcm1", "SELECT a FROM t"]).text == "7\n")
    }

    @Test("A database that fits two settings of a profile is opened by the first, whose pages are authentic")
    func severalFit() throws {
        let scratch = try ScratchDirectory.make()
        let key = String(repeating: "07", count: 32)
        func database(_ arguments: [String], _ key: String) throws -> CommandRun {
            try CommandRun.run(
                CommandRun.cofferPath, ["database"] + arguments + ["--key-hex-fd", "3"],
                descriptors: [3: Array(key.utf8)])
        }
        // A raw key needs no rounds, so that they tell no settings apart.
        let path = scratch.path(of: "raw.db")
        #expect(try database(["query", path, "--codec", "sqlcipher4", "--create", Self.fill], key).code == 0)
        let before = try Data(contentsOf: URL(filePath: path))
        let query = ["query", path, "--profile", "smartstore", "SELECT a FROM t"]
        let found = try database(query, key)
        #expect(found.code == 0 && found.text == "7\n", "\(found.errorText)")
        let wrong = try database(query, String(repeating: "08", count: 32))
        #expect(wrong.code == 7 && wrong.text.isEmpty, "\(wrong.errorText)")
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
        // An empty file has no page that could tell.
        let empty = scratch.path(of: "empty.db")
        try Data().write(to: URL(filePath: empty))
        let nothing = try database(["query", empty, "--profile", "smartstore", "SELECT 1"], key)
        #expect(nothing.code == 3 && nothing.errorText.contains("is empty"), "\(nothing.errorText)")
        #expect(try Data(contentsOf: URL(filePath: empty)).isEmpty)
    }

    private static let hasSQLCipher3: Bool = {
        let run = try? CommandRun.run("sqlcipher", [":memory:", "PRAGMA cipher_version"])
        return run?.code == 0 && run?.text.hasPrefix("3.") == true
    }()

    @Test(
        "Databases of SQLCipher 3, with its rounds and with those of version 2",
        .enabled(if: hasSQLCipher3, "the command sqlcipher 3 is not here"), arguments: [4000, 64_000])
    func sqlcipher3(rounds: Int) throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "old.db")
        let sql = "PRAGMA key = 'correct horse'; PRAGMA kdf_iter = \(rounds); \(Self.fill);"
        #expect(try CommandRun.run("sqlcipher", [path, sql]).code == 0)
        #expect(try database(["query", path, "--profile", "smartstore", "SELECT a FROM t"]).text == "7\n")
        let two = try database(["query", path, "--profile", "sqlcipher2", "SELECT a FROM t"])
        #expect(rounds == 4000 ? two.text == "7\n" : two.code == 7)
    }

    @Test("What no database has, and what fits no other option, is refused; SQLCipher 1 is named")
    func refused() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        #expect(try database(["query", path, "--codec", "sqlcipher4", "--create", Self.fill]).code == 0)
        for options in [
            ["--codec", "sqlcipher4", "--page-size", "1000"], ["--codec", "gcm1", "--page-size", "1024"],
            ["--codec", "sqlcipher4", "--kdf-iterations", "0"],
            ["--codec", "sqlcipher4", "--salt-hex", "07"],
            ["--codec", "sqlcipher4", "--profile", "smartstore"], ["--profile", "sqlcipher9"], [],
            ["--profile", "smartstore", "--kdf-iterations", "4000"], ["--profile", "smartstore", "--create"],
            ["--codec", "sqlcipher3", "--salt-hex", String(repeating: "07", count: 16)],
        ] {
            let run = try database(["query", path] + options + ["SELECT a FROM t"])
            #expect(run.code == 64, "\(options): \(run.errorText)")
        }
        let header = ["--codec", "sqlcipher4", "--page-size", "1024", "--clear-header", "960"]
        let new = ["query", scratch.path(of: "new.db"), "--create", Self.fill] + header
        let unsalted = try database(new)
        #expect(unsalted.code == 64 && unsalted.errorText.contains("--salt-hex"), "\(unsalted.errorText)")
        let tooLong = try database(new + ["--salt-hex", String(repeating: "07", count: 16)])
        #expect(tooLong.code == 64 && tooLong.errorText.contains("16 to 928"), "\(tooLong.errorText)")
        let one = try database(["query", path, "--profile", "sqlcipher1", "SELECT a FROM t"])
        #expect(one.code == 1 && one.errorText.contains("not authenticated"))
        let plain = ["convert", path, scratch.path(of: "b"), "--from", "plain", "--to", "gcm1"]
        #expect(try database(plain + ["--page-size", "1024"]).code == 64)
        #expect(try database(["convert", path, scratch.path(of: "b"), "--to", "gcm1"]).code == 64)
        #expect(try scratch.names().count == 1)
    }
}
