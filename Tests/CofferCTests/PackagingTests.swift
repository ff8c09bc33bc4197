import Foundation
import TestSupport
import Testing

/// The parts of other files that `debian/` repeats.
@Suite("Debian's packages agree with the sources")
struct PackagingTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: PackageRoot.path + path, encoding: .utf8)
    }

    @Test("The packages have the version of the programs and of the Python module")
    func version() throws {
        let source = try Self.text("Sources/CofferBase/PackageVersion.swift")
        let current = try #require(source.firstMatch(of: /current = "([0-9.]+)(-dev)?"/))
        let changelog = try Self.text("debian/changelog")
        let packaged = try #require(changelog.firstMatch(of: /^coffer \(([^)]*)\) (\w+);/))
        #expect(packaged.1 == current.1 + (current.2 == nil ? "" : "~dev"))
        #expect((packaged.2 == "UNRELEASED") == (current.2 != nil))
        let module = try Self.text("Sources/CofferPython/coffer.py")
        let declared = try #require(module.firstMatch(of: /\n__version__ = "([^"]*)"/))
        #expect(declared.1 == current.1 + (current.2 == nil ? "" : ".dev0"))
    }

    @Test("The package's unit is the one that the command installs, but for the program's path")
    func unit() throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "coffer-unit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let place = folder.path(percentEncoded: false)
        let run = try CommandRun.coffer(
            "serve", "--install", "--home", place + "/vault",
            environment: ["XDG_CONFIG_HOME": place, "XDG_DATA_HOME": place, "HOME": place])
        try #require(run.code == 0, "\(run.errorText)")
        func lines(_ text: String) -> [Substring] {
            text.split(separator: "\n").filter { !$0.hasPrefix("ExecStart=") }
        }
        let installed = try String(
            contentsOfFile: place + "/systemd/user/coffer-serve.service", encoding: .utf8)
        let packaged = try Self.text("debian/coffer.coffer-serve.user.service")
        #expect(lines(packaged) == lines(installed))
        #expect(packaged.contains("\nExecStart=/usr/bin/coffer serve\n"))
    }

    @Test("The list of symbols has the functions of the header")
    func symbols() throws {
        let listed = try Self.text("debian/libcoffer0.symbols").matches(of: /\n (coffer_[a-z_]+)@COFFER_0\b/)
            .map { String($0.1) }
        let declared = try Self.text("Sources/CCoffer/coffer.h")
            .matches(of: /(?m)^[a-z][a-z0-9_ ]*[ *](coffer_[a-z_]+)\(/).map { String($0.1) }
        #expect(listed.count > 30 && Set(listed) == Set(declared))
    }
}
