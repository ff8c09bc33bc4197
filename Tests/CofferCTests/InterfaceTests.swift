import Foundation
import TestSupport
import Testing

/// The C interface, as C and C++ use it.
@Suite("libcoffer")
struct InterfaceTests {
    private static let sources = root + "Tests/CInterface/"
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path(percentEncoded: false)
    private static let library = CommandRun.programs + "libcoffer-c.so"
    private static let warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic"]

    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "coffer-c-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    }

    private func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

    /// Compiles a program of `Tests/CInterface`; gives its path.
    private func compile(_ name: String, _ compiler: [String]) throws -> String {
        // Programs ask for the name that the library has when it is installed. Valgrind of Debian 12 does not
        // understand Swift's debugging information.
        let installed = path("libcoffer.so.0")
        let strip = try CommandRun.run("strip", ["-g", "-o", installed, Self.library])
        #expect(strip.code == 0, "\(strip.errorText)")
        let program = path("program")
        let run = try CommandRun.run(
            compiler[0],
            Array(compiler.dropFirst()) + Self.warnings + [
                "-g", "-I\(Self.root)Sources/CCoffer", Self.sources + name, "-x", "none", installed,
                "-pthread",
                "-Wl,-rpath,\(folder.path(percentEncoded: false))", "-o", program,
            ])
        #expect(run.code == 0, "\(run.errorText)")
        return program
    }

    @Test(
        "Every function does what its header says, and misuse is refused, in C and in C++",
        arguments: ["contract.c", "misuse.c"],
        [["gcc", "-std=gnu99"], ["clang", "-std=gnu11"], ["g++", "-x", "c++", "-std=gnu++17"]])
    func programs(_ name: String, _ compiler: [String]) throws {
        let run = try CommandRun.run(compile(name, compiler), [path("home")])
        #expect(run.code == 0 && run.text == "ok\n", "\(run.code) \(run.errorText)")
    }

    @Test("The header needs nothing but C99")
    func header() throws {
        let file = path("header.c")
        try Data("#include \"coffer.h\"\n#include \"coffer.h\"\nint main(void) { return COFFER_OK; }\n".utf8)
            .write(to: URL(filePath: file))
        let run = try CommandRun.run(
            "gcc", Self.warnings + ["-std=c99", "-I\(Self.root)Sources/CCoffer", file, "-o", path("header")])
        #expect(run.code == 0, "\(run.errorText)")
    }

    @Test("Address sanitizer and valgrind find nothing", arguments: ["contract.c", "misuse.c"])
    func checkers(_ name: String) throws {
        let plain = try compile(name, ["gcc", "-std=gnu99"])
        let valgrind = try CommandRun.run(
            "valgrind",
            [
                "--quiet", "--error-exitcode=9", "--undef-value-errors=no", "--trace-children=no", plain,
                path("home"),
            ],
            seconds: 900)
        #expect(valgrind.code == 0, "\(valgrind.code) \(valgrind.errorText)")
        let sanitized = try compile(name, ["gcc", "-std=gnu99", "-fsanitize=address,undefined"])
        let run = try CommandRun.run(
            sanitized, [path("home2")], environment: ["ASAN_OPTIONS": "detect_leaks=0"])
        #expect(run.code == 0 && run.errorText.isEmpty, "\(run.code) \(run.errorText)")
    }

    @Test("The library exports the functions of its header and nothing else")
    func exports() throws {
        let run = try CommandRun.run("nm", ["-D", "--defined-only", Self.library])
        try #require(run.code == 0, "\(run.errorText)")
        let exported = run.text.split(separator: "\n").compactMap { line in
            line.split(separator: " ").last.map { String($0.prefix { $0 != "@" }) }
        }
        let header = try String(contentsOfFile: Self.root + "Sources/CCoffer/coffer.h", encoding: .utf8)
        let declared = header.matches(of: /(?m)^[a-z][a-z0-9_ ]*[ *](coffer_[a-z_]+)\(/).map { String($0.1) }
        #expect(declared.count > 30 && Set(exported) == Set(declared), "\(exported)")
        let dynamic = try CommandRun.run("readelf", ["-dW", Self.library]).text
        #expect(dynamic.contains("NODELETE") && dynamic.contains("libcoffer.so.0"))
        #expect(!dynamic.contains("libcurl") && !dynamic.contains("libsqlite"))
    }

    @Test("The example reads what the command stored")
    func example() throws {
        let home = path("data/coffer")
        try FileManager.default.createDirectory(atPath: path("data"), withIntermediateDirectories: false)
        func coffer(_ arguments: [String], _ input: [UInt8] = []) throws -> CommandRun {
            try CommandRun.run(
                CommandRun.cofferPath, arguments + ["--home", home, "--passcode-fd", "3"], input: input,
                descriptors: [3: Array("one\n".utf8)])
        }
        let made = try coffer(["init", "--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2"])
        try #require(made.code == 0, "\(made.errorText)")
        #expect(try coffer(["token", "put", "s", "a"], Array("value".utf8)).code == 0)
        let read = try CommandRun.run(
            compile("example.c", ["gcc", "-std=c99"]), ["s", "a"], input: Array("one\n".utf8),
            environment: ["XDG_DATA_HOME": path("data")])
        #expect(read.code == 0 && read.text == "value", "\(read.errorText)")
        let wrong = try CommandRun.run(
            path("program"), ["s", "none"], input: Array("one\n".utf8),
            environment: ["XDG_DATA_HOME": path("data")])
        #expect(wrong.code == 3 && wrong.text.isEmpty)
    }
}
