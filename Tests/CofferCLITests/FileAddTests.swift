import Foundation
import Testing
import TestSupport

@Suite("coffer file add, of several files, directories and pipes")
struct FileAddTests {
    /// A directory with files, a directory, a link and a pipe in it.
    private func tree(_ home: CommandHome) throws -> String {
        let root = home.folder.appending(path: "tree").path(percentEncoded: false)
        let script = """
            mkdir -p "$0/b/deep" && printf 1 >"$0/c" && printf 2 >"$0/a" && printf 3 >"$0/b/deep/.hidden" &&
            ln -s /etc "$0/link" && mkfifo "$0/pipe"
            """
        try #require(try CommandRun.run("sh", ["-c", script, root]).code == 0)
        return root
    }

    private func names(_ home: CommandHome) throws -> [String] {
        let files = try home("file", "list", "--json").json["files"] as? [[String: Any]] ?? []
        return files.compactMap { $0["name"] as? String }
    }

    @Test("Several files are added in the order of the arguments")
    func several() throws {
        let home = try CommandHome(passcode: nil)
        let paths = try ["b", "a", "c"].map { try home.file($0, Array($0.utf8)) }
        let run = try home.run(["file", "add"] + paths)
        let ids = run.text.split(separator: "\n").map(String.init)
        #expect(run.code == 0 && ids.count == 3, "\(run.errorText)")
        for (id, text) in zip(ids, ["b", "a", "c"]) { #expect(try home("file", "cat", id).text == text) }
        let json = try home.run(["file", "add", "--json"] + paths).json
        let files = try #require(json["files"] as? [[String: Any]])
        #expect(files.map { $0["path"] as? String } == paths && json["id"] == nil)
        #expect(files.allSatisfy { ($0["id"] as? String)?.utf8.count == 36 })
    }

    @Test("A wrong argument is found before anything is stored")
    func wrongArgument() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("a", [1])
        let folder = home.folder.path(percentEncoded: false)
        for (more, code) in [
            ([folder + "/none"], 3), ([folder], 11), (["/dev/zero"], 11), (["-"], 64), ([""], 64),
            ([path, "--name", "x"], 64),
        ] as [([String], Int32)] {
            #expect(try home.run(["file", "add", path] + more).code == code, "\(more)")
        }
        for name in ["", "a/b", "..", String(repeating: "x", count: 256)] {
            #expect(try home("file", "add", path, "--name", name).code == 64, "\(name)")
        }
        #expect(try home("file", "add", "-", "--name", "x", "--remove-original").code == 64)
        #expect(try home.status()["files"] as? Int == 0)
    }

    @Test("If a file cannot be added, the ones before it stay, and the error lists them")
    func stops() throws {
        let home = try CommandHome(passcode: nil)
        let first = try home.file("a", [1])
        let last = try home.file("z", [2])
        let arguments = ["file", "add", first, "/proc/self/status", last]
        let run = try home.run(arguments + ["--json"])
        let error = try #require(run.json["error"] as? [String: Any], "\(run.text)")
        #expect(run.code == 10 && run.errorText.contains("Stored before the failure: 1 file."))
        let id = try #require((error["entries"] as? [String])?.first)
        #expect(try home("file", "cat", id).output == [1] && names(home) == ["a"])
        let text = try home.run(arguments)
        #expect(text.code == 10 && text.text.split(separator: "\n").count == 1)
    }

    @Test("Directories need --recursive, which adds the regular files in them and names what it leaves out")
    func directories() throws {
        let home = try CommandHome(passcode: nil)
        let root = try tree(home)
        let refused = try home("file", "add", root)
        #expect(refused.code == 11 && refused.errorText.contains("--recursive"), "\(refused.errorText)")
        let run = try home("file", "add", "--recursive", root, "--json")
        #expect(run.code == 0 && run.errorText.contains("tree/link") && run.errorText.contains("tree/pipe"))
        let files = try #require(run.json["files"] as? [[String: Any]], "\(run.errorText)")
        #expect(
            files.map { $0["path"] as? String }
                == [root + "/a", root + "/b/deep/.hidden", root + "/c"])
        #expect((run.json["skipped"] as? [String]) == [root + "/link", root + "/pipe"])
        #expect(try home("file", "cat", ".hidden").text == "3")
        #expect(try home("file", "add", "-r", root, "--name", "x").code == 11)
        // Originals are removed, directories and what was left out stay.
        #expect(try home("file", "add", "-r", root, "--remove-original").code == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: root).sorted() == ["b", "link", "pipe"])
    }

    @Test("The vault itself is left out of a directory that holds it")
    func ownVault() throws {
        let home = try CommandHome(passcode: nil)
        _ = try home.file("beside", [1])
        let folder = home.folder.path(percentEncoded: false)
        let run = try home("file", "add", "--recursive", folder, "--json")
        #expect((run.json["files"] as? [[String: Any]])?.count == 1, "\(run.errorText)")
        #expect(run.json["skipped"] as? [String] == [home.path])
        #expect(try names(home) == ["beside"])
    }

    @Test(
        "Standard input, a pipe and a process substitution are read to their end",
        arguments: [0, 1, 65_536, 1 << 20, 2_500_001])
    func pipes(_ size: Int) throws {
        let home = try CommandHome(passcode: nil)
        let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 5) }
        let direct = try home("file", "add", "-", "--name", "direct", input: content)
        #expect(direct.code == 0, "\(direct.errorText)")
        let source = try home.file("source", content)
        let script = """
            cat "$2" | "$0" file add - --name piped --home "$1" &&
            "$0" file add <(cat "$2") --name substituted --home "$1" &&
            mkfifo "$2.pipe" && { cat "$2" >"$2.pipe" & } &&
            "$0" file add "$2.pipe" --name fifo --home "$1"
            """
        let run = try CommandRun.run("bash", ["-c", script, CommandRun.cofferPath, home.path, source])
        #expect(run.code == 0, "\(run.errorText)")
        #expect(try names(home) == ["direct", "fifo", "piped", "substituted"])
        for name in try names(home) {
            #expect(try home("file", "cat", name).output == content, "\(name)")
        }
        #expect(try home("file", "verify", "--all").code == 0)
    }

    @Test("Standard input begins after the passcode that came from it")
    func passcodeFirst() throws {
        let home = try CommandHome()
        let arguments = ["file", "add", "-", "--name", "x", "--passcode-fd", "0"]
        let run = try home.run(arguments, passcode: "", input: Array("2468\ncontent".utf8))
        #expect(run.code == 0, "\(run.errorText)")
        #expect(try home("file", "cat", "x").text == "content")
    }

    @Test("--name renames a file on its way in, and - is a name like others")
    func named() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("long name", [1])
        #expect(try home("file", "add", path, "--name", "short").code == 0)
        #expect(try home("file", "add", path, "--name=-").code == 0)
        #expect(try names(home) == ["-", "short"] && home("file", "cat", "./-").output == [1])
    }
}
