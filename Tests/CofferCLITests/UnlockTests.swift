import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("coffer unlock, coffer lock")
struct UnlockTests {
    @Test("Commands that need keys exit 4 while locked and 5 with a wrong passcode, without output")
    func locked() throws {
        let home = try CommandHome("--attempt-delays", "off")
        let id = UUID().uuidString
        let commands = [
            ["token", "list"], ["token", "get", "s", "a"],
            ["token", "put", "s", "a", "--if-version", "0"],
            ["token", "remove", "s", "a"], ["file", "list"], ["file", "add", "/etc/hostname"],
            ["file", "cat", id], ["file", "verify", id], ["file", "export", id, "/nowhere/x"],
            ["file", "remove", id], ["file", "view", id, "--", "true"], ["unlock"],
        ]
        for command in commands {
            let run = try home.run(command.withJSON, passcode: "", input: [1])
            #expect(run.code == 4 && run.errorCode == "locked", "\(command)")
            let wrong = try home.run(command.withJSON, passcode: "1357", input: [1])
            #expect(wrong.code == 5 && wrong.errorCode == "wrongPasscode", "\(command)")
        }
        #expect(try home.status()["attemptsLeft"] as? Int == 9)
        // Without a terminal the option is named.
        #expect(try home.run(["unlock"], passcode: "").errorText.contains("--passcode-fd"))
    }

    @Test("A token put while locked waits, and over a stored one until it is accepted")
    func pending() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: Array("old".utf8)).text == "1\n")
        var prints: [String] = []
        for value in ["first", "second"] {
            let put = ["token", "put", "s", "a", "--json"]
            let run = try home.run(put, passcode: "", input: Array(value.utf8))
            #expect(run.code == 0 && run.json["version"] as? Int == 0)
            #expect(run.json["waiting"] as? Bool == true && run.errorText.contains("waits"))
            prints.append(try #require(run.json["fingerprint"] as? String))
            #expect(run.errorText.contains("--fingerprint \(prints.last ?? "")"))
        }
        #expect(try home.status()["waitingTokens"] as? Int == 2)
        #expect(try home.run(["token", "get", "s", "a"], passcode: "").code == 4)
        #expect(try home("token", "get", "s", "a").text == "old")
        #expect(try home.status()["waitingTokens"] == nil)
        #expect(try home.status()["unconfirmedTokens"] as? Int == 2)
        let list = try home("token", "list", "--json")
        let pending = list.json["pending"] as? [[String: Any]] ?? []
        #expect(list.code == 0 && pending.map { $0["fingerprint"] as? String } == prints)
        #expect(try home("token", "list").text.contains("pending \(prints[1])"))
        #expect(
            try home("unlock").errorText.contains(
                "2 tokens that arrived while the vault was locked would replace"))
        #expect(try home("token", "accept", "s", "a", "--json").errorCode == "ambiguous")
        #expect(try home("token", "accept", "s", "a", "--fingerprint", "3").code == 3)
        #expect(try home("token", "accept", "s", "a", "--fingerprint", prints[1]).text == "2\n")
        #expect(try home("token", "get", "s", "a").text == "second")
        // One that waits alone is not taken for the one that was seen, either.
        let unsaid = try home("token", "accept", "s", "a")
        #expect(unsaid.code == 10 && unsaid.errorText.contains(prints[0]))
        #expect(try home("token", "accept", "s", "a", "--fingerprint", prints[1]).code == 3)
        #expect(try home("token", "get", "s", "a").text == "second")
        #expect(try home.run(["token", "reject", "s", "a"], passcode: "").text == "1\n")
        #expect(try home.run(["token", "reject", "s", "a"], passcode: "").code == 3)
        #expect(try home("token", "accept", "s", "a").code == 3)
        #expect(try home("token", "get", "s", "a").text == "second")
        #expect(try home.status()["unconfirmedTokens"] == nil)
    }

    @Test("A value that no unlock has looked at is not rejected: locked, as for accept")
    func rejectedUnsorted() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        #expect(try home.run(["token", "put", "s", "a"], passcode: "", input: [2]).code == 0)
        for command in ["accept", "reject"] {
            let run = try home.run(["token", command, "s", "a", "--json"], passcode: "")
            #expect(run.code == 4 && run.errorCode == "locked", "\(command)")
        }
        #expect(try home("token", "list").code == 0)
        #expect(try home.run(["token", "reject", "s", "a"], passcode: "").text == "1\n")
    }

    @Test("With the passcode, reject looks at what no unlock has looked at")
    func rejectedWithPasscode() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        #expect(try home.run(["token", "put", "s", "a"], passcode: "", input: [2]).code == 0)
        let locked = try home.run(["token", "reject", "s", "a"], passcode: "")
        #expect(locked.code == 4 && locked.errorText.contains("--passcode-fd"), "\(locked.errorText)")
        #expect(try home.run(["token", "reject", "s", "a"], passcode: "1357").code == 5)
        let run = try home("token", "reject", "s", "a")
        #expect(run.code == 0 && run.text == "1\n", "\(run.errorText)")
        #expect(try home("token", "get", "s", "a").output == [1])
        // The same with keys that unlock left.
        #expect(try home.run(["token", "put", "s", "a"], passcode: "", input: [3]).code == 0)
        let unlocked = try home("unlock")
        if unlocked.errorText.isEmpty || unlocked.errorText.contains("would replace") {
            #expect(try home.run(["token", "reject", "s", "a"], passcode: "").text == "1\n")
        }
    }

    @Test("A token that is removed takes values that wait under its name along, and that is said")
    func removedWithPending() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        for value in [2, 3] as [UInt8] {
            #expect(try home.run(["token", "put", "s", "a"], passcode: "", input: [value]).code == 0)
        }
        let list = try home("token", "list", "--json").json["pending"] as? [[String: Any]] ?? []
        #expect(list.count == 2 && list.allSatisfy { $0["storedWhileLocked"] as? Bool == true })
        let run = try home("token", "remove", "s", "a", "--json")
        #expect(run.code == 0 && run.json["waiting"] as? Int == 2)
        #expect(
            run.errorText.contains("2 values that arrived while the vault was locked and had"),
            "\(run.errorText)")
        #expect(try home("token", "remove", "s", "a").code == 3)
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        let alone = try home("token", "remove", "s", "a")
        #expect(alone.code == 0 && alone.errorText.isEmpty && alone.output.isEmpty)
    }

    @Test("Of tokens that came while locked and are damaged, every command that looks says what to do")
    func corruptPending() throws {
        let home = try CommandHome()
        let inbox = home.path + "/vault/inbox"
        for account in ["a", "b", "c"] {
            #expect(try home.run(["token", "put", "s", account], passcode: "", input: [1]).code == 0)
        }
        let entries = try FileManager.default.contentsOfDirectory(atPath: inbox).sorted()
        for entry in entries.prefix(2) { try Data([1, 2]).write(to: URL(filePath: inbox + "/" + entry)) }
        for arguments in [["unlock"], ["token", "list"], ["token", "list", "--json"]] {
            let run = try home.run(arguments)
            let isKept = arguments != ["unlock"] || KernelKeyring.isAvailable
            #expect(run.code == (isKept ? 0 : 8), "\(arguments): \(run.errorText)")
            #expect(run.errorText.contains("2 tokens"), "\(arguments): \(run.errorText)")
            #expect(run.errorText.contains("coffer token purge-corrupt"), "\(arguments)")
        }
        let status = try home.run(["status"], passcode: "")
        #expect(status.text.contains("damagedTokens: 2"))
        #expect(status.errorText.contains("coffer token purge-corrupt"))
        let doctor = try home.run(["doctor"], passcode: "")
        #expect(doctor.text.contains("damaged-tokens") && doctor.text.contains("purge-corrupt"))
        #expect(try home.run(["token", "purge-corrupt"], passcode: "").text == "2\n")
        for arguments in [["unlock"], ["token", "list"], ["status"]] {
            #expect(try !home.run(arguments).errorText.contains("damaged"), "\(arguments)")
        }
        #expect(try !home("doctor").text.contains("damaged-tokens"))
        for arguments in [["--help"], ["token", "--help"]] {
            let help = try CommandRun.run(CommandRun.cofferPath, arguments)
            #expect(help.text.contains("purge-corrupt"), "\(arguments)")
        }
    }

    @Test("A new token put while locked is stored at the unlock and marked; a damaged one is named")
    func pendingNew() throws {
        let home = try CommandHome()
        let first = try home.run(["token", "put", "s", "new"], passcode: "", input: Array("new".utf8))
        #expect(first.text == "0\n")
        #expect(try home("token", "get", "s", "new").text == "new")
        let tokens = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(tokens?.first?["storedWhileLocked"] as? Bool == true)
        #expect(try home("token", "list").text.contains("stored while locked"))
        #expect(try home("token", "put", "s", "new", input: Array("newer".utf8)).text == "2\n")
        #expect(try home("token", "list").text.contains("stored while locked") == false)
        let inbox = home.path + "/vault/inbox"
        let put = try home.run(["token", "put", "s", "b"], passcode: "", input: [1])
        #expect(put.code == 0)
        let entry = try #require(FileManager.default.contentsOfDirectory(atPath: inbox).first)
        try Data([1, 2, 3]).write(to: URL(filePath: inbox + "/" + entry))
        #expect(try home("token", "list", "--json").code == 0)
        #expect(try home.status()["damagedTokens"] as? Int == 1)
        #expect(try home.run(["token", "purge-corrupt"], passcode: "").text == "1\n")
        #expect(try home.status()["damagedTokens"] == nil)
    }

    @Test("A token under a reserved service is refused, locked or not", arguments: ["", "2468"])
    func reserved(_ passcode: String) throws {
        let home = try CommandHome()
        for service in [
            "coffer.soups", "coffer.documented", "coffer.", "oauth-profile:work", "oauth-client:work",
        ] {
            let put = ["token", "put", service, "database/notes", "--kind", "other", "--json"]
            let run = try home.run(put, passcode: passcode, input: [1])
            #expect(run.code == 11 && run.errorCode == "refused", "\(service)")
        }
        #expect(try home.run(["token", "put", "coffer", "a"], passcode: passcode, input: [1]).code == 0)
        #expect(try home.status()["tokens"] as? Int == (passcode.isEmpty ? 0 : 1))
    }

    @Test("Unlocking lasts for later commands until lock", .enabled(if: KernelKeyring.isAvailable))
    func cachedKeys() throws {
        let home = try CommandHome()
        let run = try home("unlock", "--json")
        #expect(run.code == 0 && run.json["state"] as? String == "unlocked")
        #expect(run.json["held"] as? Bool == true)
        #expect(try home.status()["state"] as? String == "unlocked")
        #expect(try home.run(["token", "put", "s", "a"], passcode: "", input: [1]).code == 0)
        #expect(try home.run(["lock", "--json"], passcode: "").json["state"] as? String == "locked")
        #expect(try home.run(["token", "get", "s", "a"], passcode: "").code == 4)
        #expect(try home.status()["state"] as? String == "locked")
    }

    @Test("A token of the class afterFirstUnlock outlasts a lock", .enabled(if: KernelKeyring.isAvailable))
    func afterFirstUnlock() throws {
        let home = try CommandHome()
        let put = ["token", "put", "s", "a", "--class", "afterFirstUnlockThisDeviceOnly"]
        #expect(try home.run(put, input: Array("after".utf8)).code == 0)
        #expect(try home("token", "put", "s", "b", input: Array("while".utf8)).code == 0)
        #expect(try home.run(["token", "get", "s", "a"], passcode: "").code == 4)
        #expect(try home("unlock").code == 0)
        #expect(try home.run(["lock"], passcode: "").code == 0)
        #expect(try home.run(["token", "get", "s", "a"], passcode: "").text == "after")
        #expect(try home.run(["token", "get", "s", "b"], passcode: "").code == 4)
        // The reason is the same as for a vault without any key.
        let message =
            "coffer: The vault is locked, and there is no terminal on which to ask for its passcode. Specify "
            + "its passcode with --passcode-fd, or run coffer unlock first.\n"
        for command in [
            ["token", "list"], ["token", "get", "s", "b"], ["aws-credential-process"],
            ["run", "--env", "X=s/b", "--", "true"],
        ] {
            let run = try home.run(command, passcode: "")
            #expect(run.code == 4 && run.errorText == message, "\(command): \(run.errorText)")
        }
    }

    @Test(
        "Without a kernel keyring, an open vault without a passcode needs none",
        .enabled(if: PreloadedLibrary.noKeyring != nil))
    func noKeyringAndNoPasscode() throws {
        let home = try CommandHome(passcode: nil)
        let environment = ["LD_PRELOAD": try #require(PreloadedLibrary.noKeyring), "NOKEYRING": "ENOSYS"]
        let run = try home.run(["unlock", "--json"], environment: environment)
        #expect(run.code == 0 && run.json["held"] as? Bool == false, "\(run.errorText)")
    }

    @Test("status has the directory and the time left", .enabled(if: KernelKeyring.isAvailable))
    func timeLeft() throws {
        let home = try CommandHome()
        #expect(try home.status()["secondsLeft"] is NSNull)
        #expect(try home.status()["directory"] as? String == home.path)
        #expect(try home("unlock", "--for", "1h").code == 0)
        let left = try #require(try home.status()["secondsLeft"] as? Int)
        #expect((3000...3600).contains(left))
        #expect(try home.run(["status"], passcode: "").text.contains("\ndirectory: \(home.path)\n"))
        #expect(try home.run(["lock"], passcode: "").code == 0)
        #expect(try home.status()["secondsLeft"] is NSNull)
        let folder = home.folder.path(percentEncoded: false)
        let relative = try CommandRun.run(
            "sh", ["-c", "cd \"$1\" && \"$0\" status --json --home home", CommandRun.cofferPath, folder])
        let directory = relative.json["directory"] as? String
        #expect(directory?.hasPrefix("/") == true && directory?.hasSuffix("/home") == true)
    }

    @Test("--for ends by itself", .enabled(if: KernelKeyring.isAvailable))
    func timeout() throws {
        let home = try CommandHome()
        #expect(try home("unlock", "--for", "1").code == 0)
        let deadline = ContinuousClock.now + .seconds(20)
        var state: String?
        repeat {
            state = try home.status()["state"] as? String
        } while state != "locked" && ContinuousClock.now < deadline
        #expect(state == "locked")
        for seconds in ["0", "-1", "2147483648", "soon"] {
            #expect(try home("unlock", "--for=\(seconds)").code == 64)
        }
    }

    @Test("--for 2: a token is got, and some time later no more", .enabled(if: KernelKeyring.isAvailable))
    func gotUntilTheTimeout() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        let deadline = ContinuousClock.now + .seconds(120)
        var wasGot = false
        // A machine that is slow enough lets the time pass before the first get.
        while !wasGot, ContinuousClock.now < deadline {
            #expect(try home("unlock", "--for", "2").code == 0)
            wasGot = try home.run(["token", "get", "s", "a"], passcode: "").output == [1]
        }
        #expect(wasGot)
        let key = "coffer:\(try #require(try home.status()["vaultID"] as? String)):whenUnlockedThisDeviceOnly"
        let end = ContinuousClock.now + .seconds(30)
        while KernelKeys.secondsLeft(key) != nil, ContinuousClock.now < end { usleep(50_000) }
        #expect(try home.run(["token", "get", "s", "a"], passcode: "").code == 4)
    }

    @Test(
        "Use starts the inactivity time again, and never that of --for",
        .enabled(if: KernelKeyring.isAvailable))
    func use() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        let key = "coffer:\(try #require(try home.status()["vaultID"] as? String)):whenUnlockedThisDeviceOnly"
        for (options, isRenewed) in [([], true), (["--for", "590"], false)] as [([String], Bool)] {
            #expect(try home.run(["unlock"] + options).code == 0)
            try KernelKeyring.refresh(key, timeout: 300)
            #expect(try #require(KernelKeys.secondsLeft(key)) <= 300)
            #expect(try home.run(["token", "get", "s", "a"], passcode: "").output == [1])
            #expect((try #require(KernelKeys.secondsLeft(key)) > 300) == isRenewed)
            // Looking is not using.
            try KernelKeyring.refresh(key, timeout: 300)
            #expect(try home.status()["state"] as? String == "unlocked")
            #expect(try #require(KernelKeys.secondsLeft(key)) <= 300)
        }
    }

    @Test(
        "Without a kernel keyring everything works with the passcode",
        .enabled(if: PreloadedLibrary.noKeyring != nil), arguments: ["EPERM", "EACCES", "ENOSYS"])
    func noKeyring(_ failure: String) throws {
        let home = try CommandHome()
        let environment = ["LD_PRELOAD": try #require(PreloadedLibrary.noKeyring), "NOKEYRING": failure]
        func run(_ arguments: String..., passcode: String? = nil) throws -> CommandRun {
            try home.run(arguments, passcode: passcode, input: [7], environment: environment)
        }
        let unlocked = try run("unlock", "--json")
        #expect(unlocked.code == 8 && unlocked.errorCode == "keyringUnavailable")
        #expect(unlocked.errorText.contains("no kernel keyring"))
        #expect(try run("token", "get", "s", "a", passcode: "").code == 4)
        #expect(try run("token", "put", "s", "a").code == 0)
        #expect(try run("token", "get", "s", "a").output == [7])
        #expect(try run("lock").code == 0)
        let checks = try run("doctor", "--json").json["checks"] as? [[String: Any]] ?? []
        let keyring = checks.first { $0["name"] as? String == "kernel-keyring" }
        #expect(keyring?["status"] as? String == "missing")
        #expect(try run("wipe", "--yes").code == 0)
    }

    @Test(
        "A used up quota of keys: unlock says so and leaves nothing; what needs no key there works",
        .enabled(if: PreloadedLibrary.noKeyring != nil && KernelKeyring.isAvailable),
        arguments: ["QUOTA", "ALMOST"])
    func quota(_ mode: String) throws {
        let home = try CommandHome()
        let environment = ["LD_PRELOAD": try #require(PreloadedLibrary.noKeyring), "NOKEYRING": mode]
        for passcode in [nil, "1357"] {
            let run = try home.run(["unlock", "--json"], passcode: passcode, environment: environment)
            // Where there is no room for the mark, the passcode is not looked at.
            let isWrong = passcode != nil && mode == "ALMOST"
            #expect(run.code == (isWrong ? 5 : 1))
            #expect(run.errorCode == (isWrong ? "wrongPasscode" : "noSpace"), "\(run.errorText)")
            #expect(isWrong || run.errorText.contains("/proc/key-users"))
            // A lock does not take all of them.
            #expect(isWrong || run.errorText.contains("afterFirstUnlock"), "\(run.errorText)")
        }
        let status = try home.status()
        #expect(status["state"] as? String == "locked")
        #expect(status["attemptsLeft"] as? Int == (mode == "ALMOST" ? 9 : 10))
        let vaultID = try #require(status["vaultID"] as? String)
        #expect(try !String(contentsOfFile: "/proc/keys", encoding: .utf8).contains("coffer:\(vaultID)"))
        let put = ["token", "put", "s", "a"]
        #expect(try home.run(put, input: [1], environment: environment).text == "1\n")
        #expect(try home("unlock").code == 0)
    }
}

extension [String] {
    /// The arguments with `--json` among the command's own.
    var withJSON: [String] {
        let end = firstIndex(of: "--") ?? endIndex
        return self[..<end] + ["--json"] + self[end...]
    }
}
