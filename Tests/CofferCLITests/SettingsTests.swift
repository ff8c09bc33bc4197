import Foundation
import TestSupport
import Testing

@Suite("coffer settings")
struct SettingsTests {
    @Test("The settings are shown without a passcode, as init made them")
    func shown() throws {
        let home = try CommandHome(
            passcode: "837165", "--policy", "digits", "--minimum-length", "6", "--deny-common",
            "--attempt-delays", "off", "--erase-after", "never", "--inactivity", "reboot")
        let run = try home.run(["settings", "--json"], passcode: "")
        #expect(run.code == 0 && run.json.count == 11, "\(run.errorText)")
        #expect(run.json["policy"] as? String == "digits" && run.json["minimumLength"] as? Int == 6)
        #expect(run.json["denyCommon"] as? Bool == true && run.json["deniedPasscodes"] as? Int == 0)
        #expect(run.json["attemptDelays"] as? Bool == false && run.json["inactivityMinutes"] is NSNull)
        #expect(run.json["eraseAfter"] is NSNull)
        #expect(run.json["requireDiskEncryption"] as? Bool == false)
        #expect(run.json["keyringPrompts"] as? Bool == false)
        #expect(run.json["recoveryKeys"] as? Bool == true)
        let text = try home.run(["settings"], passcode: "").text
        #expect(text.contains("eraseAfter: never\n"))
        #expect(text.contains("policy: digits\n") && text.contains("inactivityMinutes: until a reboot\n"))
    }

    @Test("init, settings, doctor and the refusal say the same of the policy digits")
    func digits() throws {
        for command in ["init", "settings"] {
            let help = try CommandRun.coffer(command, "--help").text.split { $0.isWhitespace }
                .joined(separator: " ")
            #expect(help.contains("4 to 8 of 0 to 9, or exactly --minimum-length if that is greater than 8"))
        }
        let home = try CommandHome(passcode: "837165294", "--policy", "digits", "--minimum-length", "9")
        let refused = try home.run(["passcode", "change"], new: "8371652940")
        #expect(refused.code == 11 && refused.errorText.contains("requires a passcode of 9 digits"))
        let doctor = try home.run(["doctor"], passcode: "").text
        #expect(doctor.contains("requires only 9 digits"), "\(doctor)")
    }

    @Test("To tighten needs no passcode, and the rules hold from the next change on")
    func tighter() throws {
        let home = try CommandHome(passcode: "2468")
        let list = try home.file("denied", Array("60221408\n".utf8))
        let run = try home.run(
            [
                "settings", "--json", "--policy", "digits", "--minimum-length", "8", "--deny-common", "on",
                "--deny-file", list, "--inactivity", "2",
            ], passcode: "")
        #expect(run.code == 0 && run.json["minimumLength"] as? Int == 8, "\(run.errorText)")
        #expect(run.json["inactivityMinutes"] as? Int == 2 && run.json["deniedPasscodes"] as? Int == 1)
        #expect(try home.status()["inactivityMinutes"] as? Int == 2)
        for (time, minutes) in [("90m", 90), ("1h", 60), ("PT5M", 5)] {
            let set = try home("settings", "--json", "--inactivity", time)
            #expect(set.json["inactivityMinutes"] as? Int == minutes, "\(time): \(set.errorText)")
        }
        for time in ["30s", "90s", "0m", "366d", "soon", "2027-01-31"] {
            #expect(try home("settings", "--inactivity", time).code == 64, "\(time)")
        }
        for passcode in ["2468135", "12345678", "60221408", "abcdefgh"] {
            #expect(try home.run(["passcode", "change"], new: passcode).code == 11, "\(passcode)")
        }
        #expect(try home.run(["passcode", "change"], new: "83716529").code == 0)
    }

    @Test(
        "To loosen needs the passcode; without it nothing changes, and a wrong one counts",
        arguments: [
            ["--policy", "none"], ["--minimum-length", "3"], ["--deny-common", "off"],
            ["--attempt-delays", "off"], ["--inactivity", "11"], ["--inactivity", "reboot"],
            ["--inactivity", "1", "--minimum-length", "3"], ["--erase-after", "never"],
            ["--keyring-prompts", "on"], ["--keyring-prompts", "on", "--inactivity", "1"],
        ])
    func looser(_ options: [String]) throws {
        let home = try CommandHome(passcode: "837165", "--policy", "digits", "--deny-common")
        let before = try home.run(["settings"], passcode: "").text
        let none = try home.run(["settings", "--json"] + options, passcode: "")
        #expect(none.code == 4 && none.errorCode == "locked" && none.errorText.contains("--passcode-fd"))
        #expect(try home.run(["settings"] + options, passcode: "000000").code == 5)
        #expect(try home.status()["attemptsLeft"] as? Int == 9)
        #expect(try home.run(["settings"], passcode: "").text == before)
        let run = try home.run(["settings"] + options)
        #expect(run.code == 0 && run.text != before, "\(run.errorText)")
        #expect(try home.run(["settings"], passcode: "").text == run.text)
    }

    @Test("Prompts of the keyring are forbidden without a passcode, and stay as they are otherwise")
    func prompts() throws {
        let home = try CommandHome(passcode: "2468")
        func isOn(_ options: String...) throws -> Bool? {
            try home.run(["settings", "--json"] + options, passcode: "").json["keyringPrompts"] as? Bool
        }
        #expect(try home("settings", "--keyring-prompts", "on").code == 0)
        #expect(try isOn() == true)
        #expect(try isOn("--inactivity", "2") == true)
        // What is on already needs no passcode.
        #expect(try isOn("--keyring-prompts", "on") == true)
        #expect(try isOn("--keyring-prompts", "off") == false)
        #expect(try isOn("--keyring-prompts", "off") == false)
        let open = try CommandHome(passcode: nil)
        #expect(try open("settings", "--keyring-prompts", "on").code == 0)
    }

    @Test("An unlocked vault is not enough to loosen; without a passcode nothing needs one")
    func unlocked() throws {
        let home = try CommandHome()
        let isHeld = try home("unlock", "--json").json["held"] as? Bool == true
        let run = try home.run(["settings", "--inactivity", "reboot"], passcode: "")
        #expect(run.code == 4)
        if isHeld {
            #expect(try home.run(["settings", "--inactivity", "1"], passcode: "").code == 0)
            #expect(try home.status()["state"] as? String == "locked")
        }
        let open = try CommandHome(passcode: nil)
        #expect(try open("settings", "--inactivity", "reboot", "--attempt-delays", "off").code == 0)
    }

    @Test(
        "Wrong values change nothing",
        arguments: [
            ["--policy", "letters"], ["--minimum-length", "0"], ["--minimum-length", "129"],
            ["--inactivity", "0"], ["--inactivity", "soon"], ["--attempt-delays", "maybe"],
            ["--deny-common", "x"], ["--deny-file", "-"], ["--erase-after", "11"], ["--erase-after", "0"],
            ["--require-disk-encryption", "maybe"], ["--keyring-prompts", "maybe"],
        ])
    func wrong(_ options: [String]) throws {
        let home = try CommandHome()
        let before = try home.run(["settings"], passcode: "").text
        #expect(try home.run(["settings"] + options).code == 64)
        #expect(try home.run(["settings"], passcode: "").text == before)
    }
}
