import Foundation
import Testing
import TestSupport

@Suite("The command as a program: how it is linked, and what it leaves when it crashes")
struct HardeningTests {
    /// The names of those programs and libraries that are built.
    private static func built(_ names: [String]) -> [String] {
        names.filter { FileManager.default.isExecutableFile(atPath: CommandRun.programs + $0) }
    }

    /// A segment of a program: its type, its flags without spaces, and its sections.
    private struct Segment {
        let type: Substring, flags: String, sections: [Substring]

        /// The segments that `readelf -lW` lists.
        static func listed(_ text: String) -> [Segment] {
            let lines = text.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace) }
            // Type, five numbers, the flags, which may contain spaces, and the alignment.
            let headers = lines.filter { $0.count > 7 && $0[1...5].allSatisfy { $0.hasPrefix("0x") } }
            return headers.enumerated().map { number, fields in
                let sections = lines.first { $0.first.flatMap { $0.count == 2 ? Int($0) : nil } == number }
                return Segment(
                    type: fields[0], flags: fields.dropFirst(6).dropLast().joined(),
                    sections: sections.map { Array($0.dropFirst()) } ?? [])
            }
        }
    }

    @Test(
        "Every symbol is bound at the start, not later with registers left on the stack, and read-only then",
        arguments: ["coffer"]
            + built([
                "coffer-database", "coffer-oauth", "coffer-pkcs11", "libcoffer-c.so", "TestAgent",
                "DatabaseAgent", "OAuthAgent", "Probe",
            ]))
    func immediateBinding(_ name: String) throws {
        let run = try CommandRun.run("readelf", ["-dW", CommandRun.programs + name])
        try #require(run.code == 0, "\(run.errorText)")
        #expect(run.text.contains("BIND_NOW"))
        let segments = Segment.listed(
            try CommandRun.run("readelf", ["-lW", CommandRun.programs + name]).text)
        // The table of addresses through which a program calls functions.
        let protected = segments.first { $0.type == "GNU_RELRO" }
        #expect(protected?.sections.contains(".got") == true, "\(segments)")
        // GNU ld puts even the constants into the writable segment.
        let constants = segments.first { $0.type == "LOAD" && $0.sections.contains(".eh_frame") }
        #expect(constants.map { $0.flags.contains("W") } == false, "\(segments)")
        // The stack is readable and writable, and nothing more.
        #expect(segments.first { $0.type == "GNU_STACK" }?.flags == "RW", "\(segments)")
    }

    /// Programs that use the libraries `Coffer` and `CofferDatabase`, as far as they are built.
    private static let withoutNetwork = built([
        "coffer", "coffer-database", "coffer-pkcs11", "libcoffer-c.so", "TestAgent", "DatabaseAgent",
        "Probe",
    ]).map { CommandRun.programs + $0 }

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
