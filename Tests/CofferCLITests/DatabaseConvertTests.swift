import Foundation
import TestSupport
import Testing

/// `coffer database convert`: what stays where it does not reach its end, and which keys it takes.
@Suite("coffer database convert")
struct DatabaseConvertTests {
    private let key = Array(String(repeating: "0a", count: 32).utf8)
    private let other = Array(String(repeating: "0b", count: 32).utf8)

    private func query(
        _ path: String, _ sql: String, _ more: String..., secret: [UInt8]? = nil,
        by option: String = "--key-hex-fd"
    ) throws -> CommandRun {
        try CommandRun.run(
            CommandRun.cofferPath,
            ["database", "query", "--codec", "gcm1", option, "3"] + more + [path, sql],
            descriptors: [3: secret ?? key])
    }

    private func convert(
        _ source: String, _ target: String, from: String = "gcm1", to: String, _ more: String...,
        descriptors: [Int: [UInt8]] = [:], environment: [String: String] = [:]
    ) throws -> CommandRun {
        let line = ["database", "convert", source, target, "--from", from, "--to", to, "--key-hex-fd", "3"]
        return try CommandRun.run(
            CommandRun.cofferPath, line + more, descriptors: descriptors.merging([3: key]) { $1 },
            environment: environment)
    }

    private func makeDatabase(_ path: String) throws {
        let rows = "WITH c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3000) "
        let made = try query(
            path, "CREATE TABLE t (x); " + rows + "INSERT INTO t SELECT 'canary ' || i FROM c", "--create")
        #expect(made.code == 0, "\(made.errorText)")
    }

    private func makePlain(_ path: String) throws {
        let code =
            "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n"
            + "c.execute('CREATE TABLE t (x)')\nc.commit()\n"
        #expect(try CommandRun.run("python3", ["-c", code, path]).code == 0)
    }

    private func isTarget(_ path: String, _ format: String) throws -> Bool {
        let count = "SELECT count(*) FROM t"
        guard format == "plain" else { return try query(path, count).text == "3000\n" }
        let code =
            "import sqlite3, sys\nprint(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])"
        return try CommandRun.run("python3", ["-c", code, path, count]).text == "3000\n"
    }

    @Test(
        "A killed conversion makes no target, and the next one removes its remains",
        .enabled(if: PreloadedLibrary.endAt != nil), arguments: ["plain", "gcm1"])
    func killed(to format: String) throws {
        let scratch = try ScratchDirectory.make()
        let (path, target) = (scratch.path(of: "a.db"), scratch.path(of: "b.db"))
        try makeDatabase(path)
        let environment = [
            "LD_PRELOAD": try #require(PreloadedLibrary.endAt), "ENDAT": "sync", "ENDAT_SIGNAL": "9",
        ]
        let killed = try convert(path, target, to: format, environment: environment)
        #expect(killed.code == 137, "\(killed.errorText)")
        let left = try scratch.names()
        #expect(left.count == 2 && left.contains { $0.hasPrefix(".coffer-unfinished-") }, "\(left)")
        let again = try convert(path, target, to: format)
        #expect(again.code == 0, "\(again.errorText)")
        #expect(try scratch.names() == ["a.db", "b.db"])
        #expect(try isTarget(target, format))
    }

    @Test(
        "A signal that ends a conversion leaves nothing", .enabled(if: PreloadedLibrary.endAt != nil),
        arguments: [("plain", Int32(2)), ("gcm1", 15), ("plain", 1)])
    func ended(to format: String, by signal: Int32) throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        try makeDatabase(path)
        let environment = [
            "LD_PRELOAD": try #require(PreloadedLibrary.endAt), "ENDAT": "mkdir", "ENDAT_SIGNAL": "\(signal)",
        ]
        let run = try convert(path, scratch.path(of: "b.db"), to: format, environment: environment)
        #expect(run.code == 128 + signal, "\(run.errorText)")
        #expect(try scratch.names() == ["a.db"])
        #expect(try isTarget(path, "gcm1"))
    }

    @Test(
        "A conversion works where the file system cannot rename without replacing",
        .enabled(if: PreloadedLibrary.noExchange != nil))
    func noFlags() throws {
        let scratch = try ScratchDirectory.make()
        let (path, target) = (scratch.path(of: "a.db"), scratch.path(of: "b.db"))
        try makeDatabase(path)
        let environment = ["LD_PRELOAD": try #require(PreloadedLibrary.noExchange), "NORENAMEFLAGS": "1"]
        let run = try convert(path, target, to: "gcm1", environment: environment)
        #expect(run.code == 0, "\(run.errorText)")
        #expect(try convert(path, target, to: "gcm1", environment: environment).code == 13)
        #expect(try scratch.names() == ["a.db", "b.db"])
        #expect(try isTarget(target, "gcm1"))
    }

    @Test("The end of a line of Windows is no part of a passphrase or a key")
    func returns() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        let words = Array("correct horse".utf8)
        let made = try query(
            path, "CREATE TABLE t (x)", "--create", secret: words + [13, 10], by: "--passphrase-fd")
        #expect(made.code == 0, "\(made.errorText)")
        #expect(try query(path, "SELECT * FROM t", secret: words + [10], by: "--passphrase-fd").code == 0)
        #expect(try query(path, "SELECT * FROM t", secret: words, by: "--passphrase-fd").code == 0)
        // A carriage return that ends no line is one of the passphrase.
        #expect(try query(path, "SELECT * FROM t", secret: words + [13], by: "--passphrase-fd").code == 7)
        let other = scratch.path(of: "b.db")
        #expect(try query(other, "CREATE TABLE t (x)", "--create", secret: key + [13, 10]).code == 0)
        #expect(try query(other, "SELECT * FROM t").code == 0)
    }

    @Test("A path that leaves no room for the unfinished copy is refused, and nothing stays")
    func longPath() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        try makeDatabase(path)
        var folder = scratch.path(of: String(repeating: "a", count: 200))
        folder += "/" + String(repeating: "b", count: 480 - folder.utf8.count)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let run = try convert(path, folder + "/b.db", to: "gcm1")
        #expect(run.code == 64 && run.errorText.contains("Choose a shorter path"), "\(run.errorText)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test("An empty source is refused as empty")
    func emptySource() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        try Data().write(to: URL(filePath: path))
        for (from, to) in [("gcm1", "plain"), ("plain", "gcm1"), ("sqlcipher4", "gcm1")] {
            let run = try convert(path, scratch.path(of: "b.db"), from: from, to: to)
            #expect(run.code == 3 && run.errorText.contains("is empty"), "\(run.errorText)")
        }
        #expect(try scratch.names() == ["a.db"])
    }

    @Test("A plain target takes no key", arguments: ["--new-key-hex-fd", "--new-passphrase-fd"])
    func plainTargetsKey(option: String) throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        try makeDatabase(path)
        let run = try convert(
            path, scratch.path(of: "b.db"), to: "plain", option, "4", descriptors: [4: other])
        #expect(
            run.code == 64 && run.errorText.contains("A plain target database has no key"), "\(run.errorText)"
        )
        #expect(try scratch.names() == ["a.db"])
    }

    @Test("The target's own passphrase opens it, and the source's key does not")
    func newPassphrase() throws {
        let scratch = try ScratchDirectory.make()
        let paths = ["a.db", "b.db", "c.db"].map { scratch.path(of: $0) }
        try makeDatabase(paths[0])
        let horse = Array("correct horse\n".utf8)
        let run = try convert(
            paths[0], paths[1], to: "gcm1", "--new-passphrase-fd", "4", descriptors: [4: horse])
        #expect(run.code == 0, "\(run.errorText)")
        let count = "SELECT count(*) FROM t"
        #expect(try query(paths[1], count, secret: horse, by: "--passphrase-fd").text == "3000\n")
        #expect(try query(paths[1], count).code == 7)
        let both = try convert(
            paths[0], paths[2], to: "gcm1", "--new-passphrase-fd", "4", "--new-key-hex-fd", "5",
            descriptors: [4: horse, 5: other])
        #expect(both.code == 64, "\(both.errorText)")
        #expect(!FileManager.default.fileExists(atPath: paths[2]))
    }

    @Test("With --json there is one document, the target's path and format")
    func document() throws {
        let scratch = try ScratchDirectory.make()
        let (path, target) = (scratch.path(of: "a.db"), scratch.path(of: "b.db"))
        try makeDatabase(path)
        let run = try convert(path, target, to: "sqlcipher4", "--json")
        #expect(run.json as? [String: String] == ["target": target, "format": "sqlcipher4"], "\(run.text)")
        let failed = try convert(path, target, to: "sqlcipher4", "--json")
        #expect(failed.code == 13 && failed.json["error"] != nil, "\(failed.text)")
    }

    @Test("A plain source, a missing directory and a key that is none: the answer says what to do")
    func advice() throws {
        let scratch = try ScratchDirectory.make()
        let (path, target) = (scratch.path(of: "a.db"), scratch.path(of: "b.db"))
        try makePlain(path)
        let plain = try convert(path, target, to: "sqlcipher4")
        #expect(plain.code == 11 && plain.errorText.contains("--from plain"), "\(plain.errorText)")
        let folder = scratch.path(of: "no")
        let missing = try convert(path, folder + "/b.db", from: "plain", to: "gcm1")
        #expect(
            missing.code == 3
                && missing.errorText.contains("The directory \(folder) does not exist. Create it first."),
            "\(missing.errorText)")
        let digits = String(decoding: key, as: UTF8.self)
        for text in [digits + "\r", digits + " \n", " " + digits, String(digits.dropLast()) + "g", "0a0a"] {
            let run = try query(path, "SELECT 1", secret: Array(text.utf8))
            #expect(
                run.code == 64 && run.errorText.contains("64 hexadecimal digits and nothing else"),
                "\(run.errorText)")
        }
        let empty = try query(path, "SELECT 1", secret: [])
        #expect(empty.code == 64 && empty.errorText.contains("descriptor 3 is empty"), "\(empty.errorText)")
        #expect(try scratch.names() == ["a.db"])
    }
}
