import Foundation
import Testing
import TestSupport

@Suite("coffer passcode")
struct PasscodeTests {
    @Test("Change, remove, set: the token stays, the old passcode does not")
    func circle() throws {
        let home = try CommandHome("--attempt-delays", "off")
        #expect(try home("token", "put", "s", "a", input: [1, 2]).code == 0)
        func get(_ passcode: String) throws -> CommandRun {
            try home.run(["token", "get", "s", "a"], passcode: passcode)
        }
        let changed = try home.run(["passcode", "change", "--json"], new: "1357")
        #expect(changed.code == 0 && changed.json["passcode"] as? Bool == true)
        #expect(try get("2468").code == 5 && get("1357").output == [1, 2])
        let removed = try home.run(["passcode", "remove", "--json"], passcode: "1357")
        #expect(removed.code == 0 && removed.json["passcode"] as? Bool == false)
        #expect(try get("").output == [1, 2])
        #expect(try home.status()["state"] as? String == "unlocked")
        #expect(try home.run(["passcode", "remove"], passcode: "1357").code == 3)
        let set = try home.run(["passcode", "set", "--json"], passcode: "", new: "9753")
        #expect(set.code == 0 && set.json["passcode"] as? Bool == true)
        #expect(try get("").code == 4 && get("9753").output == [1, 2])
        #expect(try home.run(["passcode", "set"], passcode: "", new: "1").code == 13)
    }

    @Test("A wrong or missing passcode changes nothing")
    func refused() throws {
        let home = try CommandHome("--policy", "digits")
        for (passcode, new, code) in [
            ("1357", "8642", 5), ("2468", "letters", 11), ("2468", "", 64), ("", "8642", 4),
        ] as [(String, String, Int32)] {
            let run = try home.run(["passcode", "change", "--json"], passcode: passcode, new: new)
            #expect(run.code == code && run.errorCode != nil, "\(passcode) \(new): \(run.text)")
        }
        #expect(try home.run(["passcode", "change"]).code == 64)
        #expect(try home("token", "list").code == 0)
    }

    @Test("Removal counts what it destroys with the passcode; without one the class is refused")
    func bound() throws {
        let home = try CommandHome()
        let put = ["token", "put", "s", "a", "--class", "whenPasscodeSetThisDeviceOnly", "--json"]
        #expect(try home.run(put, input: [1]).code == 0)
        #expect(try home("token", "put", "s", "b", "--class", "whenUnlocked", input: [2]).code == 0)
        let file = try home.file("note", [3])
        #expect(try home("file", "add", file, "--class", "whenPasscodeSetThisDeviceOnly").code == 0)
        let run = try home("passcode", "remove", "--json")
        #expect(run.code == 0 && run.json["passcode"] as? Bool == false)
        #expect(run.json["destroyedTokens"] as? Int == 1 && run.json["destroyedFiles"] as? Int == 1)
        #expect(run.errorText.contains("1 token, 1 file, 0 databases and 0 key pairs"))
        #expect(try home.run(["token", "get", "s", "a"], passcode: "").code == 3)
        #expect(try home.run(["token", "get", "s", "b"], passcode: "").output == [2])
        let refused = try home.run(put, passcode: "", input: [1])
        #expect(refused.code == 11 && refused.errorCode == "refused")
        #expect(try home.status()["files"] as? Int == 0)
    }

    @Test("Both passcodes may be lines of standard input")
    func lines() throws {
        let home = try CommandHome()
        let run = try home.run(
            ["passcode", "change", "--passcode-fd", "0", "--new-passcode-fd", "0"], passcode: "",
            input: Array("2468\n1357\n".utf8))
        #expect(run.code == 0)
        #expect(try home.run(["token", "list"], passcode: "1357").code == 0)
    }

    @Test("A descriptor that the command opened for itself is no passcode", arguments: 3...8)
    func foreignDescriptor(_ number: Int) throws {
        let home = try CommandHome(passcode: nil)
        let run = try home("unlock", "--passcode-fd", String(number), "--json")
        #expect(run.code == 64 && run.errorCode == "invalidInput")
    }

    @Test("Before the last attempt the prompt says what a wrong passcode does")
    func lastAttempt() throws {
        let home = try CommandHome("--attempt-delays", "off")
        let warning = "One attempt left: the next wrong passcode erases the vault."
        func shown() throws -> String {
            try TerminalRun.coffer(["2468"], ["passcode", "remove", "--home", home.path]).shown
        }
        func wrong(_ numbers: ClosedRange<Int>) throws {
            for number in numbers { _ = try home.run(["unlock"], passcode: "wrong-\(number)") }
        }
        try wrong(1...9)
        #expect(try shown().contains(warning))
        _ = try home.run(["passcode", "set"], passcode: "", new: "2468")
        try wrong(1...8)
        #expect(try !shown().contains(warning))
    }

    @Test("The least length counts characters, not bytes")
    func characters() throws {
        let home = try CommandHome(passcode: "ööö12", "--policy", "alphanumeric")
        #expect(try home.run(["passcode", "change"], new: "öö12").code == 11)
        #expect(try home.run(["passcode", "change"], new: "äää34").code == 0)
    }

    @Test("A terminal prompt hides the passcode, asks twice for a new one, and restores the echo")
    func prompts() throws {
        let folder = try ScratchDirectory.make()
        let home = folder.path(of: "home")
        let create = ["init", "--no-movable", "--no-recovery", "--home", home] + CommandHome.cheap
        let mismatches = Array(repeating: ["first-1", "second-2"], count: 3).flatMap { $0 }
        let mismatch = try TerminalRun.coffer(mismatches, create)
        #expect(mismatch.code == 64 && mismatch.prompts == 6 && mismatch.isQuiet, "\(mismatch.shown)")
        let second = try TerminalRun.coffer(["first-1", "second-2", "first-1", "first-1"], create)
        #expect(second.code == 0 && second.shown.contains("do not match. Try again."), "\(second.shown)")
        for (answer, code) in [("first-1", 0), ("second-2", 5), ("^C", -2), ("", 64)] {
            let run = try TerminalRun.coffer([answer], ["token", "list", "--home", home])
            #expect(run.code == code, "\(answer)")
            #expect(run.isQuiet && run.echoesAtEnd)
            #expect(!run.shown.contains("first-1") && !run.shown.contains("second-2"))
        }
        let changed = try TerminalRun.coffer(
            ["first-1", "third-3", "third-3"], ["passcode", "change", "--home", home])
        #expect(changed.code == 0 && changed.isQuiet)
        #expect(try TerminalRun.coffer(["third-3"], ["token", "list", "--home", home]).code == 0)
    }

    @Test("A passcode that the policy refuses is not asked for a second time")
    func policyFirst() throws {
        let folder = try ScratchDirectory.make()
        let home = folder.path(of: "home")
        let create =
            ["init", "--no-movable", "--no-recovery", "--home", home, "--policy", "digits"]
            + CommandHome.cheap
        let refused = try TerminalRun.coffer(["letters", "12", "also letters"], create)
        #expect(refused.code == 11 && refused.prompts == 3, "\(refused.shown)")
        let made = try TerminalRun.coffer(["letters", "2468", "2468"], create)
        #expect(made.code == 0 && made.prompts == 3, "\(made.shown)")
        #expect(made.shown.contains("4 to 8 digits. Try again."), "\(made.shown)")
        let changed = try TerminalRun.coffer(
            ["2468", "letters", "1357", "1357"], ["passcode", "change", "--home", home])
        #expect(changed.code == 0 && changed.prompts == 4, "\(changed.shown)")
        #expect(try TerminalRun.coffer(["1357"], ["token", "list", "--home", home]).code == 0)
    }
}
