import Foundation
import TestSupport
import Testing

@Suite("coffer export, coffer import")
struct ExportTests {
    private func run(_ home: CommandHome, _ words: [String], _ passphrase: String) throws -> CommandRun {
        try CommandRun.run(
            CommandRun.cofferPath,
            words + ["--home", home.path, "--passcode-fd", "3", "--passphrase-fd", "4", "--json"],
            descriptors: [3: Array("2468\n".utf8), 4: Array((passphrase + "\n").utf8)])
    }

    @Test(
        "Import exits 10 on a conflict, 5 on a wrong passphrase, 7 on damage, 13 on an existing file")
    func circle() throws {
        let home = try CommandHome()
        let file = home.folder.appending(path: "export").path(percentEncoded: false)
        let passphrase = "correct horse battery"
        #expect(try run(home, ["export", file], passphrase).code == 11)
        for (account, protection) in [("a", "whenUnlocked"), ("b", "afterFirstUnlock")] {
            #expect(
                try home("token", "put", "s", account, "--class", protection, input: [1, 10, 0]).code == 0)
        }
        #expect(try home("token", "put", "s", "c", input: [3]).code == 0)
        #expect(try run(home, ["export", file], "too short").code == 11)
        let exported = try run(home, ["export", file], passphrase)
        #expect(exported.code == 0, "\(exported.errorText)")
        #expect(exported.json["exported"] as? Int == 2 && exported.json["thisDeviceOnly"] as? Int == 1)
        #expect(try run(home, ["export", file], passphrase).code == 13)

        let other = try CommandHome()
        #expect(try other("token", "put", "s", "a", input: [9]).code == 0)
        let wrong = try run(other, ["import", file], passphrase + "!")
        #expect(wrong.code == 5 && wrong.errorCode == "wrongPasscode")
        let some = try run(other, ["import", file], passphrase)
        #expect(some.code == 10 && some.json["imported"] as? Int == 1)
        #expect((some.json["conflicts"] as? [[String: String]])?.map { $0["account"] } == ["a"])
        #expect(try other("token", "get", "s", "a").output == [9])
        #expect(try other("token", "get", "s", "b").output == [1, 10, 0])
        #expect(try other("token", "get", "s", "c").code == 3)
        let all = try run(other, ["import", file, "--replace"], passphrase)
        #expect(all.code == 0 && all.json["replaced"] as? Int == 1 && all.json["same"] as? Int == 1)
        #expect(try other("token", "get", "s", "a").output == [1, 10, 0])

        for photo in [[0xff, 0xd8, 0xff], Array(repeating: 0xff, count: 200)] as [[UInt8]] {
            let none = try run(other, ["import", try other.file("photo.jpg", photo)], passphrase)
            #expect(none.code == 7 && none.errorText.contains("is not an export of Coffer"))
        }
        let unasked = try other("export", other.folder.appending(path: "new").path(percentEncoded: false))
        #expect(unasked.code == 64 && unasked.errorText.contains("export's passphrase is required"))

        var bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
        bytes[bytes.count - 1] ^= 1
        let bad = try other.file("bad", bytes)
        #expect(try run(other, ["import", bad], passphrase).code == 7)
        // 4 GiB and 64 passes.
        bytes.replaceSubrange(32..<40, with: [0, 0x40, 0, 0, 0, 0, 0, 64])
        let dear = try run(other, ["import", try other.file("dear", bytes)], passphrase)
        #expect(dear.code == 11 && dear.errorText.contains("--allow-expensive."))
        // One KiB more than 4 GiB: no option helps.
        bytes.replaceSubrange(32..<40, with: [0, 0x40, 0, 1, 0, 0, 0, 3])
        let outside = try run(other, ["import", try other.file("outside", bytes)], passphrase)
        #expect(outside.code == 11 && outside.errorText.contains("out of bounds"))
        #expect(!outside.errorText.contains("--allow-expensive"), "\(outside.errorText)")
        #expect(try run(other, ["import", file + "-"], passphrase).code == 3)
    }

    @Test("A locked home exports and imports nothing")
    func locked() throws {
        let home = try CommandHome()
        let file = home.folder.appending(path: "export").path(percentEncoded: false)
        for words in [["export", file], ["import", file]] {
            let run = try home.run(
                words + ["--passphrase-fd", "0"], passcode: "", input: Array("correct horse battery\n".utf8))
            #expect(run.code == 4, "\(run.errorText)")
        }
    }
}
