import Foundation
import Glibc
import Testing
import TestSupport

@Suite("coffer file export")
struct FileExportTests {
    private static let content = Array("Dear reader".utf8)

    /// A home with the file "letter" in it.
    private func make() throws -> CommandHome {
        let home = try CommandHome(passcode: nil)
        _ = try home.add(try home.file("letter", Self.content))
        return home
    }

    private func path(_ home: CommandHome, _ name: String) -> String {
        home.folder.appending(path: name).path(percentEncoded: false)
    }

    private func names(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    @Test("- is standard output, byte for byte")
    func output() throws {
        let home = try CommandHome(passcode: nil)
        let content = (0..<2_500_001).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
        _ = try home.add(try home.file("data", content))
        let run = try home("file", "export", "data", "-")
        #expect(run.code == 0 && run.output == content && run.errors.isEmpty, "\(run.errorText)")
        #expect(try home("file", "export", "data", "-", "--json").errorCode == "invalidInput")
        #expect(try home("file", "export", "none", "-").code == 3)
    }

    @Test("The error for a place without room for a file names that file, not a temporary one")
    func unwritable() throws {
        let home = try make()
        let run = try home("file", "export", "letter", "/proc/coffer-test")
        #expect(run.code != 0 && run.errorText.contains("/proc"), "\(run.errorText)")
        #expect(!run.errorText.contains(".tmp-"), "\(run.errorText)")
    }

    @Test(
        "A terminal gets text, and anything else only with --force",
        arguments: [
            ["file", "cat", "NAME"], ["file", "export", "NAME", "-"], ["token", "get", "NAME", "a"],
        ])
    func terminal(_ command: [String]) throws {
        let home = try make()
        let contents: [(name: String, bytes: [UInt8])] = [
            ("text", Array("Dear réader\r\n\t\u{1F600}\n".utf8)),
            ("escape", Array("Dear\u{1B}]0;x\u{7}".utf8)), ("c1", Array("Dear \u{9B}2J".utf8)),
            ("reversed", Array("Dear \u{202E}".utf8)), ("overwritten", Array("Dear \rX".utf8)),
            ("latin", Array("Dear ".utf8) + [0x9B, 0x32]),
            ("surrogate", Array("Dear ".utf8) + [0xED, 0xA0, 0x80]),
            ("overlong", Array("Dear ".utf8) + [0xE0, 0x82, 0x9B]),
        ]
        for (name, bytes) in contents {
            if command[0] == "token" {
                #expect(try home("token", "put", name, "a", input: bytes).code == 0)
            } else {
                _ = try home.add(try home.file(name, bytes))
            }
            let words = command.map { $0 == "NAME" ? name : $0 } + ["--home", home.path]
            let run = try TerminalRun.coffer([], words)
            let isText = name == "text"
            #expect(run.shown.contains("Dear") == isText && run.code == (isText ? 0 : 11), "\(run.shown)")
            #expect(run.shown.contains("--force") != isText, "\(name)")
            let forced = try TerminalRun.coffer([], words + ["--force"])
            #expect(forced.code == 0 && forced.shown.contains("Dear"), "\(name)")
        }
    }

    @Test("A terminal does not get an ending that more bytes would have to complete")
    func unfinishedEnding() throws {
        let home = try make()
        for (name, end) in [("returned", [0x0D]), ("cut", [0xE2, 0x80])] as [(String, [UInt8])] {
            let bytes = Array("Dear".utf8) + end
            _ = try home.add(try home.file(name, bytes))
            #expect(try home("token", "put", name, "a", input: bytes).code == 0)
            for command in [["file", "cat", name], ["file", "export", name, "-"]] {
                let run = try TerminalRun.coffer([], command + ["--home", home.path])
                #expect(run.code == 11, "\(run.shown)")
                #expect(run.shown.contains("Only the first 4 bytes of the content were printed"))
                #expect(!run.shown.contains("Dear\r") && !run.shown.contains("\u{FFFD}"), "\(run.shown)")
            }
            let token = try TerminalRun.coffer([], ["token", "get", name, "a", "--home", home.path])
            #expect(token.code == 11 && !token.shown.contains("Dear"), "\(token.shown)")
        }
    }

    @Test("After long text, the refusal says that the text before it was printed")
    func lateRefusal() throws {
        let home = try make()
        let text = [UInt8](repeating: UInt8(ascii: "a"), count: 3 << 20)
        _ = try home.add(try home.file("late", text + [0x1B]))
        let run = try TerminalRun.coffer([], ["file", "cat", "late", "--home", home.path])
        #expect(run.code == 11 && !run.shown.contains("\u{1B}"))
        let message = String(run.shown.drop { $0 == "a" })
        #expect(message.contains("Only the first ") && !message.contains("was not printed"), "\(message)")
    }

    @Test("A terminal gets all text of a file of several chunks, also where a chunk splits a character")
    func longText() throws {
        let home = try make()
        let text = Array(String(repeating: "\u{20AC}", count: 800_000).utf8)
        _ = try home.add(try home.file("long", text))
        let script = """
            import os, pty, subprocess, sys
            controller, terminal = pty.openpty()
            run = subprocess.Popen(sys.argv[1:], stdout=terminal)
            os.close(terminal)
            size = 0
            while True:
                try:
                    part = os.read(controller, 65536)
                except OSError:
                    break
                if not part:
                    break
                size += len(part)
            print(size, run.wait())
            """
        let run = try CommandRun.run(
            "python3", ["-c", script, CommandRun.cofferPath, "file", "cat", "long", "--home", home.path])
        #expect(run.text == "\(text.count) 0\n", "\(run.errorText)")
    }

    @Test("In a directory the file gets its stored name")
    func directory() throws {
        let home = try make()
        let folder = path(home, "out")
        #expect(try home("file", "export", "letter", folder + "/", "--json").errorCode == "absent")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let run = try home("file", "export", "letter", folder, "--json")
        #expect(run.code == 0 && run.json["path"] as? String == folder + "/letter", "\(run.errorText)")
        #expect(FileManager.default.contents(atPath: folder + "/letter") == Data(Self.content))
        let again = try home("file", "export", "letter", folder + "/", "--json")
        #expect(again.errorCode == "alreadyExists" && again.errorText.contains("--replace"))
        #expect(try names(folder) == ["letter"])
    }

    @Test("--replace replaces a file completely, and nothing but a file")
    func replace() throws {
        let home = try make()
        let target = try home.file("target", [UInt8](repeating: 1, count: 100_000))
        #expect(try home("file", "export", "letter", target).code == 13)
        #expect(FileManager.default.contents(atPath: target)?.count == 100_000)
        #expect(try home("file", "export", "letter", target, "--replace").code == 0)
        #expect(FileManager.default.contents(atPath: target) == Data(Self.content))
        // A new destination needs nothing to replace.
        #expect(try home("file", "export", "letter", path(home, "new"), "--replace").code == 0)
        let link = path(home, "link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(try home("file", "export", "letter", link, "--replace", "--json").errorCode == "refused")
        let folder = path(home, "out")
        try FileManager.default.createDirectory(
            atPath: folder + "/letter", withIntermediateDirectories: true)
        #expect(try home("file", "export", "letter", folder, "--replace", "--json").errorCode == "refused")
        #expect(try names(folder) == ["letter"] && names(folder + "/letter").isEmpty)
        // What cannot be read replaces nothing.
        #expect(try home("file", "export", "none", target, "--replace").code == 3)
        #expect(FileManager.default.contents(atPath: target) == Data(Self.content))
        #expect(try !names(home.folder.path(percentEncoded: false)).contains { $0.hasPrefix(".tmp-") })
    }

    @Test("Nothing is exported into the vault's own directory, with or without --replace")
    func ownDirectory() throws {
        let home = try make()
        _ = try home.add(try home.file("device", Self.content))
        let vault = home.path + "/vault"
        let device = try #require(FileManager.default.contents(atPath: vault + "/device"))
        let before = try names(vault)
        for command in [
            ["device", vault], ["device", vault + "/device"], ["letter", home.path + "/letter"],
        ] {
            for option in [[], ["--replace"]] {
                let run = try home.run(["file", "export"] + command + option + ["--json"])
                #expect(run.errorCode == "refused" && run.errorText.contains("outside"), "\(run.errorText)")
            }
        }
        #expect(FileManager.default.contents(atPath: vault + "/device") == device)
        #expect(try names(vault) == before && !names(home.path).contains("letter"))
        #expect(try home("file", "cat", "letter").output == Self.content)
    }

    @Test(
        "A signal while a file is replaced leaves the new content under its name alone",
        .enabled(if: PreloadedLibrary.endAt != nil), arguments: [SIGTERM, SIGINT, SIGHUP])
    func signalledBeforeRename(_ signal: Int32) throws {
        let home = try make()
        let folder = path(home, "out")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data([1, 2, 3]).write(to: URL(filePath: folder + "/letter"))
        let run = try home.run(
            ["file", "export", "letter", folder, "--replace"],
            environment: [
                "LD_PRELOAD": try #require(PreloadedLibrary.endAt), "ENDAT": "link",
                "ENDAT_SIGNAL": "\(signal)",
            ])
        #expect(run.code == 0, "\(run.errorText)")
        #expect(try names(folder) == ["letter"])
        #expect(FileManager.default.contents(atPath: folder + "/letter") == Data(Self.content))
    }

    @Test(
        "A signal during an export where files have names from the start leaves nothing",
        .enabled(if: PreloadedLibrary.endAt != nil), arguments: [SIGTERM, SIGINT, SIGHUP])
    func signalledWithName(_ signal: Int32) throws {
        let home = try make()
        let folder = path(home, "out")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let run = try home.run(
            ["file", "export", "letter", folder],
            environment: [
                "LD_PRELOAD": try #require(PreloadedLibrary.endAt), "ENDAT": "named",
                "ENDAT_SIGNAL": "\(signal)",
            ])
        #expect(run.code == 128 + signal, "\(run.errorText)")
        #expect(try names(folder).isEmpty)
    }

    @Test("./- is a file of that name")
    func dash() throws {
        let home = try make()
        let script = "cd \"$2\" && \"$0\" file export letter ./- --home \"$1\" && cat ./-"
        let folder = home.folder.path(percentEncoded: false)
        let run = try CommandRun.run("sh", ["-c", script, CommandRun.cofferPath, home.path, folder])
        #expect(run.output == Self.content, "\(run.errorText)")
    }
}
