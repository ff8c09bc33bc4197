import Foundation
import TestSupport
import Testing

@Suite("coffer recovery")
struct RecoveryCommandTests {
    private static let symbol = #"[0-9A-HJKMNP-TV-Z]"#

    /// Runs a command with a recovery key on descriptor 5.
    private func run(
        _ home: CommandHome, _ words: [String], key: String, new: String? = nil
    ) throws -> CommandRun {
        var descriptors: [Int: [UInt8]] = [5: Array((key + "\n").utf8)]
        var options = ["--home", home.path, "--recovery-fd", "5"]
        if let new {
            descriptors[4] = Array((new + "\n").utf8)
            options += ["--new-passcode-fd", "4"]
        }
        return try CommandRun.run(CommandRun.cofferPath, words + options, descriptors: descriptors)
    }

    private func create(_ home: CommandHome, _ options: String...) throws -> String {
        let made = try home.run(["recovery", "create", "--json"] + options)
        return try #require(made.json["recoveryKey"] as? String, "\(made.errorText)")
    }

    @Test("The passcode is forgotten, and the sheet brings everything back")
    func forgotten() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: Array("value".utf8)).code == 0)
        #expect(try home.run(["status"], passcode: "").text.contains("recoveryKey: none\n"))
        let sheet = home.folder.appending(path: "sheet.txt").path(percentEncoded: false)
        let made = try home("recovery", "create", "--sheet", sheet)
        #expect(made.code == 0 && made.text.isEmpty, "\(made.errorText)")
        let text = try String(contentsOfFile: sheet, encoding: .utf8)
        let mode = try FileManager.default.attributesOfItem(atPath: sheet)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let number = try #require(try home.status()["recoveryKey"] as? String)
        for part in [
            "recovery key \(number)\n", home.path, "coffer recovery use", "whenPasscodeSetThisDeviceOnly",
            "opens nothing after the vault was wiped or erased by ten wrong passcodes",
        ] { #expect(text.contains(part), "\(part) is not on \(text)") }
        let halves = text.split(separator: "\n").filter { $0.contains("1-4:") || $0.contains("5-8:") }
        let key = halves.map { $0.split(separator: " ")[1] }.joined(separator: "-")
        let form = try Regex("(\(Self.symbol){5}-){7}\(Self.symbol){5}")
        #expect(key.wholeMatch(of: form) != nil, "\(key)")
        #expect(try run(home, ["recovery", "check"], key: key).code == 0)
        let used = try run(home, ["recovery", "use", "--json"], key: key.lowercased(), new: "1357")
        #expect(used.code == 0, "\(used.errorText)")
        let next = try #require(used.json["recoveryKey"] as? String)
        #expect(next != key)
        #expect(try home.run(["token", "get", "s", "a"], passcode: "1357").text == "value")
        #expect(try home.run(["token", "get", "s", "a"], passcode: "2468").code == 5)
        let old = try run(home, ["recovery", "check", "--json"], key: key)
        #expect(old.code == 7, "\(old.text)")
        let check = try run(home, ["recovery", "check", "--json"], key: next)
        #expect(check.json["number"] as? String == used.json["number"] as? String)
        #expect(check.json["opensWithoutDeviceKey"] as? Bool == true)
    }

    @Test("A mistyped group is named, and nothing is changed or counted")
    func mistyped() throws {
        let home = try CommandHome()
        let key = try create(home)
        for place in [0, 13, 46] {
            var wrong = Array(key.utf8)
            wrong[place] = wrong[place] == UInt8(ascii: "9") ? UInt8(ascii: "8") : UInt8(ascii: "9")
            let text = String(decoding: wrong, as: UTF8.self)
            for verb in ["check", "use"] {
                let done = try run(home, ["recovery", verb], key: text, new: verb == "use" ? "1357" : nil)
                #expect(done.code == 64 && done.errorText.contains("Group \(place / 6 + 1) of"))
                #expect(!done.errorText.contains(text))
            }
        }
        #expect(try run(home, ["recovery", "check"], key: String(key.prefix(40))).code == 64)
        #expect(try run(home, ["recovery", "check"], key: "").code == 64)
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
    }

    @Test("Another vault's key is refused, also where the vault has none")
    func others() throws {
        let (home, other) = (try CommandHome(), try CommandHome())
        let key = try create(other)
        let none = try run(home, ["recovery", "use"], key: key, new: "1357")
        #expect(none.code == 3 && none.errorText.contains("coffer recovery create"))
        #expect(try run(home, ["recovery", "check"], key: key).code == 3)
        _ = try create(home)
        #expect(try run(home, ["recovery", "use"], key: key, new: "1357").code == 7)
        #expect(try home("token", "list").code == 0)
    }

    @Test("The device record is lost, and the sheet brings the vault back; a strict key does not")
    func lostDevice() throws {
        for isStrict in [false, true] {
            let home = try CommandHome()
            #expect(try home("token", "put", "s", "a", input: Array("value".utf8)).code == 0)
            let key = isStrict ? try create(home, "--strict-device") : try create(home)
            try FileManager.default.removeItem(atPath: home.path + "/vault/device")
            let list = try home("token", "list")
            #expect(list.code == 7 && list.errorText.contains("coffer recovery use") == !isStrict)
            #expect(list.errorText.contains("coffer wipe") == isStrict, "\(list.errorText)")
            let checked = try run(home, ["recovery", "check"], key: key)
            #expect(checked.code == (isStrict ? 7 : 0), "\(checked.errorText)")
            let used = try run(home, ["recovery", "use", "--unchecked"], key: key, new: "1357")
            guard !isStrict else {
                #expect(used.code == 7)
                continue
            }
            #expect(used.code == 0 && used.text.contains("1-4:"), "\(used.errorText)")
            #expect(!used.errorText.contains("coffer wipe"), "\(used.errorText)")
            #expect(try home.run(["token", "get", "s", "a"], passcode: "1357").text == "value")
        }
    }

    @Test("The passcode is needed to make a key, not to remove it; settings forbid it")
    func rules() throws {
        let home = try CommandHome()
        #expect(try home.run(["recovery", "create"], passcode: "").code == 4)
        let wrong = try home.run(["recovery", "create"], passcode: "9999")
        #expect(wrong.code == 5 && wrong.text.isEmpty)
        let key = try create(home)
        #expect(try home.run(["doctor"], passcode: "").text.contains("recovery-key"))
        #expect(try home.run(["recovery", "remove"], passcode: "").code == 0)
        #expect(try home.run(["recovery", "remove"], passcode: "").code == 3)
        #expect(try run(home, ["recovery", "check"], key: key).code == 3)
        _ = try create(home)
        let off = try home.run(["settings", "--recovery-keys", "off", "--json"], passcode: "")
        #expect(off.code == 0 && off.json["recoveryKeys"] as? Bool == false, "\(off.errorText)")
        #expect(try home.status()["recoveryKey"] is NSNull)
        #expect(try home("recovery", "create").code == 11)
        #expect(try home.run(["settings", "--recovery-keys", "on"], passcode: "").code == 4)
        #expect(try home("settings", "--recovery-keys", "on").code == 0)
        _ = try create(home)
        let born = try CommandHome(passcode: "2468", "--recovery-keys", "off")
        #expect(try born("recovery", "create").code == 11)
    }

    @Test("A sheet that cannot be written leaves the older key valid")
    func sheets() throws {
        let home = try CommandHome()
        let key = try create(home)
        let existing = try home.file("existing", [1])
        for (path, code) in [(existing, 13), (home.path + "/vault/sheet", 11), ("/dev/null/sheet", 1)] {
            let done = try home("recovery", "create", "--sheet", path)
            #expect(done.code != 0, "\(path)")
            if code != 1 { #expect(done.code == Int32(code), "\(path): \(done.errorText)") }
        }
        #expect(try run(home, ["recovery", "check"], key: key).code == 0)
    }

    @Test("After the tenth wrong passcode and after a wipe, the sheet opens nothing")
    func erased() throws {
        for isWiped in [true, false] {
            let home = try CommandHome(passcode: "2468", "--attempt-delays", "off")
            let key = try create(home)
            if isWiped {
                #expect(try home("wipe", "--yes").code == 0)
            } else {
                for number in 0..<10 { _ = try home.run(["token", "list"], passcode: "900\(number)") }
            }
            #expect(try run(home, ["recovery", "use"], key: key, new: "1357").code == 6)
        }
    }

    // MARK: On a terminal

    @Test("The sheet has to be typed back, group by group, and a mistake is told at once")
    func typedBack() throws {
        let home = try CommandHome()
        let groups = (1...8).map { "^SHEET\($0)" }
        let mistakes = groups[..<2] + ["00001", "^SHEET5"] + groups[2...]
        let made = try TerminalRun.coffer(
            ["2468"] + mistakes, ["recovery", "create", "--home", home.path])
        #expect(made.code == 0 && made.prompts == 11 && made.isQuiet, "\(made.shown)")
        #expect(made.shown.contains("Group 3 of the recovery key is mistyped, or belongs in another place."))
        #expect(try home.status()["recoveryKey"] is String)
        let before = try home.status()["recoveryKey"] as? String
        let interrupted = try TerminalRun.coffer(
            ["2468", "^SHEET1", "^C"], ["recovery", "create", "--home", home.path])
        #expect(interrupted.code == -2 && interrupted.echoesAtEnd)
        #expect(try home.status()["recoveryKey"] as? String == before)
    }

    @Test("init offers a recovery key once, and makes none without a yes")
    func offered() throws {
        for (answers, hasKey) in [(["y", "^SHEET"], true), (["n"], false), ([""], false), (["^D"], false)] {
            let folder = try ScratchDirectory.make()
            let path = folder.path(of: "home")
            let create = ["init", "--no-movable", "--keyring", "file", "--home", path] + CommandHome.cheap
            let run = try TerminalRun.coffer(["2468", "2468"] + answers, create)
            #expect(run.code == 0 && run.prompts == 2 + answers.count, "\(run.shown)")
            let status = try CommandRun.coffer("status", "--json", "--home", path)
            #expect((status.json["recoveryKey"] is String) == hasKey)
        }
    }
}
