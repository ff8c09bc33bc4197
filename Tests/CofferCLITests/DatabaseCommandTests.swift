import Foundation
import TestSupport
import Testing

@Suite("coffer database")
struct DatabaseCommandTests {
    private let key = Array(String(repeating: "0a", count: 32).utf8)
    private let other = Array(String(repeating: "0b", count: 32).utf8)

    private func query(
        _ path: String, _ sql: String, codec: String = "gcm1", key: [UInt8]? = nil, _ more: String...
    ) throws -> CommandRun {
        try CommandRun.run(
            CommandRun.cofferPath,
            ["database", "query", path, "--codec", codec, "--key-hex-fd", "3"] + more + [sql],
            descriptors: [3: key ?? self.key])
    }

    @Test("query prints rows with tabs, and as objects with --json")
    func rowsComeWithTabsAndAsObjects() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        let made = try query(
            path, "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (2.5, NULL), (x'00ff', 'ü')",
            "--create")
        #expect(made.code == 0 && made.output.isEmpty)
        #expect(try query(path, "SELECT * FROM t").text == "1\tx\n2.5\t\n00ff\tü\n")
        let json = try query(path, "SELECT * FROM t WHERE a = 1", "--json")
        #expect(json.text == "[{\"a\":1,\"b\":\"x\"}]\n")
    }

    @Test("A change that a constraint forbids is a conflict; ATTACH is refused with the reason")
    func constraints() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        #expect(try query(path, "CREATE TABLE t (a UNIQUE)", "--create").code == 0)
        let twice = try query(path, "INSERT INTO t VALUES (1), (1)")
        let reason = "UNIQUE constraint failed: t.a"
        #expect(twice.code == 10 && twice.errorText.contains(reason), "\(twice.errorText)")
        #expect(try query(path, "SELECT count(*) FROM t").text == "0\n")
        let attach = try query(path, "ATTACH 'file:\(path)?vfs=unix' AS b")
        #expect(attach.code == 11 && attach.errorText.contains("without its key"), "\(attach.errorText)")
    }

    @Test("Statements and values come by file, standard input and descriptor, not by argument")
    func secretsStayOutOfTheArguments() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        func run(_ more: [String], input: String = "", _ bound: [Int: [UInt8]] = [:]) throws -> CommandRun {
            try CommandRun.run(
                CommandRun.cofferPath,
                ["database", "query", path, "--codec", "gcm1", "--key-hex-fd", "3", "--create"] + more,
                input: Array(input.utf8), descriptors: bound.merging([3: key]) { $1 })
        }
        let file = scratch.path(of: "a.sql")
        try Data("CREATE TABLE t (a, b);\nINSERT INTO t VALUES ('from a file', 1);\n".utf8)
            .write(to: URL(filePath: file))
        #expect(try run(["--sql-file", file]).code == 0)
        #expect(try run(["-"], input: "INSERT INTO t VALUES ('from input', 2)").code == 0)
        #expect(try run(["--sql-file", "-"], input: "INSERT INTO t VALUES ('again', 3)").code == 0)
        let values: [Int: [UInt8]] = [4: Array("bound ? ' ü\n".utf8), 5: Array("4".utf8)]
        let insert = ["--bind-fd", "4", "--bind-fd", "5", "INSERT INTO t VALUES (?, ?)"]
        #expect(try run(insert, values).code == 0)
        let rows = try run(["SELECT a FROM t"]).text.split(separator: "\n")
        #expect(rows == ["from a file", "from input", "again", "bound ? ' ü"])
        #expect(try run([]).code == 64)
        #expect(try run(["--sql-file", file, "SELECT 1"]).code == 64)
        #expect(try run(["--sql-file", file + "x"]).code == 3)
        #expect(try run(["--bind-fd", "4", "SELECT ?"], [4: [0xff, 0xfe]]).code == 64)
        #expect(try run(["--bind-fd", "4", "SELECT 1"], [4: Array("x".utf8)]).code == 64)
        #expect(try run(["SELECT ?"]).code == 64)
    }

    @Test("A transaction that the statements leave open is rolled back, and the first error is said")
    func openTransaction() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        #expect(try query(path, "CREATE TABLE t (a INTEGER PRIMARY KEY, b)", "--create").code == 0)
        for mode in ["delete", "memory"] {
            let begin = "PRAGMA journal_mode = \(mode); PRAGMA cache_size = 5; "
            let open = try query(path, begin + "BEGIN; INSERT INTO t VALUES (1, 1)")
            #expect(open.code == 64 && open.errorText.contains("COMMIT"), "\(open.errorText)")
            let series = "WITH c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300) "
            let fill = series + "INSERT INTO t SELECT i, hex(randomblob(500)) FROM c; "
            let failed = try query(
                path, begin + "BEGIN; " + fill + "INSERT INTO t VALUES (7, 7); COMMIT")
            #expect(failed.code == 10 && failed.errorText.contains("UNIQUE"), "\(failed.errorText)")
            let left = try query(path, "SELECT count(*) FROM t; PRAGMA integrity_check")
            #expect(left.text.hasSuffix("0\nok\n"), "\(left.text)")
        }
    }

    @Test("More or fewer values than question marks run nothing")
    func countsBeforeItRuns() throws {
        let scratch = try ScratchDirectory.make()
        func run(_ more: [String], _ bound: [Int: [UInt8]] = [:]) throws -> CommandRun {
            let options = ["--codec", "gcm1", "--key-hex-fd", "3", "--create"]
            return try CommandRun.run(
                CommandRun.cofferPath, ["database", "query", scratch.path(of: "a.db")] + options + more,
                descriptors: bound.merging([3: key]) { $1 })
        }
        #expect(try run(["CREATE TABLE t (a, \"b?\")"]).code == 0)
        let one = ["--bind-fd", "4"]
        let value: [Int: [UInt8]] = [4: Array("v".utf8)]
        #expect(try run(one + ["INSERT INTO t VALUES ('1', 2)"], value).code == 64)
        #expect(try run(["INSERT INTO t VALUES ('1', 2); INSERT INTO t VALUES (?, 3)"]).code == 64)
        for place in ["?1", ":a", "@a", "$a"] {
            #expect(try run(one + ["INSERT INTO t VALUES (\(place), 2)"], value).code == 64, "\(place)")
        }
        #expect(try run(["SELECT count(*) FROM t"]).text == "0\n")
        let marks =
            "INSERT INTO t VALUES (?, '?''?'); -- ?\n/* ? ' */ UPDATE t SET [b?] = '$x:y@z', `b?` = \"b?\""
        #expect(try run(one + [marks], value).code == 0)
        #expect(try run(["SELECT a, \"b?\" FROM t"]).text.hasPrefix("v\t"))
    }

    @Test("A value or statements with a NUL, where SQLite's text would end, are refused")
    func nulInAValue() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        #expect(try query(path, "CREATE TABLE t (a)", "--create").code == 0)
        func run(_ more: [String], input: [UInt8] = [], _ value: [UInt8] = []) throws -> CommandRun {
            try CommandRun.run(
                CommandRun.cofferPath,
                ["database", "query", path, "--codec", "gcm1", "--key-hex-fd", "3"] + more,
                input: input, descriptors: [3: key, 4: value])
        }
        let insert = "INSERT INTO t VALUES (?)"
        let bound = try run(["--bind-fd", "4", insert], Array("nul\u{0}x\n".utf8))
        #expect(bound.code == 64 && bound.errorText.contains("NUL"), "\(bound.errorText)")
        let piped = try run(["-"], input: Array("INSERT INTO t VALUES (1);\u{0} SELECT".utf8))
        #expect(piped.code == 64 && piped.errorText.contains("NUL"), "\(piped.errorText)")
        #expect(try query(path, "SELECT count(*) FROM t").text == "0\n")
    }

    @Test("Text is printed whole and in one line, or not at all")
    func textIsWhole() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        #expect(try query(path, "CREATE TABLE t (a)", "--create").code == 0)
        #expect(try query(path, "SELECT 'a' || char(0) || 'b', 1").text == "a\\u0000b\t1\n")
        #expect(
            try query(path, "SELECT 'a' || char(9, 10, 13, 27, 155, 92, 8238, 228)").text
                == "a\\t\\n\\r\\u001b\\u009b\\\\\\u202eä\n")
        let json = try query(path, "SELECT 'a' || char(0) || 'b' AS x, '\t' AS y", "--json")
        #expect(json.text == "[{\"x\":\"a\\u0000b\",\"y\":\"\\t\"}]\n")
        for more in ["--json", "--allow-expensive"] {
            let broken = try query(path, "SELECT CAST(x'61ff62' AS TEXT) AS odd", more)
            #expect(broken.code == 64 && broken.errorText.contains("odd"), "\(broken.errorText)")
            #expect(broken.errorText.contains("CAST") && !broken.text.contains("a\u{fffd}"), "\(broken.text)")
        }
        #expect(try query(path, "SELECT CAST('ä' AS BLOB), NULL, ''").text == "c3a4\t\t\n")
        let wide = "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (a); INSERT INTO t VALUES ('wide ü')"
        #expect(try query(scratch.path(of: "b.db"), wide, "--create").code == 0)
        #expect(try query(scratch.path(of: "b.db"), "SELECT a FROM t").text == "wide ü\n")
    }

    @Test("SQLCipher's pragmas for keys, which would do nothing, are refused")
    func keyPragmas() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        #expect(try query(path, "CREATE TABLE t (a)", "--create").code == 0)
        for pragma in [
            "key = 'x'", "REKEY = 'x'", "rekey('x')", "main.rekey = 'x'", "hexrekey = '00'", "rekey",
        ] {
            let run = try query(path, "PRAGMA \(pragma)")
            #expect(
                run.code == 64 && run.errorText.contains("does nothing in an encrypted database"),
                "\(pragma): \(run.errorText)")
            #expect(run.errorText.contains("convert the database"), "\(run.errorText)")
        }
        #expect(try query(path, "PRAGMA foreign_keys").code == 0)
    }

    @Test("The help says what the rows show, what stays, and how long it waits")
    func help() throws {
        let query = try CommandRun.coffer("help", "database", "query").text
        let words = query.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for sentence in ["NULL as an empty field", "no headers", "ten seconds", "stay", "vault"] {
            #expect(words.contains(sentence), "\(sentence)")
        }
        let convert = try CommandRun.coffer("help", "database", "convert").text
        let more = convert.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(more.contains("The source's rows do not change"))
        #expect(more.contains("Without --vault, the command needs no vault"))
    }

    @Test("Each failure of a query has its exit code")
    func failuresHaveTheirCodes() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        #expect(try query(path, "SELECT 1").code == 3)
        #expect(try scratch.names().isEmpty)
        #expect(try query(path, "CREATE TABLE t (a)", "--create").code == 0)
        #expect(try query(path, "SELECT * FROM t", key: other).code == 7)
        #expect(try query(path, "SELECT * FROM t", codec: "sqlcipher4").code == 7)
        #expect(try query(path, "SELECT * FROM nothing").code == 64)
        #expect(try query(path, "SELECT 1", key: Array("0a".utf8)).code == 64)
    }

    /// Runs a query under a passphrase through the shell, which sees the path as `$1`.
    private func shell(_ line: String, _ path: String) throws -> CommandRun {
        let script = "coffer() { exec '\(CommandRun.cofferPath)' \"$@\"; }; " + line
        return try CommandRun.run(
            "/bin/sh", ["-c", script, "sh", path], descriptors: [3: Array("correct horse".utf8)])
    }

    private static let options = "--codec gcm1 --passphrase-fd 3 --json"

    @Test("The cost of a foreign database's passphrase is bounded; --allow-expensive grants more")
    func expensivePassphrase() throws {
        let scratch = try ScratchDirectory.make()
        let path = scratch.path(of: "a.db")
        let made = try shell(
            "coffer database query \"$1\" \(Self.options) --create 'CREATE TABLE t (a)'", path)
        #expect(made.code == 0, "\(made.errorText)")
        func ask(passes: UInt8, memory: [UInt8]) throws {
            var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
            bytes.replaceSubrange(10..<16, with: [passes, 1] + memory)
            try Data(bytes).write(to: URL(filePath: path))
        }
        let query = "coffer database query \"$1\" \(Self.options) 'SELECT * FROM t'"
        try ask(passes: 17, memory: [0, 0, 0x20, 0])
        let refused = try shell(query, path)
        #expect(refused.code == 11)
        #expect(refused.errorText.contains("--allow-expensive"))
        #expect(try shell(query + " --allow-expensive", path).code == 7)
        // Granted, but not to be had.
        try ask(passes: 2, memory: [0, 0x40, 0, 0])
        if !Sanitizer.isOn {
            let short = try shell("ulimit -v 2000000; " + query + " --allow-expensive", path)
            #expect(short.code == 1)
            #expect(short.text.contains("outOfMemory"), "\(short.text) \(short.errorText)")
        }
        try ask(passes: 3, memory: [0, 1, 0, 0])
        #expect(try shell(query, path).code == 0)
    }

    @Test("A path that is no UTF-8 is the database of those bytes")
    func pathOfBytes() throws {
        let scratch = try ScratchDirectory.make()
        let place = "cd \"$1\" && coffer database query \"$(printf 'a\\377.db')\" \(Self.options)"
        let folder = scratch.path(of: ".")
        #expect(try shell(place + " 'SELECT 1'", folder).code == 3)
        let made = try shell(place + " --create 'CREATE TABLE t (a); INSERT INTO t VALUES (7)'", folder)
        #expect(made.code == 0, "\(made.errorText)")
        let read = try shell("[ -s \"$1/$(printf 'a\\377.db')\" ] && " + place + " 'SELECT a FROM t'", folder)
        #expect(read.text == "[{\"a\":7}]\n")
        // Foundation, which removes the folder, does not find such names.
        #expect(try shell("rm -f \"$1\"/a*", folder).code == 0)
    }

    @Test("convert turns each format into the next and replaces no target")
    func formatsAreConverted() throws {
        let scratch = try ScratchDirectory.make()
        let names = ["a.db", "b.db", "c.db", "d.db"].map { scratch.path(of: $0) }
        #expect(try query(names[0], "CREATE TABLE t (a); INSERT INTO t VALUES (7)", "--create").code == 0)
        for (number, formats) in [("gcm1", "sqlcipher4"), ("sqlcipher4", "plain"), ("plain", "gcm1")]
            .enumerated()
        {
            let arguments = [
                "database", "convert", names[number], names[number + 1], "--from", formats.0, "--to",
                formats.1,
                "--key-hex-fd", "3",
            ]
            let run = try CommandRun.run(CommandRun.cofferPath, arguments, descriptors: [3: key])
            #expect(run.code == 0, "\(run.errorText)")
            let again = try CommandRun.run(CommandRun.cofferPath, arguments, descriptors: [3: key])
            #expect(again.code == 13)
        }
        #expect(try query(names[1], "SELECT a FROM t", codec: "sqlcipher4").text == "7\n")
        #expect(try query(names[2], "SELECT a FROM t").code == 11)
        #expect(try query(names[3], "SELECT a FROM t").text == "7\n")
    }
}
