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

    @Test("Later commands find it until lock; no file knows of it; the list marks it")
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

    @Test("It has the time-out of the session that is held, and goes with a wipe")
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

    @Test(
        "Without a kernel keyring there is nowhere to keep it",
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
