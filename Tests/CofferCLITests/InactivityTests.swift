import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("The inactivity time through the command", .enabled(if: KernelKeyring.isAvailable))
struct InactivityTests {
    private func state(_ home: CommandHome, _ before: [String] = []) throws -> String? {
        try home.run(["status", "--json"], passcode: "", before: before).json["state"] as? String
    }

    @Test(
        "1, 5, 10, 30 minutes and any other: unlocked just before, locked after; suspended time counts",
        .enabled(if: OtherClocks.areThere), arguments: [1, 5, 10, 30, 77])
    func minutes(_ minutes: Int) throws {
        let home = try CommandHome("--inactivity", "\(minutes)")
        #expect(try home("unlock").code == 0)
        // A machine under load takes a while for one command, hence 40 seconds.
        #expect(try state(home, OtherClocks.later(minutes * 60 - 40)) == "unlocked")
        #expect(try state(home, OtherClocks.later(minutes * 60 + 1)) == "locked")
        // Locked is locked: the clock that was ahead does not give the keys back.
        #expect(try state(home) == "locked")
    }

    @Test("After reboot only: a year without use changes nothing", .enabled(if: OtherClocks.areThere))
    func reboot() throws {
        let home = try CommandHome("--inactivity", "reboot")
        #expect(try home("unlock").code == 0)
        #expect(try state(home, OtherClocks.later(31_536_000)) == "unlocked")
        #expect(try home.run(["lock"], passcode: "").code == 0)
    }

    @Test("Use starts the time again, looking does not", .enabled(if: OtherClocks.areThere))
    func use() throws {
        let home = try CommandHome("--inactivity", "10")
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        #expect(try home("unlock").code == 0)
        let get = ["token", "get", "s", "a"]
        #expect(try state(home, OtherClocks.later(500)) == "unlocked")
        // Used 500 seconds on, so that 600 seconds end at 1100.
        #expect(try home.run(get, passcode: "", before: OtherClocks.later(500)).output == [1])
        #expect(try home.run(get, passcode: "", before: OtherClocks.later(900)).output == [1])
        #expect(try state(home, OtherClocks.later(1300)) == "unlocked")
        #expect(try state(home, OtherClocks.later(1600)) == "locked")
    }

    @Test("Use does not start the time of --for again", .enabled(if: OtherClocks.areThere))
    func exactly() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        #expect(try home("unlock", "--for", "300").code == 0)
        #expect(
            try home.run(["token", "get", "s", "a"], passcode: "", before: OtherClocks.later(200)).output == [
                1
            ])
        #expect(try state(home, OtherClocks.later(301)) == "locked")
    }

    @Test(
        "Setting the clock back or ahead changes nothing",
        .enabled(if: OtherClocks.clocks != nil && OtherClocks.areThere))
    func clock() throws {
        let home = try CommandHome("--inactivity", "10")
        #expect(try home("unlock").code == 0)
        for shift in [-7200, 7200, -1_000_000_000, 347_155_200] {
            #expect(try state(home, OtherClocks.shifted(shift)) == "unlocked", "\(shift)")
        }
        let back = OtherClocks.shifted(-7200)
        // The library works: what is stored is dated by the clock on the wall.
        #expect(try home.run(["token", "put", "s", "a"], input: [1], before: back).code == 0)
        let list = try home.run(["token", "list", "--json"], passcode: "")
        let token = try #require((list.json["tokens"] as? [[String: Any]])?.first)
        let stored = try #require(token["stored"] as? String)
        let date = try #require(ISO8601DateFormatter().date(from: stored.prefix(19) + "Z"))
        #expect(date.timeIntervalSinceNow < -3600)
        #expect(try state(home, OtherClocks.later(601) + back) == "locked")
        #expect(try state(home) == "locked")
    }
}

/// Ways to run a command by another clock; each goes before its name.
enum OtherClocks {
    /// The clock since boot shows so many seconds more, as after a suspend.
    static func later(_ seconds: Int) -> [String] {
        ["env", "LD_PRELOAD=" + (clocks ?? ""), "BOOT_SHIFT=\(seconds)"]
    }

    /// The clock on the wall is set to another time; that since boot is as it was.
    static func shifted(_ seconds: Int) -> [String] {
        ["env", "LD_PRELOAD=" + (clocks ?? ""), "WALL_SHIFT=\(seconds)"]
    }

    /// The environment in which the clock on the wall stands at so many seconds after 1970.
    static func standing(at seconds: Int) -> [String: String] {
        ["LD_PRELOAD": clocks ?? "", "WALL_TIME": String(seconds)]
    }

    /// Whether there is a compiler to build the library with.
    static var areThere: Bool { clocks != nil }

    /// Tests/Faults/wallclock.c, built once beside the command.
    static let clocks: String? = {
        let target = CommandRun.cofferPath + "-wallclock.so"
        let source = PackageRoot.path + "Tests/Faults/wallclock.c"
        let run = try? CommandRun.run("cc", ["-shared", "-fPIC", "-O2", "-o", target, source, "-ldl"])
        return run?.code == 0 ? target : nil
    }()
}
