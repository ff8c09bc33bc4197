import Foundation
import Testing
import TestSupport

@Suite("coffer file rename")
struct FileRenameTests {
    @Test("A file is found by its new name, and no longer by the old one")
    func renamed() throws {
        let home = try CommandHome()
        let id = try home.add(try home.file("old", [1, 2, 3]))
        let silent = try home("file", "rename", "old", "new name")
        #expect(silent.code == 0 && silent.output.isEmpty, "\(silent.errorText)")
        #expect(try home("file", "cat", "new name").output == [1, 2, 3])
        #expect(try home("file", "cat", "old").code == 3)
        let run = try home("file", "rename", String(id.prefix(8)), "-", "--json")
        #expect(run.json["id"] as? String == id && run.json["name"] as? String == "-", "\(run.errorText)")
        #expect(try home("file", "cat", "./-").output == [1, 2, 3])
        for name in [String(repeating: "x", count: 255), "a\nb", "-rf"] {
            #expect(try home("file", "rename", id, "--", name).code == 0, "\(name)")
            #expect(try home("file", "cat", "./" + name).output == [1, 2, 3], "\(name)")
        }
        for name in ["", "a/b", "..", String(repeating: "x", count: 256)] {
            let run = try home("file", "rename", id, name, "--json")
            #expect(run.code == 64 && run.errorCode == "invalidInput", "\(name)")
        }
        #expect(try home("file", "rename", "none", "x").code == 3)
        #expect(try home("file", "verify", "--all").code == 0)
    }

    @Test("A name that several files have is reported when it is given, by add and by rename")
    func sharedName() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("a", [1])
        let first = try home("file", "add", path)
        #expect(first.code == 0 && first.errors.isEmpty, "\(first.errorText)")
        let second = try home("file", "add", path)
        #expect(second.code == 0 && second.errorText.contains("2 files are now named a."))
        let named = try home("file", "add", "-", "--name", "b", input: [1])
        #expect(named.code == 0 && named.errors.isEmpty, "\(named.errorText)")
        let renamed = try home("file", "rename", "b", "a", "--json")
        #expect(renamed.code == 0 && renamed.errorText.contains("3 files are now named a."))
        // Once for each name, however many files of one command have it.
        let both = try home("file", "add", path, path)
        #expect(both.errorText.split(separator: "\n").count == 1 && both.errorText.contains("5 files"))
        #expect(try home("file", "rename", "a", "c").code == 10)
    }

    @Test("A bound context is needed")
    func context() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("a", [1])
        #expect(try home("file", "add", path, "--context", "x").code == 0)
        #expect(try home("file", "rename", "a", "b").code == 7)
        #expect(try home("file", "rename", "a", "b", "--context", "x").code == 0)
        #expect(try home("file", "cat", "b", "--context", "x").output == [1])
    }
}
