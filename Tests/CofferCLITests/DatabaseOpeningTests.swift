import Foundation
import TestSupport
import Testing

/// Why a database cannot be opened, in words that say what to do; each by its exit code.
@Suite("coffer database: opening")
struct DatabaseOpeningTests {
    private let key = Array(String(repeating: "0a", count: 32).utf8)

    /// Root passes by the modes of files as long as it has these capabilities.
    private static let ordinarily =
        getuid() == 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : []

    private func database(_ arguments: [String], ordinarily: Bool = false) throws -> CommandRun {
        let prefix = ordinarily ? Self.ordinarily : []
        let line = prefix + [CommandRun.cofferPath, "database"] + arguments + ["--key-hex-fd", "3"]
        return try CommandRun.run(line[0], Array(line[1...]), descriptors: [3: key])
    }

    private func query(
        _ path: String, _ sql: String, _ more: String..., ordinarily: Bool = false
    ) throws -> CommandRun {
        try database(["query", "--codec", "gcm1"] + more + [path, sql], ordinarily: ordinarily)
    }

    private func makeDatabase(_ path: String, journal: String = "delete") throws {
        let made = try query(
            path, "PRAGMA journal_mode = \(journal); CREATE TABLE t (x); INSERT INTO t VALUES (1)",
            "--create")
        #expect(made.code == 0, "\(made.errorText)")
    }

    private func expect(
        _ run: CommandRun, _ code: Int32, _ words: String, at location: SourceLocation = #_sourceLocation
    ) {
        #expect(run.code == code, "\(run.errorText)", sourceLocation: location)
        #expect(run.errorText.contains(words), "\(run.errorText)", sourceLocation: location)
    }

    @Test("Where a name on the way is missing, the answer names it")
    func missing() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "no") + "/a.db"
        expect(
            try query(path, "SELECT 1", "--create"), 3,
            "The directory \(scratch.path(of: "no")) does not exist")
        #expect(!FileManager.default.fileExists(atPath: scratch.path(of: "no")))
        let convert = ["convert", "--from", "gcm1", "--to", "gcm1", path, scratch.path(of: "b.db")]
        expect(try database(convert), 3, "does not exist. Create it first.")
        let long = scratch.path(of: String(repeating: "a", count: 200))
        var folder = long
        for _ in 0..<2 { folder += "/" + String(repeating: "a", count: 200) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        expect(try query(folder + "/a.db", "SELECT 1", "--create"), 64, "bytes")
    }

    @Test("A database that may not be read or written is named so and stays as it was")
    func modes() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        try makeDatabase(path)
        #expect(try CommandRun.run("chmod", ["000", path]).code == 0)
        expect(try query(path, "SELECT x FROM t", ordinarily: true), 1, "may not read")
        let convert = ["convert", "--from", "gcm1", "--to", "gcm1", path, scratch.path(of: "b.db")]
        expect(try database(convert, ordinarily: true), 1, "may not read")
        #expect(try CommandRun.run("chmod", ["600", path]).code == 0)
        #expect(try query(path, "SELECT x FROM t").text == "1\n")
        let folder = scratch.path(of: "archive")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try makeDatabase(folder + "/wal.db", journal: "wal")
        let before = try Data(contentsOf: URL(filePath: folder + "/wal.db"))
        #expect(try CommandRun.run("chmod", ["500", folder]).code == 0)
        defer { _ = try? CommandRun.run("chmod", ["700", folder]) }
        expect(
            try query(folder + "/wal.db", "SELECT x FROM t", ordinarily: true), 1, "Copy the database")
        let other = ["convert", "--from", "gcm1", "--to", "gcm1", folder + "/wal.db"]
        expect(
            try database(other + [scratch.path(of: "c.db")], ordinarily: true), 1, "Copy the database")
        expect(
            try query(folder + "/new.db", "SELECT 1", "--create", ordinarily: true), 3, "none can be created")
        #expect(try Data(contentsOf: URL(filePath: folder + "/wal.db")) == before)
        // The advice holds.
        let copy = scratch.path(of: "copy.db")
        try before.write(to: URL(filePath: copy))
        #expect(try query(copy, "SELECT x FROM t", ordinarily: true).text == "1\n")
    }

    @Test(
        "A journal or a WAL that may not be read or written is named, and stays",
        arguments: ["delete", "wal"])
    func companions(journal: String) throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        try makeDatabase(path, journal: journal)
        let beside = path + (journal == "wal" ? "-wal" : "-journal")
        try Data("of a program that runs".utf8).write(to: URL(filePath: beside))
        for mode in ["000", "444"] {
            #expect(try CommandRun.run("chmod", [mode, beside]).code == 0)
            let run = try query(path, "INSERT INTO t VALUES (2)", ordinarily: true)
            expect(run, 1, "may not read and write \(beside)")
            let convert = ["convert", "--from", "gcm1", "--to", "gcm1", path, scratch.path(of: "b.db")]
            // Reading is enough for a WAL.
            if mode == "000" || journal == "delete" {
                expect(try database(convert, ordinarily: true), 1, "may not read and write \(beside)")
            }
            let left = try Data(contentsOf: URL(filePath: beside))
            #expect(left == Data("of a program that runs".utf8))
        }
        #expect(try FileManager.default.removeItem(atPath: beside) == ())
        #expect(try query(path, "SELECT x FROM t").text == "1\n")
    }

    @Test("A file that is no database is not called one in another format, nor is the key blamed")
    func noDatabase() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a")
        try Data((0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 3) }).write(
            to: URL(filePath: path))
        expect(try query(path, "SELECT 1"), 7, "it is not a database that Coffer can read")
        try Data("a note".utf8).write(to: URL(filePath: path))
        let short = try database(["query", "--codec", "sqlcipher4", path, "SELECT 1"])
        expect(short, 7, "shorter than the first page")
        // It could be a whole database with smaller pages.
        expect(short, 7, "has smaller pages")
        expect(short, 7, "coffer help database")
        try Data("COFFERDB".utf8 + [2, 1, 2]).write(to: URL(filePath: path))
        #expect(try query(path, "SELECT 1").code == 7)
        // The database of another version of SQLCipher cannot be told from one under another key.
        let other = scratch.path(of: "b.db")
        let create = ["query", "--codec", "sqlcipher4", "--create", other, "CREATE TABLE t (x)"]
        #expect(try database(create).code == 0)
        expect(
            try database(["query", "--codec", "sqlcipher3", other, "SELECT 1"]), 7, "coffer help database")
        expect(try query(other, "SELECT 1"), 7, "specify the format sqlcipher4")
    }

    @Test("What to do with a plain database is said, and which options a conversion needs")
    func plainSource() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "plain.db")
        let code =
            "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n"
            + "c.execute('CREATE TABLE t (x)')\nc.commit()\n"
        #expect(try CommandRun.run("python3", ["-c", code, path]).code == 0)
        expect(try query(path, "SELECT 1"), 11, "coffer database convert with --from plain")
        let convert = ["convert", path, scratch.path(of: "b.db"), "--to", "gcm1"]
        expect(try database(convert), 64, "Specify the source's format with --from")
        expect(try database(["convert", path, "--from", "plain", "--to", "gcm1"]), 64, "the file to create")
    }

    @Test("An encrypted database is no plain one, and the answer does not blame the key")
    func plainOfEncrypted() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        try makeDatabase(path)
        let target = scratch.path(of: "b.db")
        let run = try database(["convert", "--from", "plain", "--to", "gcm1", path, target])
        expect(run, 7, "not a plain database")
        #expect(!FileManager.default.fileExists(atPath: target))
    }

    @Test("No new database takes the name of a file beside another", arguments: ["-journal", "-wal", "-shm"])
    func namesBeside(suffix: String) throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        try makeDatabase(path)
        let beside = path + suffix
        for target in ["gcm1", "plain"] {
            let convert = ["convert", "--from", "gcm1", "--to", target, path, beside]
            expect(try database(convert), 64, "file beside another database")
        }
        #expect(try query(path, "VACUUM INTO '\(beside)'").code != 0)
        expect(try query(beside, "SELECT 1", "--create"), 64, "file beside another database")
        #expect(!FileManager.default.fileExists(atPath: beside))
        #expect(try query(path, "SELECT x FROM t").text == "1\n")
        // A name is not refused for its ending, nor a database that has it.
        let lone = scratch.path(of: "b.db") + suffix
        try makeDatabase(lone)
        try Data("notes".utf8).write(to: URL(filePath: scratch.path(of: "b.db")))
        #expect(try query(lone, "SELECT x FROM t").text == "1\n")
    }

    @Test("A new database removes no file that has the name of its journal or WAL and is none")
    func strangersBeside() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        try makeDatabase(path)
        for suffix in ["-journal", "-wal"] {
            let new = scratch.path(of: "new\(suffix).db")
            try makeDatabase(new + suffix)
            let convert = ["convert", "--from", "gcm1", "--to", "gcm1", path, new]
            expect(try query(new, "CREATE TABLE t (x)", "--create"), 13, "Move that file")
            expect(try database(convert), 13, "Move that file")
            #expect(try query(path, "VACUUM INTO '\(new)'").code != 0)
            #expect(!FileManager.default.fileExists(atPath: new))
            // An empty file becomes a database, too.
            try Data().write(to: URL(filePath: new))
            expect(try query(new, "CREATE TABLE t (x)", "--create"), 13, "Move that file")
            #expect(try query(new + suffix, "SELECT x FROM t").text == "1\n")
            // Nor is an empty file beside a database taken for a new one.
            try Data().write(to: URL(filePath: path + suffix))
            expect(try query(path + suffix, "CREATE TABLE t (x)", "--create"), 64, "file beside")
            #expect(try query(path, "SELECT x FROM t").text == "1\n")
        }
    }

    @Test("Without --create nothing is made, not behind a link nor in an empty file")
    func noCreation() throws {
        let scratch = try ScratchDirectory.make()
        let link = scratch.path(of: "link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "nowhere")
        expect(try query(link, "CREATE TABLE t (x)"), 3, "There is no database")
        let empty = scratch.path(of: "empty.db")
        try Data().write(to: URL(filePath: empty))
        expect(try query(empty, "CREATE TABLE t (x)"), 3, "is empty")
        #expect(try scratch.names() == ["empty.db", "link.db"])
        #expect(try Data(contentsOf: URL(filePath: empty)).isEmpty)
        try makeDatabase(empty)
        #expect(try query(empty, "SELECT x FROM t").text == "1\n")
        try makeDatabase(link)
        #expect(try query(link, "SELECT x FROM t").text == "1\n")
    }

    @Test("A query says the reason why there is no database for it")
    func reasons() throws {
        let scratch = try ScratchDirectory.make()
        let folder = scratch.path(of: "closed")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try makeDatabase(folder + "/a.db")
        #expect(try CommandRun.run("chmod", ["000", folder]).code == 0)
        defer { _ = try? CommandRun.run("chmod", ["700", folder]) }
        expect(try query(folder + "/a.db", "SELECT 1", ordinarily: true), 1, "may not enter")
        let missing = scratch.path(of: "no")
        expect(try query(missing + "/a.db", "SELECT 1"), 3, "The directory \(missing) does not exist")
        let long = scratch.path(of: String(repeating: "a", count: 260))
        expect(try query(long, "SELECT 1"), 64, "name")
        expect(try query(long, "SELECT 1", "--create"), 64, "name")
        let old = try database(
            ["query", "--codec", "sqlcipher3", "--create", scratch.path(of: "old.db"), "SELECT 1"])
        expect(old, 11, "sqlcipher3 format is read-only")
    }

    private static let hasSQLCipher3: Bool = {
        let run = try? CommandRun.run("sqlcipher", [":memory:", "PRAGMA cipher_version"])
        return run?.code == 0 && run?.text.hasPrefix("3.") == true
    }()

    @Test(
        "Writing to a SQLCipher 3 database: the answer says that the format is read-only",
        .enabled(if: hasSQLCipher3, "the command sqlcipher 3 is not here"))
    func readOnlyFormat() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        let sql = "PRAGMA key = \"x'\(String(decoding: key, as: UTF8.self))'\"; CREATE TABLE t (x);"
        #expect(try CommandRun.run("sqlcipher", [path, sql]).code == 0)
        let insert = ["query", "--codec", "sqlcipher3", path, "INSERT INTO t VALUES (1)"]
        expect(try database(insert), 1, "The format sqlcipher3 is read-only. Convert the database")
    }

    @Test("Rows without a column print nothing")
    func emptyRows() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        let sql = """
            PRAGMA auto_vacuum = incremental; CREATE TABLE t (x);
            INSERT INTO t VALUES (hex(zeroblob(30000))); DELETE FROM t; PRAGMA incremental_vacuum
            """
        let run = try query(path, sql, "--create")
        #expect(run.code == 0 && run.output.isEmpty, "\(run.text)")
        #expect(try query(path, "PRAGMA incremental_vacuum", "--json").text == "[]\n")
    }
}
