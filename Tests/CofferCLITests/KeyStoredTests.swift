import CofferEngine
import Foundation
import Testing
import TestSupport

/// Secrets of the documented schemes that do not stand on a command line.
@Suite("coffer key with kept secrets")
struct KeyStoredTests {
    private static let uuid = "6F9619FF-8B86-4011-B42D-00C04FC964FF"

    @Test("A UUID on a descriptor makes the same key as one on the command line")
    func descriptor() throws {
        for (text, passcode) in [(Self.uuid, "2468"), ("K", ""), ("\u{212A}", "é")] {
            let shown = try CommandRun.coffer(
                "key", "documented", "--uuid", text, "--label", "l", "--passcode-fd", "3", "--json",
                descriptors: [3: Array((passcode + "\n").utf8)])
            let hidden = try CommandRun.coffer(
                "key", "documented", "--uuid-fd", "4", "--label", "l", "--passcode-fd", "3", "--json",
                descriptors: [3: Array((passcode + "\n").utf8), 4: Array((text + "\nignored").utf8)])
            #expect(shown.code == 0 && hidden.output == shown.output)
        }
        #expect(try CommandRun.coffer("key", "documented", "--help").text.contains("Other users can see it"))
    }

    @Test(
        "The UUID must have exactly one source, which exists",
        arguments: [
            [], ["--uuid", "A", "--uuid-fd", "3"], ["--uuid", "A", "--stored", "x"], ["--create"],
            ["--uuid", "A", "--create"], ["--uuid", ""], ["--uuid-fd", "3"], ["--uuid-fd", "9"],
            ["--uuid", "A", "--key-passcode-fd", "3"],
        ])
    func sources(_ options: [String]) throws {
        let run = try CommandRun.run(
            CommandRun.cofferPath, ["key", "documented", "--json"] + options,
            descriptors: [3: Array("\n".utf8)])
        #expect(run.code == 64 && run.errorCode != nil, "\(options)")
    }

    @Test("A kept UUID is made when asked for and never else; its key is the scheme's")
    func stored() throws {
        let home = try CommandHome()
        let take = ["key", "documented", "--stored", "app", "--json"]
        #expect(try home.run(take).errorCode == "absent")
        let made = try home.run(take + ["--create"])
        let hash = made.json["passcodeHash"] as? String
        #expect(made.code == 0 && hash?.count == 44)
        #expect(try home.run(take).output == made.output)
        #expect(try home.run(take + ["--create"]).code == 13)
        #expect(try home.run(take).output == made.output)
        let other = try home.run(["key", "documented", "--stored", "other", "--create", "--json"])
        #expect(other.code == 0 && other.json["key"] as? String != made.json["key"] as? String)
        // Another passcode in the key, or none.
        func run(_ passcode: String) throws -> CommandRun {
            try CommandRun.run(
                CommandRun.cofferPath,
                take + ["--home", home.path, "--passcode-fd", "3", "--key-passcode-fd", "4"],
                descriptors: [3: Array("2468\n".utf8), 4: Array((passcode + "\n").utf8)])
        }
        #expect(try run("2468").output == made.output)
        let none = try run("")
        #expect(none.code == 0 && none.json["passcodeHash"] as? String == "")
        #expect(none.json["key"] as? String != made.json["key"] as? String)
        // Locked, and with a wrong passcode, none is made and none is shown.
        #expect(try home.run(take + ["--create"], passcode: "1357").code == 5)
        #expect(try home.run(["key", "documented", "--stored", "third", "--create"], passcode: "").code != 0)
        #expect(try home.run(["key", "documented", "--stored", "third"]).code == 3)
        let tokens = try home("token", "list", "--json").json["tokens"] as? [[String: Any]] ?? []
        #expect(tokens.count == 2)
        #expect(tokens.allSatisfy { $0["class"] as? String == "whenUnlockedThisDeviceOnly" })
        // The key is that of the UUID in the vault.
        let uuid = try home("token", "get", "coffer.documented", "uuid/app", "--kind", "other").text
        let form = /[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}/
        #expect(uuid.wholeMatch(of: form) != nil)
        let same = try CommandRun.coffer(
            "key", "documented", "--uuid", uuid, "--passcode-fd", "3", "--json",
            descriptors: [3: Array("2468\n".utf8)])
        #expect(same.output == made.output)
    }

    @Test(
        "An unlocked vault does not know its passcode: the key that has it in asks for it",
        .enabled(if: KernelKeyring.isAvailable))
    func unlocked() throws {
        let home = try CommandHome()
        let take = ["key", "documented", "--stored", "app", "--json"]
        let made = try home.run(take + ["--create"])
        #expect(made.code == 0)
        #expect(try home("unlock").code == 0)
        for options in [[], ["--create"]] {
            let run = try home.run(take + options, passcode: "")
            #expect(run.code == 64 && run.errorCode == "invalidInput")
            #expect(run.errorText.contains("derived from the passcode"))
            #expect(run.errorText.contains("--passcode-fd"))
        }
        // None was made under another name, either.
        let other = ["key", "documented", "--stored", "other", "--json"]
        #expect(try home.run(other + ["--create"], passcode: "").code == 64)
        #expect(try home.run(other).code == 3)
        let none = try CommandRun.run(
            CommandRun.cofferPath, take + ["--home", home.path, "--key-passcode-fd", "4"],
            descriptors: [4: Array("2468\n".utf8)])
        #expect(none.output == made.output)
        // On a terminal it is asked for, and compared with the vault's.
        let script = PackageRoot.path + "Tests/Faults/terminal.py"
        for (answer, code) in [("2468", 0), ("1357", 5)] {
            let run = try CommandRun.run(
                "python3", [script, answer, "--", CommandRun.cofferPath] + take + ["--home", home.path])
            #expect(run.json["code"] as? Int == code && run.json["prompts"] as? Int == 1, "\(run.text)")
            let shown = run.json["shown"] as? String ?? ""
            #expect(shown.contains(made.json["key"] as? String ?? "-") == (code == 0))
        }
    }

    @Test("A vault without a passcode makes the key without one")
    func noPasscode() throws {
        let home = try CommandHome(passcode: nil)
        let made = try home("key", "documented", "--stored", "app", "--create", "--json")
        #expect(made.code == 0 && made.json["passcodeHash"] as? String == "")
    }

    @Test("A device key is derived from the identifier and the kept secret and parameters")
    func device() throws {
        let home = try CommandHome(passcode: nil)
        let take = ["key", "device", "--stored", "app", "--json"]
        #expect(try home.run(take).code == 3)
        #expect(try home.run(take + ["--rounds", "5"]).code == 64)
        for wrong in [["--rounds", "0"], ["--key-size", "24"], ["--rounds", "-1"], ["--device-id", ""]] {
            #expect(try home.run(take + ["--create"] + wrong).code == 64, "\(wrong)")
        }
        for (option, value, cause) in [
            ("--rounds", "0", "at least 1"), ("--key-size", "24", "16 or 32"),
            ("--device-id", "", "1024 bytes"),
        ] {
            let run = try home.run(take + ["--create", option, value])
            #expect(run.errorCode == "invalidInput" && run.errorText.contains(cause), "\(run.errorText)")
        }
        #expect(try home.run(take).code == 3)
        let options = [
            "--create", "--prf", "sha512", "--rounds", "3", "--key-size", "16", "--device-id", "9774d56d",
        ]
        let made = try home.run(take + options)
        let key = try #require(made.json["key"] as? String)
        #expect(made.code == 0 && key.count == 32)
        #expect(try home.run(take).output == made.output)
        #expect(try home.run(take + options).code == 13)
        // By hand, from what the vault keeps.
        let tokens = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        let attributes = try #require(tokens?.first?["attributes"] as? [String: String])
        let random = try home("token", "get", "coffer.documented", "device/app", "--kind", "other").text
        #expect(random.count == 44 && attributes["rounds"] == "3" && attributes["device-id"] == "9774d56d")
        let again = try CommandRun.coffer(
            "key", "pbkdf2", "--prf", "sha512", "--salt-hex", attributes["salt"] ?? "", "--rounds", "3",
            "--length", "16", "--passcode-fd", "3", descriptors: [3: Array("9774d56d\(random)\n".utf8)])
        #expect(again.text == key + "\n")
    }

    @Test("Without an identifier given, it is the machine's")
    func ownDevice() throws {
        let home = try CommandHome(passcode: nil)
        guard FileManager.default.fileExists(atPath: "/etc/machine-id") else { return }
        let made = try home("key", "device", "--stored", "app", "--create", "--rounds", "2", "--json")
        guard made.errorCode != "unsupported" else { return }
        #expect(made.code == 0 && (made.json["key"] as? String)?.count == 64)
        #expect(try home("key", "device", "--stored", "app", "--json").output == made.output)
    }

    @Test("One descriptor for two secrets is named so; a locked vault is not called unlocked")
    func messages() throws {
        let twice = try CommandRun.run(
            CommandRun.cofferPath, ["key", "documented", "--uuid-fd", "3", "--passcode-fd", "3", "--json"],
            descriptors: [3: Array("2468\n\(Self.uuid)\n".utf8)])
        #expect(twice.code == 64 && twice.errorText.contains("for two secrets"), "\(twice.errorText)")
        let home = try CommandHome()
        let take = ["key", "documented", "--stored", "app"]
        #expect(try home.run(take + ["--create"]).code == 0)
        let locked = try home.run(take, passcode: "")
        #expect(locked.code == 64 && locked.errorText.hasPrefix("coffer: The vault is locked. "))
        #expect(!locked.errorText.contains("unlocked"), "\(locked.errorText)")
        try #require(try home("unlock").code == 0)
        let unlocked = try home.run(take, passcode: "")
        #expect(unlocked.code == 64 && unlocked.errorText.contains("derived from the passcode"))
        #expect(!unlocked.errorText.contains("is locked"), "\(unlocked.errorText)")
    }
}
