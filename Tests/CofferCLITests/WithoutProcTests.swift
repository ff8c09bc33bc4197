import Foundation
import Testing
import TestSupport

enum ScratchMountNamespace {
    /// Whether this user can have one and unmount /proc in it.
    static let isPossible =
        (try? CommandRun.run("unshare", ["-m", "umount", "-l", "/proc"]).code) == 0
}

/// In a mount namespace of its own, where /proc is not mounted.
@Suite(
    "Without /proc",
    .enabled(if: ScratchMountNamespace.isPossible, "no mount namespace for this user"),
    .enabled(if: !Sanitizer.isOn, "a sanitizer reads /proc itself"))
struct WithoutProcTests {
    private func run(_ home: CommandHome, _ arguments: String..., input: [UInt8] = []) throws -> CommandRun {
        try home.run(
            arguments, passcode: "", input: input,
            before: ["unshare", "-m", "sh", "-c", "umount -l /proc && exec \"$@\"", "sh"])
    }

    @Test("Commands receive their arguments and work as usual")
    func arguments() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try run(home, "token", "put", "service", "account", input: Array("secret".utf8)).code == 0)
        for _ in 0..<5 {
            #expect(try run(home, "token", "get", "service", "account").text == "secret")
            #expect(try run(home, "token", "list").text.contains("account"))
            #expect(try run(home, "status").code == 0)
        }
        #expect(try run(home, "token", "get", "service", "nobody").code == 3)
        let path = try home.file("letter", Array("content".utf8))
        let added = try run(home, "file", "add", path, "--json")
        let id = try #require(added.json["id"] as? String, "\(added.errorText)")
        #expect(try run(home, "file", "cat", id).text == "content")
        let target = home.folder.appending(path: "out").path(percentEncoded: false)
        #expect(try run(home, "file", "export", id, target).code == 0)
        #expect(FileManager.default.contents(atPath: target) == Data("content".utf8))
        #expect(try run(home, "lock").code == 0)
        #expect(try run(home, "file", "remove", id).code == 0)
        #expect(try run(home, "wipe", "--yes").code == 0)
    }

    @Test("A check that uses another source names it")
    func doctor() throws {
        let home = try CommandHome(passcode: nil)
        let run = try run(home, "doctor")
        #expect(run.code == 0)
        #expect(run.text.contains("No swap is active by sysinfo(2)") || run.text.contains("Swap is active"))
    }

    @Test("A command that another program runs finds that program, also through a link")
    func companion() throws {
        let home = try CommandHome(passcode: nil)
        let created = try run(home, "database", "query", "--vault", "notes", "--create", "CREATE TABLE t (a)")
        #expect(created.code == 0, "\(created.errorText)")
        #expect(try run(home, "database", "list").text.contains("notes"))
        let link = home.folder.appending(path: "link").path(percentEncoded: false)
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: CommandRun.cofferPath)
        let script = "umount -l /proc && exec \"$@\""
        let linked = try CommandRun.run(
            "unshare", ["-m", "sh", "-c", script, "sh", link, "database", "list", "--home", home.path])
        #expect(linked.code == 0 && linked.text.contains("notes"), "\(linked.errorText)")
    }

    @Test("Where no file can be without a name, as on FAT, backups are kept and anchors are set, too")
    func namedFiles() throws {
        let home = try CommandHome(passcode: nil)
        let path = { (name: String) in home.folder.appending(path: name).path(percentEncoded: false) }
        let key = try CommandRun.run("age-keygen", ["-o", path("backup.key")])
        try #require(key.code == 0, "\(key.errorText)")
        let recipient = key.errorText.replacingOccurrences(of: "Public key: ", with: "")
            .trimmingCharacters(in: .whitespacesAndNewlines)
        for count in 0..<3 {
            let made = try run(home, "backup", "create", path("vault.age"), "--to", recipient, "--keep", "2")
            #expect(made.code == 0, "\(made.errorText)")
            let names = try FileManager.default.contentsOfDirectory(atPath: path(""))
            let backups = names.filter { $0.hasPrefix("vault.age") || $0.hasPrefix(".tmp-") }
            #expect(backups.sorted() == (count == 0 ? ["vault.age"] : ["vault.age", "vault.age.1"]))
        }
        let set = try run(home, "anchor", "set", path("anchor"))
        #expect(set.code == 0, "\(set.errorText)")
        #expect(try run(home, "anchor", "check").code == 0)
        #expect(FileManager.default.contents(atPath: path("anchor"))?.count == 1024)
    }

    @Test("Commands that need /proc say so")
    func refusals() throws {
        let home = try CommandHome(passcode: nil)
        let id = try home.add(try home.file("letter", Array("content".utf8)))
        for command in [
            ["file", "view", id, "--descriptor", "--json", "--", "cat"],
            ["file", "view", id, "--private", "--json", "--", "cat"],
            ["wipe", "--yes", "--prove", "--json"],
        ] {
            let run = try home.run(
                command, passcode: "",
                before: ["unshare", "-m", "sh", "-c", "umount -l /proc && exec \"$@\"", "sh"])
            #expect(run.code == 1 && run.errorCode == "unsupported", "\(command): \(run.code)")
            #expect(run.errorText.contains("/proc"), "\(run.errorText)")
        }
        #expect(try home("file", "cat", id).text == "content")
    }
}
