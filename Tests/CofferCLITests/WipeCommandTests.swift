import Foundation
import Testing
import TestSupport

@Suite("coffer wipe")
struct WipeCommandTests {
    @Test("Nothing happens without --yes")
    func asksFirst() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        let run = try home.run(["wipe", "--json"], passcode: "")
        #expect(run.code == 64 && run.errorCode == "invalidInput")
        for (options, target) in [
            ([], "the vault at \(home.path)"), (["--tokens"], "the tokens of the vault at \(home.path)"),
            (["--user", "ada"], "the vault of the user ada in \(home.path)"),
        ] as [([String], String)] {
            let asked = try home.run(["wipe"] + options, passcode: "")
            #expect(asked.code == 64 && asked.errorText.contains("This command erases \(target) for good."))
        }
        #expect(try home("token", "get", "s", "a").output == [1])
    }

    @Test("A vault that no longer opens is wiped all the same", arguments: ["device", "keybag", "attempts"])
    func damaged(_ name: String) throws {
        let home = try CommandHome()
        try Data([1, 2, 3]).write(to: URL(filePath: home.path).appending(path: "vault/\(name)"))
        #expect(try home("token", "list").code == 7)
        #expect(try home.run(["wipe", "--yes"], passcode: "").code == 0)
        #expect(try home("token", "list").code == 6)
    }

    @Test(
        "A complete wipe succeeds also where its output cannot be written", arguments: [">/dev/full", ">&-"],
        [[], ["--json"], ["--tokens"]])
    func untold(output: String, more: [String]) throws {
        let home = try CommandHome()
        let shell = ["/bin/sh", "-c", "\"$0\" \"$@\" " + output]
        let run = try home.run(["wipe", "--yes"] + more, passcode: "", before: shell)
        #expect(run.code == 0, "\(run.errorText)")
        #expect(try home("token", "list").code == (more == ["--tokens"] ? 0 : 6))
    }

    @Test("--tokens takes the tokens alone, while locked")
    func tokensAlone() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        let id = try home.add(try home.file("a", [7]))
        let both = try home.run(["wipe", "--yes", "--tokens", "--user", "ada"], passcode: "")
        #expect(both.code == 64)
        let receipt = try home.run(["wipe", "--yes", "--tokens", "--json"], passcode: "")
        #expect(receipt.code == 0 && receipt.json["scope"] as? String == "tokens")
        #expect((receipt.json["removed"] as? [String: Int])?["tokens"] == 1)
        #expect(try home("token", "get", "s", "a").code == 3)
        #expect(try home("file", "cat", id).output == [7])
        #expect(try home.run(["wipe", "--yes", "--user", "ada"], passcode: "").code == 12)
    }

    @Test(
        "--tokens works where the file system cannot exchange names",
        .enabled(if: PreloadedLibrary.noExchange != nil))
    func tokensWithoutExchange() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [UInt8](repeating: 7, count: 9000)).code == 0)
        let file = URL(filePath: home.path + "/vault/tokens")
        let old = try Data(contentsOf: file)
        // The same file, so that its blocks are seen to be overwritten.
        let open = try FileHandle(forReadingFrom: file)
        let environment = ["LD_PRELOAD": try #require(PreloadedLibrary.noExchange)]
        let run = try home.run(
            ["wipe", "--yes", "--tokens", "--json"], passcode: "", environment: environment)
        #expect(run.code == 0 && (run.json["removed"] as? [String: Int])?["tokens"] == 1, "\(run.errorText)")
        let now = try #require(try open.readToEnd())
        #expect(now.count < 1000 && now.range(of: old[64..<96]) == nil)
        #expect(try home("token", "get", "s", "a").code == 3)
        #expect(try home.status()["state"] as? String != "wiping")
        #expect(try home("token", "put", "s", "a", input: [1]).text == "1\n")
        #expect(!FileManager.default.fileExists(atPath: home.path + "/vault/tokens-erased"))
    }

    @Test("Wiped while locked: a receipt, then everything exits 6, and init activates a new vault")
    func wiped() throws {
        let home = try CommandHome()
        let vaultID = try home.status()["vaultID"] as? String
        _ = try home("token", "put", "s", "a", input: [1])
        let id = try home.add(try home.file("a", [1]))
        let receipt = try home.run(["wipe", "--yes", "--json"], passcode: "")
        #expect(receipt.code == 0 && receipt.json["vaultID"] as? String == vaultID)
        #expect(receipt.json["completesInterrupted"] as? Bool == false)
        #expect((receipt.json["unproved"] as? [String])?.isEmpty == false)
        #expect((receipt.json["removed"] as? [String: Int])?["files"] == 1)
        for command in [
            ["unlock"], ["passcode", "set"], ["passcode", "change"], ["passcode", "remove"],
            ["token", "put", "s", "a"], ["token", "get", "s", "a"], ["token", "list"],
            ["token", "remove", "s", "a"], ["file", "add", "/etc/hostname"], ["file", "list"],
            ["file", "cat", id], ["file", "export", id, "/nowhere/x"], ["file", "verify", id],
            ["file", "remove", id], ["file", "view", id, "--", "true"], ["file", "prune-views"],
            ["wipe", "--yes"],
        ] {
            let run = try home.run(command.withJSON, passcode: "")
            #expect(run.code == 6 && run.errorCode == "wiped", "\(command)")
        }
        // Nothing is left that a lock would leave.
        #expect(try home.run(["lock"], passcode: "").code == 0)
        #expect(try home.status()["state"] as? String == "wiped")
        #expect(try home("doctor", "--json").code == 0)
        #expect(try home.initialise().code == 0)
        let status = try home.status()
        #expect(status["state"] as? String == "locked" && status["tokens"] as? Int == 0)
        #expect(status["vaultID"] as? String != vaultID)
        #expect(try home("token", "put", "s", "a", input: [2]).text == "1\n")
    }

    @Test("The output fits a wipe of the tokens alone, and a user without a vault")
    func parts() throws {
        let home = try CommandHome()
        let tokens = try home.run(["wipe", "--yes", "--tokens"], passcode: "")
        #expect(tokens.code == 0 && tokens.text.hasPrefix("Wiped the tokens of vault"))
        #expect(tokens.text.contains("The vault's keys, files and databases stay."))
        #expect(!tokens.text.contains("keys were destroyed"))
        let user = try home.run(["wipe", "--yes", "--user", "bob", "--json"], passcode: "")
        #expect(user.code == 12 && user.errorCode == "notInitialised")
        #expect(user.errorText.contains("no user with this name") && !user.errorText.contains("init"))
    }

    @Test("A wipe where there is no vault exits 12")
    func absent() throws {
        let run = try CommandRun.coffer("wipe", "--yes", "--json", "--home", "/nowhere/at/all")
        #expect(run.code == 12 && run.errorCode == "notInitialised")
    }
}
