import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("coffer token put --volatile", .enabled(if: KernelKeyring.isAvailable))
struct VolatileCommandTests {
    private func put(_ home: CommandHome, _ value: String, passcode: String? = "") throws -> CommandRun {
        try home.run(
            ["token", "put", "s", "a", "--volatile"], passcode: passcode, input: Array(value.utf8))
    }

    private func ring(_ home: CommandHome) throws -> String {
        "coffer:\(try #require(try home.status()["vaultID"] as? String)):volatile"
    }

    @Test("Later commands find a volatile token until lock; no file has it; the list marks it")
    func lasts() throws {
        let home = try CommandHome()
        #expect(try home("unlock").code == 0)
        let file = home.path + "/vault/tokens"
        let before = try Data(contentsOf: URL(filePath: file))
        #expect(try put(home, "5ecre7").text == "1\n")
        #expect(try put(home, "5ecre7 again").text == "2\n")
        #expect(try Data(contentsOf: URL(filePath: file)) == before)
        #expect(try home.run(["token", "get", "s", "a"], passcode: "").text == "5ecre7 again")
        let list = try home.run(["token", "list", "--json"], passcode: "").json["tokens"] as? [[String: Any]]
        #expect(list?.count == 1 && list?.first?["volatile"] as? Bool == true)
        #expect(try home.run(["token", "list"], passcode: "").text.contains("volatile"))
        #expect(try home.status()["tokens"] as? Int == 1)
        #expect(try home.run(["lock"], passcode: "").code == 0)
        #expect(KernelKeys.secondsLeft(try ring(home)) == nil)
        #expect(try home.run(["token", "get", "s", "a"], passcode: "").code == 3)
        #expect(try home("token", "get", "s", "a").code == 3)
    }

    @Test("A volatile token has the held session's time-out, and a wipe removes it")
    func timeout() throws {
        let home = try CommandHome()
        let ring = try ring(home)
        #expect(try home("unlock", "--for", "3600").code == 0)
        #expect(try put(home, "x").code == 0)
        #expect(try #require(KernelKeys.secondsLeft(ring)) <= 3600)
        #expect(try home("unlock", "--for", "1").code == 0)
        let deadline = ContinuousClock.now + .seconds(20)
        while KernelKeys.secondsLeft(ring) != nil, ContinuousClock.now < deadline { usleep(50_000) }
        #expect(try home("token", "get", "s", "a").code == 3)
        // Without a session that is held: the inactivity time.
        #expect(try put(home, "x", passcode: nil).code == 0)
        #expect(try #require(KernelKeys.secondsLeft(ring)) <= 600)
        #expect(try home("token", "get", "s", "a").text == "x")
        #expect(try home("wipe", "--yes").code == 0)
        #expect(KernelKeys.secondsLeft(ring) == nil)
    }

    private func token(_ home: CommandHome, _ verb: String, _ arguments: String..., value: String = "")
        throws -> CommandRun
    {
        try home.run(["token", verb] + arguments, passcode: "", input: Array(value.utf8))
    }

    @Test("A renamed volatile token stays volatile")
    func renamed() throws {
        let home = try CommandHome()
        #expect(try home("unlock").code == 0)
        #expect(try put(home, "x").code == 0)
        #expect(try token(home, "rename", "s", "a", "s", "b").text == "1\n")
        #expect(try token(home, "get", "s", "a").code == 3)
        #expect(try token(home, "get", "s", "b").text == "x")
        let list = try token(home, "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(list?.compactMap { $0["volatile"] as? Bool } == [true])
        #expect(try home.run(["lock"], passcode: "").code == 0)
        #expect(try home("token", "get", "s", "b").code == 3)
    }

    /// The name under which a keyring stores a token, as read from a file in the inbox.
    private func keyedName(_ home: CommandHome, _ names: String...) throws -> String {
        let put = ["token", "put", "--class", "whenUnlockedThisDeviceOnly"]
        #expect(try home.run(put + names, passcode: "", input: [1]).code == 0)
        let inbox = URL(filePath: home.path + "/vault/inbox")
        let file = try #require(try FileManager.default.contentsOfDirectory(atPath: inbox.path).first)
        let bytes = [UInt8](try Data(contentsOf: inbox.appending(path: file)))
        try FileManager.default.removeItem(at: inbox)
        return bytes[40..<72].map { String(format: "%02x", $0) }.joined()
    }

    @Test("An entry of a locked class planted in the kernel's keyring hides no stored token")
    func planted() throws {
        let home = try CommandHome()
        let ring = try ring(home)
        #expect(try home("unlock").code == 0)
        let open = ["--class", "afterFirstUnlock"]
        #expect(try home.run(["token", "put", "host", "me"] + open, input: Array("REAL".utf8)).code == 0)
        #expect(try put(home, "captured").code == 0)
        let captured = try #require(try KernelSubkeyring.find(ring))
        let entry = try #require(try captured.descriptions().first)
        guard let envelope = try captured.read(entry) else {
            Issue.record("nothing to capture")
            return
        }
        #expect(try home.run(["lock"], passcode: "").code == 0)
        for name in [try keyedName(home, "host", "me"), try keyedName(home, "nobody", "me")] {
            try KernelSubkeyring.make(ring).store(envelope, description: name)
        }
        #expect(try token(home, "get", "host", "me").text == "REAL")
        // For a name without a stored token, the locked vault cannot tell whether one exists.
        #expect(try token(home, "get", "nobody", "me").code == 4)
        #expect(
            try token(home, "put", "host", "me", "--class", "afterFirstUnlock", value: "NEW").text == "2\n")
        #expect(try token(home, "get", "host", "me").text == "NEW")
        let versioned = ["nobody", "me", "--class", "afterFirstUnlock", "--if-version", "0"]
        #expect(try home.run(["token", "put"] + versioned, passcode: "", input: [1]).code == 4)
        #expect(
            try token(home, "put", "nobody", "me", "--class", "afterFirstUnlock", value: "OWN").text == "1\n")
        #expect(try token(home, "get", "nobody", "me").text == "OWN")
        // What was stored took the place of what was planted.
        #expect(try KernelSubkeyring.find(ring)?.descriptions().isEmpty == true)
        let list = try home.run(["token", "list", "--json"], passcode: "")
        #expect(list.code == 0 && (list.json["tokens"] as? [Any])?.count == 2)
    }

    @Test(
        "A volatile token is locked, not absent, without the passcode; what is planted is not listed"
    )
    func lockedNotAbsent() throws {
        let home = try CommandHome()
        #expect(try put(home, "x", passcode: nil).code == 0)
        #expect(try home.run(["token", "get", "s", "a"], passcode: "").code == 4)
        #expect(try home("token", "get", "s", "a").text == "x")
        let bytes = Array("stored".utf8)
        #expect(try home.run(["token", "put", "host", "me"], input: bytes).code == 0)
        let ring = try #require(try KernelSubkeyring.find(try ring(home)))
        let name = try keyedName(home, "host", "me")
        guard let envelope = try ring.read(try #require(try ring.descriptions().first)) else {
            Issue.record("nothing to capture")
            return
        }
        try ring.store(envelope, description: name)
        #expect(try home("token", "get", "host", "me").text == "stored")
        let list = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(list?.compactMap { $0["volatile"] as? Bool } == [false, true])
    }

    @Test(
        "Without a kernel keyring a volatile token cannot be kept",
        .enabled(if: PreloadedLibrary.noKeyring != nil))
    func noKeyring() throws {
        let home = try CommandHome(passcode: nil)
        let environment = ["LD_PRELOAD": try #require(PreloadedLibrary.noKeyring), "NOKEYRING": "ENOSYS"]
        let put = ["token", "put", "s", "a", "--volatile", "--json"]
        let run = try home.run(put, input: [1], environment: environment)
        #expect(run.code == 1 && run.errorCode == "unsupported")
        #expect(try home.run(["token", "put", "s", "a"], input: [1], environment: environment).code == 0)
        #expect(try home.status()["tokens"] as? Int == 1)
    }
}
