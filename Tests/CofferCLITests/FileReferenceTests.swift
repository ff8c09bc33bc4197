import Foundation
import Testing
import TestSupport

/// How the file commands find the file that an argument specifies.
@Suite("coffer file, by name, id and the beginning of an id")
struct FileReferenceTests {
    /// Adds a file of this name and content; gives its id.
    private func add(_ name: String, _ text: String, to home: CommandHome) throws -> String {
        try home.add(try home.file(name, Array(text.utf8)))
    }

    @Test("Every file command takes a name, an id and the beginning of an id")
    func everywhere() throws {
        let home = try CommandHome(passcode: nil)
        let id = try add("notes.txt", "hello", to: home)
        let references = ["notes.txt", "./notes.txt", id, id.uppercased(), String(id.prefix(8))]
        for (number, reference) in references.enumerated() {
            let target = home.folder.appending(path: "out-\(number)").path(percentEncoded: false)
            for (words, output) in [
                (["cat", reference], "hello"), (["verify", reference], "\(id): authentic\n"),
                (["view", reference, "--", "cat"], "hello"), (["export", reference, target], ""),
                (["rewrap", reference], ""),
            ] {
                let run = try home.run(["file"] + words)
                #expect(run.code == 0 && run.text == output, "\(words): \(run.errorText)")
            }
        }
        let other = try add("other", "x", to: home)
        #expect(try home("file", "remove", "notes.txt").code == 0)
        #expect(try home("file", "remove", String(other.prefix(9))).code == 0)
        #expect(try home.status()["files"] as? Int == 0)
    }

    @Test("A name of two files, or a beginning of two ids, is ambiguous, and nothing is done")
    func ambiguous() throws {
        let home = try CommandHome(passcode: nil)
        let twins = try [add("twin", "1", to: home), add("twin", "2", to: home)]
        for command in [["remove"], ["cat"], ["view", "--", "true"], ["verify"]] {
            var words = ["file", command[0], "twin"] + command.dropFirst()
            words.insert("--json", at: 2)
            let run = try home.run(words)
            #expect(run.code == 10 && run.errorCode == "ambiguous", "\(command): \(run.errorText)")
            let error = run.json["error"] as? [String: Any]
            #expect((error?["entries"] as? [String])?.sorted() == twins.sorted(), "\(command)")
            #expect(twins.allSatisfy { run.errorText.contains($0) })
        }
        #expect(try home.status()["files"] as? Int == 2)
        #expect(try home("file", "cat", twins[1]).text == "2")
        // A beginning that is also the name of another file.
        let start = String(twins[0].prefix(8))
        _ = try add(start, "named", to: home)
        let run = try home("file", "remove", start)
        #expect(run.code == 10 && run.errorText.contains("./\(start)"), "\(run.errorText)")
        #expect(try home("file", "cat", "./" + start).text == "named")
        #expect(try home("file", "cat", String(twins[0].prefix(9))).text == "1")
    }

    @Test("A whole id wins over a file that is called so, which ./ reaches")
    func idWins() throws {
        let home = try CommandHome(passcode: nil)
        let id = try add("a", "by id", to: home)
        _ = try add(id, "by name", to: home)
        #expect(try home("file", "cat", id).text == "by id")
        #expect(try home("file", "cat", "./" + id).text == "by name")
        #expect(try home("file", "remove", id).code == 0)
        // No file has this id any more.
        #expect(try home("file", "cat", id).text == "by name")
    }

    @Test("A file called - is ./-, short text is no beginning, and bytes are compared as they are")
    func names() throws {
        let home = try CommandHome(passcode: nil)
        let id = try add("-", "dash", to: home)
        #expect(try home("file", "cat", "./-").text == "dash")
        let dash = try home("file", "cat", "-", "--json")
        #expect(dash.code == 64 && dash.errorCode == "invalidInput" && dash.errorText.contains("./-"))
        let short = try home("file", "cat", String(id.prefix(3)), "--json")
        #expect(short.errorCode == "absent" && short.errorText.contains("at least 4 characters"))
        let name = try home("file", "cat", "nosuch.txt")
        #expect(name.errorText.hasPrefix("coffer: There is no file named nosuch.txt. Run "))
        #expect(try home("file", "cat", String(id.prefix(4))).text == "dash")
        _ = try add("caf\u{e9}", "composed", to: home)
        _ = try add("cafe\u{301}", "decomposed", to: home)
        #expect(try home("file", "cat", "caf\u{e9}").text == "composed")
        #expect(try home("file", "cat", "cafe\u{301}").text == "decomposed")
        for text in ["", "../home", "./", "a/b"] {
            let run = try home("file", "cat", text, "--json")
            #expect(run.code == 64 && run.errorCode == "invalidInput", "\(text): \(run.errorText)")
        }
    }

    @Test("Missing files and containers that are not in the index are found, too")
    func damaged() throws {
        let home = try CommandHome(passcode: nil)
        let lost = try add("lost", "1", to: home)
        try FileManager.default.removeItem(atPath: home.path + "/vault/files/\(lost).coffer")
        #expect(try home("file", "cat", "lost", "--json").errorCode == "missing")
        #expect(try home("file", "remove", "lost").code == 0)
        let index = URL(filePath: home.path + "/vault/fileindex")
        let before = try Data(contentsOf: index)
        let unlisted = try add("unlisted", "2", to: home)
        try before.write(to: index)
        #expect(try home("file", "cat", String(unlisted.prefix(8)), "--json").errorCode == "corrupt")
        #expect(try home("file", "reindex").code == 0)
        #expect(try home("file", "cat", "unlisted").text == "2")
    }
}
