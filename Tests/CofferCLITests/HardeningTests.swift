import Foundation
import Testing
import TestSupport

@Suite("The command as a program: how it is linked, and what it leaves when it crashes")
struct HardeningTests {
    @Test("Every symbol is bound at the start, so that no later binding leaves registers on the stack")
    func immediateBinding() throws {
        let run = try CommandRun.run("readelf", ["-d", CommandRun.cofferPath])
        try #require(run.code == 0, "\(run.errorText)")
        #expect(run.text.contains("BIND_NOW"))
        let headers = try CommandRun.run("readelf", ["-lW", CommandRun.cofferPath]).text
        #expect(headers.contains("GNU_RELRO"))
        // The stack is readable and writable, and nothing more. The flags, which may contain spaces, stand
        // between the type with five numbers and the alignment.
        let stack = headers.split(separator: "\n").first { $0.contains("GNU_STACK") }
        let flags = stack?.split(whereSeparator: \.isWhitespace).dropFirst(6).dropLast().joined()
        #expect(flags == "RW")
    }

    /// Programs that use the libraries `Coffer` and `CofferDatabase`, as far as they are built.
    private static let withoutNetwork = [
        "coffer", "coffer-database", "libcoffer-c.so", "TestAgent", "DatabaseAgent", "Probe",
    ]
    .map { CommandRun.programs + $0 }.filter { FileManager.default.isExecutableFile(atPath: $0) }

    @Test("Programs without OAuth load neither libcurl nor libssl, nor does a library that they load")
    func noNetworkLibrary() throws {
        #expect(Self.withoutNetwork.contains(CommandRun.cofferPath))
        for program in Self.withoutNetwork {
            let run = try CommandRun.run("ldd", [program])
            try #require(run.code == 0, "\(run.errorText)")
            // What is searched for can be found.
            #expect(run.text.contains("libcrypto.so"), "\(program): \(run.text)")
            #expect(!run.text.contains("libcurl") && !run.text.contains("libssl"), "\(program): \(run.text)")
        }
    }

    @Test("The command is without what only databases need: GRDB, SQLite, and Foundation with its tables")
    func noDatabase() throws {
        let foreign = [
            "libsqlite3.so", "libFoundation.so", "_FoundationICU", "sqlite3_open", "DatabaseQueue",
        ]
        func found(_ program: String) throws -> [String] {
            let content = try Data(
                contentsOf: URL(filePath: CommandRun.programs + program), options: .alwaysMapped)
            return foreign.filter { content.range(of: Data($0.utf8)) != nil }
        }
        #expect(try found("coffer").isEmpty)
        // What is searched for can be found.
        let companion = try found("coffer-database")
        #expect(companion.contains("libsqlite3.so") && companion.contains("sqlite3_open"), "\(companion)")
        #expect(companion.contains("DatabaseQueue"), "\(companion)")
        let loaded = try CommandRun.run("ldd", [CommandRun.cofferPath])
        #expect(loaded.code == 0 && !loaded.text.contains("sqlite") && !loaded.text.contains("ICU"))
        #expect(!loaded.text.contains("libFoundation.so"), "\(loaded.text)")
    }

    @Test("The loader finds nothing left to bind while the command runs")
    func effect() throws {
        let run = try CommandRun.run(
            CommandRun.cofferPath, ["--help"], environment: ["LD_DEBUG": "bindings,statistics"])
        #expect(run.code == 0)
        let lines = run.errorText.split(separator: "\n")
        #expect(lines.contains { $0.contains("binding file") }, "the loader says nothing")
        let start = try #require(
            lines.firstIndex {
                $0.contains("transferring control") || $0.contains("initialize program")
            }, "The loader does not say when the program begins.")
        let later = lines[start...].filter { $0.contains("binding file \(CommandRun.cofferPath)") }
        #expect(later.isEmpty, "\(later.prefix(3))")
    }

    @Test("While the program that speaks to servers runs, nothing is left to bind in any shared library")
    func librariesOfCompanion() throws {
        let run = try CommandRun.run(
            CommandRun.cofferPath, ["oauth", "--help"], environment: ["LD_DEBUG": "bindings,statistics"])
        #expect(run.code == 0 && run.text.contains("logout"), "\(run.text)")
        let lines = run.errorText.split(separator: "\n")
        // The first program that the loader starts is coffer, which becomes the other one.
        let start = try #require(
            lines.lastIndex { $0.contains("transferring control") && $0.contains("coffer-oauth") },
            "The loader does not say when the program begins.")
        #expect(lines[..<start].contains { $0.contains("binding file") }, "the loader says nothing")
        let later = lines[start...].filter { $0.contains("binding file") }
        #expect(later.isEmpty, "\(later.prefix(3))")
    }

    @Test("A crash while it holds a secret prints nothing, whatever the crash handler is set to")
    func crash() throws {
        let home = try CommandHome()
        let content = "content-5b0e-of-a-crash"
        let id = try home.add(try home.file("letter.txt", Array(content.utf8)))
        let handler = "enable=yes,color=no,interactive=no,symbolicate=off,images=none,sanitize=no,timeout=30s"
        let run = try home.run(
            ["file", "view", id, "--", "sh", "-c", "kill -SEGV $PPID; exec sleep 5", "sh", "{}"],
            // What the crash leaves lies where no other test counts it.
            environment: ["SWIFT_BACKTRACE": handler, "XDG_RUNTIME_DIR": ""])
        #expect(run.code == 139)
        let said = run.text + run.errorText
        #expect(!said.contains("crashed") && !said.contains("rax") && !said.contains(content))
    }
}
