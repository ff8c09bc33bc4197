import Foundation
import Testing
import TestSupport

@Suite("coffer wipe --prove")
struct WipeProveTests {
    /// The matches after the wipe. A debug build leaves copies in memory that only the release build's
    /// search is about.
    private func found(_ run: CommandRun) throws -> [String] {
        let proof = try #require(run.json["proof"] as? [String: Any], "\(run.errorText)")
        let found = try #require(proof["found"] as? [String])
        return CommandRun.areProgramsChosen ? found : found.filter { !$0.contains("memory of this process") }
    }

    /// A runtime directory in memory of its own, with nothing in it.
    private func withRuntime(_ body: (_ path: String, _ environment: [String: String]) throws -> Void) throws
    {
        let path = "/dev/shm/coffer-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path, ["XDG_RUNTIME_DIR": path, "XDG_DATA_HOME": path + "/data"])
    }

    @Test("Canaries of every kind are found before, and none of them after", .enabled(if: !Sanitizer.isOn))
    func canaries() throws {
        try withRuntime { _, environment in
            let home = try CommandHome(passcode: "a passcode of some length")
            #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
            let run = try home.run(["wipe", "--yes", "--prove", "--json"], environment: environment)
            #expect(try found(run) == [], "\(run.errorText)")
            let proof = try #require(run.json["proof"] as? [String: Any])
            let names = try #require(proof["lookedFor"] as? [String])
            for name in [
                "the passcode", "the value of a token", "the account of a token", "the name of a file",
                "the content of a file", "keys of the file device", "keys of the file keybag",
                "keys of the file filekeys", "keys of the file tokens",
            ] { #expect(names.contains(name), "\(name)") }
            let before = try #require(proof["foundBefore"] as? [String: Int])
            #expect(try #require(before["the vault directory"]) >= 5)
            #expect(try #require(before["directories in memory"]) >= 1)
            #expect(try home("token", "list").code == 6)
        }
    }

    @Test("While locked, the keys of the files are looked for", .enabled(if: !Sanitizer.isOn))
    func locked() throws {
        try withRuntime { _, environment in
            let home = try CommandHome()
            let arguments = ["wipe", "--yes", "--prove", "--json"]
            let run = try home.run(arguments, passcode: "", environment: environment)
            #expect(run.errorText.contains("The vault is locked"))
            #expect(try found(run) == [], "\(run.text)")
        }
    }

    @Test(
        "A copy that lies elsewhere is found and exits 1", .enabled(if: !Sanitizer.isOn),
        arguments: ["device", "keybag"])
    func leftOver(_ name: String) throws {
        try withRuntime { runtime, environment in
            let home = try CommandHome()
            try FileManager.default.copyItem(atPath: home.path + "/vault/" + name, toPath: runtime + "/copy")
            let arguments = ["wipe", "--yes", "--prove", "--json"]
            let run = try home.run(arguments, passcode: "", environment: environment)
            #expect(run.code == 1)
            #expect(try found(run).contains { $0 == "keys of the file \(name) in \(runtime)/copy" })
            #expect(try home.status()["state"] as? String == "wiped")
        }
    }

    @Test("Only the whole vault is proved")
    func scopes() throws {
        let home = try CommandHome()
        for scope in [["--tokens"], ["--user", "ada"]] {
            #expect(try home.run(["wipe", "--yes", "--prove"] + scope, passcode: "").code == 64)
        }
        #expect(try home("token", "list").code == 0)
    }

    /// With files alone, a copy made before is another home: SECURITY.md says what opens it.
    @Test("A copy made before a wipe opens with the passcode, and guesses on it count for themselves")
    func aside() throws {
        let home = try CommandHome("--attempt-delays", "off")
        #expect(try home("token", "put", "s", "a", input: [1, 2, 3]).code == 0)
        let aside = home.path + "-aside"
        try FileManager.default.copyItem(atPath: home.path, toPath: aside)
        for number in 1...9 { #expect(try home.run(["unlock"], passcode: "wrong-\(number)").code == 5) }
        #expect(try home.run(["unlock"], passcode: "wrong-10").code == 6)
        func run(_ passcode: String) throws -> CommandRun {
            try CommandRun.coffer(
                "token", "get", "s", "a", "--home", aside, "--passcode-fd", "3",
                descriptors: [3: Array(passcode.utf8)])
        }
        #expect(try run("wrong").code == 5)
        #expect(try run("2468").output == [1, 2, 3])
        // Beside the tombstone it is nothing: the wiped home stays wiped.
        #expect(try home("token", "list").code == 6)
        let text = try String(contentsOfFile: PackageRoot.path + "SECURITY.md", encoding: .utf8)
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(
            words.contains(
                "A copy of the vault directory made before a wipe opens with the passcode, "
                    + "as the original did."))
        #expect(
            words.contains(
                "an attacker who copies the vault directory beforehand, or restores an older counter, "
                    + "can guess without limit"))
        _ = try CommandRun.coffer("wipe", "--yes", "--home", aside)
    }
}
