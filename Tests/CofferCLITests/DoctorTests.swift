import Foundation
import Testing
import TestSupport

@Suite("coffer doctor")
struct DoctorTests {
    private func checks(_ run: CommandRun) throws -> [String: String] {
        let checks = try #require(run.json["checks"] as? [[String: Any]])
        var found: [String: String] = [:]
        for check in checks {
            let name = try #require(check["name"] as? String)
            let status = try #require(check["status"] as? String)
            #expect(["ok", "advisory", "missing", "unknown"].contains(status))
            #expect((check["message"] as? String)?.isEmpty == false)
            #expect(found.updateValue(status, forKey: name) == nil)
        }
        return found
    }

    @Test("Every check has a status and a sentence, and no passcode is needed")
    func checks() throws {
        let home = try CommandHome()
        let found = try checks(try home.run(["doctor", "--json"], passcode: ""))
        #expect(found["passcode"] == "ok" && found["device-key"] == "advisory")
        #expect(found["documented-schemes"] == "advisory")
        let open = try CommandHome(passcode: nil)
        #expect(try checks(try open("doctor", "--json"))["passcode"] == "missing")
        let digits = try CommandHome(passcode: "2468", "--policy", "digits")
        #expect(try checks(try digits("doctor", "--json"))["passcode"] == "advisory")
        let text = try home("doctor").text
        for name in found.keys { #expect(text.contains(name)) }
    }

    @Test("For people, advice appears once, and no name of the library's", arguments: ["2468", nil])
    func once(_ passcode: String?) throws {
        let home = try CommandHome(passcode: passcode)
        let text = try home.run(["doctor"], passcode: "").text
        for sentence in ["encrypted disk and out of backups", "No service on this machine reports when"] {
            #expect(text.components(separatedBy: sentence).count <= 2, "\(text)")
        }
        for name in ["idleTimer", "kernelKeyring", "desktopSession", "screenSaver", "lockSources"] {
            #expect(!text.contains(name), "\(name)")
        }
        #expect(text.contains("lock source: inactivity") && text.contains("bound to this device: "))
    }

    @Test("--summary prints a line for each finding that is not ok, and how many there are of each kind")
    func summary() throws {
        let home = try CommandHome(passcode: nil)
        let found = try checks(try home("doctor", "--json"))
        let run = try home("doctor", "--summary")
        let lines = run.text.split(separator: "\n").map(String.init)
        #expect(run.code == 0 && lines.last?.contains(" ok, ") == true, "\(run.text)")
        for (name, status) in found {
            #expect(lines.contains { $0.hasPrefix(status) && $0.contains("\(name): ") } == (status != "ok"))
        }
        #expect(!lines.contains { $0.hasPrefix("ok") } && !run.text.contains("whenUnlocked"))
        #expect(try checks(try home("doctor", "--summary", "--json")) == found)
        let none = try CommandRun.coffer("doctor", "--summary", "--home", "/nowhere/at/all")
        #expect(none.code == 0 && none.text.contains(" ok"), "\(none.errorText)")
    }

    @Test("An SQLite that loses commits by itself is named, with a vault and without")
    func sqlite() throws {
        let scratch = try ScratchDirectory.make()
        let asked = try CommandRun.coffer(
            "database", "query", scratch.path(of: "x.db"), "--create", "--codec", "gcm1", "--key-hex-fd", "3",
            "SELECT sqlite_version()", descriptors: [3: Array(String(repeating: "07", count: 32).utf8)])
        let version = asked.text.split { !$0.isNumber }.compactMap { Int($0) }
        try #require(version.count == 3, "\(asked.errorText)")
        let isOld = version.lexicographicallyPrecedes([3, 50, 2])
        let none = try CommandRun.coffer("doctor", "--json", "--home", scratch.path(of: "none"))
        for run in [try CommandHome(passcode: nil)("doctor", "--json"), none] {
            #expect(try checks(run)["sqlite"] == (isOld ? "ok" : nil))
        }
    }

    @Test("How long guessing takes, measured; nothing without a passcode")
    func guessing() throws {
        let home = try CommandHome(passcode: "246813", "--policy", "digits", "--minimum-length", "6")
        let run = try home.run(["doctor", "--json"], passcode: "")
        let guessing = try #require(run.json["guessing"] as? [String: Any])
        let perGuess = try #require(guessing["secondsPerGuess"] as? Double)
        #expect(perGuess > 0 && guessing["requirement"] as? String == "6 to 8 digits")
        let estimates = try #require(guessing["estimates"] as? [[String: Any]])
        #expect(estimates.compactMap { $0["count"] as? Double } == [1e6, 1e8])
        let open = try CommandHome(passcode: nil)
        #expect(try open("doctor", "--json").json["guessing"] as? [String: Any] == nil)
    }

    @Test("For people, doctor says in words how long one guess takes and what helps")
    func words() throws {
        let home = try CommandHome(passcode: "2468", "--policy", "digits")
        #expect(
            try home.run(["doctor"], passcode: "").text.contains("An attacker with a copy of all files"))
        try Data(count: 4).write(to: URL(filePath: home.path + "/vault/device"))
        let damaged = try home.run(["doctor"], passcode: "")
        #expect(damaged.errorText.contains("Restore the vault directory from a backup, or erase the vault"))
    }

    @Test("A policy of several rules holds for init and for every change")
    func policies() throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "coffer-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let list = folder.appending(path: "denied").path(percentEncoded: false)
        try Data("602214\n\n662607\n".utf8).write(to: URL(filePath: list))
        let home = try CommandHome(
            passcode: "837165", "--policy", "digits", "--minimum-length", "6", "--deny-common", "--deny-file",
            list)
        for passcode in ["8371", "83716a", "123456", "837165294", "602214", "662607"] {
            #expect(try home.run(["passcode", "change"], new: passcode).code == 11, "\(passcode)")
        }
        #expect(try home.run(["passcode", "change"], new: "716583").code == 0)
        #expect(try home.run(["token", "list"], passcode: "716583").code == 0)
    }

    @Test("Each lock source says whether it is heard, and each class what its promises rest on")
    func classes() throws {
        for (passcode, strength) in [("2468", "cryptographic"), (nil, "absent")] {
            let home = try CommandHome(passcode: passcode)
            let run = try home.run(["doctor", "--json"], passcode: "")
            let sources = try #require(run.json["lockSources"] as? [[String: Any]])
            #expect(
                sources.compactMap { $0["source"] as? String } == [
                    "idleTimer", "kernelKeyring", "desktopSession", "sleep", "screenSaver", "collection",
                ])
            #expect(sources.allSatisfy { $0["listening"] is Bool && $0["message"] is String })
            let classes = try #require(run.json["classes"] as? [[String: Any]])
            #expect(classes.count == 5)
            for item in classes {
                let guarantees = try #require(item["guarantees"] as? [[String: Any]])
                #expect(
                    guarantees.compactMap { $0["promise"] as? String } == [
                        "passcode", "lock", "thisDevice", "lockSources",
                    ])
                #expect(guarantees.first?["strength"] as? String == strength)
                #expect(guarantees.allSatisfy { ($0["reason"] as? String)?.isEmpty == false })
                #expect(
                    guarantees.allSatisfy { guarantee in
                        (guarantee["remedy"] is String) == (guarantee["advice"] is String)
                            && (guarantee["strength"] as? String != "advisory"
                                || guarantee["remedy"] is String)
                    })
            }
        }
    }

    @Test(
        "A damaged vault keeps no check of the host from being made, and the exit code tells of it",
        arguments: ["state", "vault/device", "vault/keybag"])
    func damagedVault(_ name: String) throws {
        let home = try CommandHome()
        let path = home.path + "/" + name
        let size = try #require(FileManager.default.contents(atPath: path)).count
        try Data(count: size).write(to: URL(filePath: path))
        let run = try home.run(["doctor", "--json"], passcode: "")
        #expect(run.code == 7 && run.errorCode == "corrupt")
        #expect((run.json["error"] as? [String: Any])?["remedy"] as? String == "restoreOrWipeVault")
        let found = try checks(run)
        #expect(found["swap"] != nil && found["kernel-keyring"] != nil && found["passcode"] == nil)
        let text = try home.run(["doctor"], passcode: "")
        #expect(text.code == 7 && text.text.contains("view-copies"))
    }

    @Test("Damage to a part of the vault is a finding of its own, and every other check is made")
    func damagedParts() throws {
        let home = try CommandHome()
        let sound = try checks(try home.run(["doctor", "--json"], passcode: ""))
        for (file, check) in [("vault/attempts", "attempts"), ("vault/tokens", "tokens")] {
            let path = home.path + "/" + file
            let bytes = try #require(FileManager.default.contents(atPath: path))
            try Data(count: bytes.count).write(to: URL(filePath: path))
            let run = try home.run(["doctor", "--json"], passcode: "")
            let found = try checks(run)
            #expect(run.code == 0 && found[check] == "missing", "\(file): \(run.text)")
            #expect(Set(sound.keys).isSubset(of: found.keys))
            try bytes.write(to: URL(filePath: path))
        }
        let files = home.path + "/vault/files"
        try FileManager.default.moveItem(atPath: files, toPath: files + "-aside")
        let run = try home.run(["doctor", "--json"], passcode: "")
        #expect(try run.code == 0 && checks(run)["files"] == "missing", "\(run.text)")
        try FileManager.default.moveItem(atPath: files + "-aside", toPath: files)
    }

    @Test(
        "A check that lacks memory is reported as unknown",
        .enabled(if: !Sanitizer.isOn, "a sanitizer takes terabytes of addresses"))
    func notChecked() throws {
        let home = try CommandHome(passcode: "2468", "--kdf-memory", "64")
        let run = try home.run(
            ["doctor", "--json"], passcode: "",
            before: ["bash", "-c", "ulimit -d 40000 && exec \"$@\"", "bash"])
        let found = try checks(run)
        #expect(run.code == 0 && found["guessing"] == "unknown" && found["swap"] != nil, "\(run.errorText)")
    }

    @Test("Without a home the host is checked alone")
    func host() throws {
        let run = try CommandRun.coffer("doctor", "--json", "--home", "/nowhere/at/all")
        #expect(run.code == 0)
        let found = try checks(run)
        #expect(found["swap"] != nil && found["passcode"] == nil)
    }
}
