import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("coffer file add --volatile", .enabled(if: KernelKeyring.isAvailable))
struct VolatileFileCommandTests {
    private func add(_ home: CommandHome, _ passcode: String? = "", _ options: String...) throws -> CommandRun
    {
        let path = try home.file("draft", Array("secret draft".utf8))
        return try home.run(["file", "add", path, "--volatile"] + options, passcode: passcode)
    }

    private func containers(_ home: CommandHome) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: home.path + "/vault/files")
    }

    @Test("Later commands read the file until lock; the list marks it and then removes it")
    func lasts() throws {
        let home = try CommandHome()
        let kept = try home.add(home.file("kept", [1, 2, 3]))
        #expect(try home("unlock").code == 0)
        #expect(try add(home).code == 0)
        #expect(try home.run(["file", "cat", "draft"], passcode: "").text == "secret draft")
        let list = try home.run(["file", "list", "--json"], passcode: "").json["files"] as? [[String: Any]]
        #expect(list?.compactMap { $0["volatile"] as? Bool } == [true, false])
        let text = try home.run(["file", "list"], passcode: "").text
        #expect(text.contains("STATE") && text.contains("volatile"))
        #expect(try home.run(["lock"], passcode: "").code == 0)
        #expect(try containers(home).count == 2)
        #expect(try home("file", "cat", "draft").code == 3)
        #expect(try containers(home).count == 1)
        let after = try home("file", "list")
        #expect(after.code == 0 && after.text.contains(kept) && !after.text.contains("STATE"))
    }

    @Test("Without cached keys the file lasts for the inactivity time at most, and a lock ends it")
    func withoutSession() throws {
        let home = try CommandHome()
        let id = try #require(try add(home, nil, "--json").json["id"] as? String)
        let ring = "coffer:\(try #require(try home.status()["vaultID"] as? String)):volatile"
        #expect(try #require(KernelKeys.secondsLeft(ring)) <= 600)
        #expect(try home("file", "cat", id).text == "secret draft")
        #expect(try home.run(["lock"], passcode: "").code == 0)
        #expect(try home("file", "cat", id).code == 3)
        #expect(try home("file", "list", "--json").json["files"] as? [[String: String]] == [])
        #expect(try containers(home).isEmpty)
    }

    @Test("--remove-original is refused with it")
    func original() throws {
        let home = try CommandHome(passcode: nil)
        let run = try add(home, nil, "--remove-original", "--json")
        #expect(run.code != 0 && run.errorCode == "invalidInput")
        #expect(try containers(home).isEmpty)
        let path = home.folder.appending(path: "draft").path(percentEncoded: false)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test(
        "Without a kernel keyring the file cannot be kept, and nothing is stored",
        .enabled(if: PreloadedLibrary.noKeyring != nil))
    func noKeyring() throws {
        let home = try CommandHome(passcode: nil)
        let environment = ["LD_PRELOAD": try #require(PreloadedLibrary.noKeyring), "NOKEYRING": "ENOSYS"]
        let path = try home.file("draft", [1])
        let run = try home.run(["file", "add", path, "--volatile", "--json"], environment: environment)
        #expect(run.code == 1 && run.errorCode == "unsupported")
        #expect(try containers(home).isEmpty)
        // Where the keyring cannot be searched, nothing tells whether a session has ended.
        #expect(try add(home, nil).code == 0)
        let list = try home.run(["file", "list", "--json"], environment: environment)
        #expect(list.code == 0 && (list.json["files"] as? [Any])?.count == 1)
        #expect(try home("file", "cat", "draft").text == "secret draft")
    }
}
