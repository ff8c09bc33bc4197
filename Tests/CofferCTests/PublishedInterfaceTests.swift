import Foundation
import TestSupport
import Testing

/// `Scripts/abi-check`: it accepts the header and the library as they are, and notices each kind of change.
@Suite("The published interface of libcoffer")
struct PublishedInterfaceTests {
    static let hasTools = (try? CommandRun.run("abidiff", ["--version"], seconds: 60))?.code == 0
    private static let needed: Comment = "needs abigail-tools"

    private static let library = CommandRun.programs + "libcoffer-c.so"

    private func check(_ arguments: String...) throws -> CommandRun {
        try CommandRun.run(PackageRoot.path + "Scripts/abi-check", arguments)
    }

    private static func scratch(_ name: String) -> URL {
        FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString)-\(name)")
    }

    @Test("The header and the library are as written down", .enabled(if: hasTools, needed))
    func unchanged() throws {
        let run = try check("--library", Self.library)
        #expect(run.code == 0, "\(run.text)\(run.errorText)")
    }

    @Test(
        "A change of the header is noticed", .enabled(if: hasTools, needed),
        arguments: [
            ("int coffer_lock(coffer_vault *vault", "int coffer_lock(coffer_bytes *vault"),
            ("uint32_t inactivity_seconds;", "uint64_t inactivity_seconds;"),
            ("    double expires;", "    int64_t expires;"),
            ("#define COFFER_BUSY 75", "#define COFFER_BUSY 76"),
            ("#define COFFER_CREATE_MOVABLE 2u", "#define COFFER_CREATE_MOVABLE 8u"),
            ("int coffer_cancel(coffer_vault *vault, coffer_error *error);", ""),
            ("int coffer_abi_version(void);", "int coffer_abi_version(void); int coffer_new(void);"),
            ("    int32_t code;", ""), ("char message[1024]", "char message[2048]"),
        ])
    func changed(_ old: String, _ new: String) throws {
        let header = try String(
            contentsOfFile: PackageRoot.path + "Sources/CCoffer/coffer.h", encoding: .utf8)
        let text = header.replacing(old, with: new)
        try #require(text != header, "The header has no \(old).")
        let file = Self.scratch("coffer.h")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.utf8).write(to: file)
        let run = try check("--header", file.path(percentEncoded: false), "--library", Self.library)
        #expect(run.code == 1 && run.errorText.contains("do not change"), "\(run.text)\(run.errorText)")
    }

    @Test("A library that lacks functions is noticed", .enabled(if: hasTools, needed))
    func lacking() throws {
        let library = Self.scratch("libcoffer.so")
        defer { try? FileManager.default.removeItem(at: library) }
        let source = PackageRoot.path + "Sources/CofferC/coffer.map"
        let run = try CommandRun.run(
            "gcc",
            [
                "-shared", "-fPIC", "-Wl,-soname,libcoffer.so.0", "-Wl,--version-script=\(source)", "-x", "c",
                "-", "-o", library.path(percentEncoded: false),
            ], input: Array("int coffer_abi_version(void) { return 1; }\n".utf8))
        try #require(run.code == 0, "\(run.errorText)")
        let checked = try check("--library", library.path(percentEncoded: false))
        #expect(checked.code == 1 && checked.text.contains("coffer_wipe"), "\(checked.errorText)")
    }
}
