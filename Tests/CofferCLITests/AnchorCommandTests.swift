import Foundation
import TestSupport
import Testing

@Suite("coffer anchor")
struct AnchorCommandTests {
    private func code(_ run: CommandRun) -> String? {
        (run.json["error"] as? [String: Any])?["code"] as? String
    }

    @Test("An older copy put back is refused by every command that opens, until the owner accepts it")
    func olderCopy() throws {
        let home = try CommandHome()
        let anchor = home.folder.appending(path: "anchor").path(percentEncoded: false)
        let saved = home.folder.appending(path: "saved").path(percentEncoded: false)
        #expect(try home("token", "put", "s", "a", input: Array("one".utf8)).code == 0)
        #expect(try home("anchor", "check").code == 3)
        #expect(try home("anchor", "set", anchor).code == 0)
        let receipt = try home("anchor", "print").text.split(separator: "\n").first.map(String.init)
        try FileManager.default.copyItem(atPath: home.path, toPath: saved)
        #expect(try home("token", "put", "s", "a", input: Array("two".utf8)).code == 0)
        let later = try #require(try home("anchor", "print").text.split(separator: "\n").first)
        #expect(try home("anchor", "check", try #require(receipt)).code == 0)
        try FileManager.default.removeItem(atPath: home.path)
        try FileManager.default.copyItem(atPath: saved, toPath: home.path)
        for words in [
            ["token", "get", "s", "a"], ["unlock"], ["passcode", "remove"], ["rotate"],
            ["recovery", "create", "--unchecked"], ["anchor", "check"], ["anchor", "check", String(later)],
            ["anchor", "set", anchor + "2"],
        ] {
            let run = try home.run(words + ["--json"])
            #expect(run.code == 7 && code(run) == "rolledBack", "\(words): \(run.text)\(run.errorText)")
        }
        #expect(try home("anchor", "list").text.contains("rolledBack"))
        #expect(try home("lock").code == 0)
        #expect(try home("anchor", "reset").code == 0)
        #expect(try home("token", "get", "s", "a").text == "one")
        #expect(try home("doctor").text.contains("anchors"))
    }

    @Test("A lost anchor is anchorLost, and reset and remove are the ways out")
    func lost() throws {
        let home = try CommandHome()
        let anchor = home.folder.appending(path: "anchor").path(percentEncoded: false)
        #expect(try home("anchor", "set", anchor).code == 0)
        for way in [["anchor", "reset"], ["anchor", "remove", "file"]] {
            try FileManager.default.removeItem(atPath: anchor)
            let run = try home("token", "list", "--json")
            #expect(run.code == 7 && code(run) == "anchorLost", "\(run.text)")
            #expect(try home("lock").code == 0)
            // What is stored while locked needs no anchor; a given passcode is not ignored.
            let put = ["token", "put", "s", "waiting"]
            #expect(try home.run(put, input: [1]).code == 7)
            let queued = try home.run(put, passcode: "", input: [1])
            #expect(queued.code == 0, "\(queued.errorText)")
            #expect(queued.errorText.contains("waiting for the next unlock"))
            #expect(try home.run(way).code == 0, "\(way)")
            #expect(try home("token", "list").code == 0, "\(way)")
        }
        #expect(try home("anchor", "remove", "file").code == 3)
        let nowhere = try home("anchor", "set", anchor + "/no/place", "--json")
        #expect(nowhere.code == 7 && code(nowhere) == "anchorLost")
        #expect(!nowhere.text.contains("anchor reset"), "\(nowhere.text)")
        #expect(try home("anchor", "set").code == 64)
        #expect(try home("anchor", "set", anchor, "--kernel-keyring").code == 64)
        #expect(try home("wipe", "--yes").code == 0)
    }
}
