import Foundation
import Testing
import TestSupport

@Suite("coffer init, coffer status")
struct InitStatusTests {
    @Test("status has its documented members before and after init")
    func members() throws {
        let home = try CommandHome(passcode: "2468", "--inactivity", "5")
        let status = try home.status()
        #expect(
            Set(status.keys) == [
                "state", "keyring", "vaultID", "passcode", "attemptsLeft", "inactivityMinutes", "tokens",
                "files", "directory", "secondsLeft", "eraseAfter", "requireDiskEncryption", "recoveryKey",
                "lastBackup", "keyPairs", "databases",
            ])
        #expect(status["state"] as? String == "locked" && status["keyring"] as? String == "file")
        #expect(UUID(uuidString: status["vaultID"] as? String ?? "") != nil)
        #expect(status["passcode"] as? Bool == true && status["attemptsLeft"] as? Int == 10)
        #expect(status["inactivityMinutes"] as? Int == 5 && status["eraseAfter"] as? Int == 10)
        #expect(
            status["tokens"] as? Int == 0 && status["files"] as? Int == 0 && status["keyPairs"] as? Int == 0
                && status["databases"] as? Int == 0)
        let none = try CommandRun.coffer("status", "--json", "--home", home.path + "-absent")
        #expect(none.code == 0 && none.json["state"] as? String == "uninitialised")
        #expect(none.json.count == 16)
    }

    @Test("Without a passcode a home is open; until reboot it has no minutes")
    func open() throws {
        let home = try CommandHome(passcode: nil, "--inactivity", "reboot")
        let status = try home.status()
        #expect(status["state"] as? String == "unlocked" && status["passcode"] as? Bool == false)
        #expect(status["attemptsLeft"] is NSNull && status["inactivityMinutes"] is NSNull)
    }

    @Test("init and passcode set say that the tenth wrong passcode erases everything, if there is one")
    func erasureNotice() throws {
        let folder = try ScratchDirectory.make()
        let notice = "The tenth wrong passcode in a row erases the vault with everything in it."
        for (name, options, erases) in [
            ("a", ["--passcode-fd", "3"], true), ("b", ["--no-passcode"], false),
            ("c", ["--passcode-fd", "3", "--erase-after", "never"], false),
            ("d", ["--no-passcode", "--erase-after", "never"], false),
        ] {
            let create = ["init", "--keyring", "file"] + CommandHome.cheap + options
            for (suffix, more) in [("", []), ("-json", ["--json"])] as [(String, [String])] {
                let run = try CommandRun.run(
                    CommandRun.cofferPath, create + more + ["--home", folder.path(of: name + suffix)],
                    descriptors: [3: Array("2468\n".utf8)])
                #expect(run.code == 0, "\(run.errorText)")
                if more.isEmpty {
                    #expect(run.text.contains(notice) == erases)
                    // What helps is named, if there is a passcode to forget.
                    let hasPasscode = options.contains("--passcode-fd")
                    #expect(run.text.contains("coffer recovery create") == hasPasscode, "\(run.text)")
                    #expect(run.text.contains("see coffer backup create") == hasPasscode)
                } else {
                    #expect(run.json["eraseAfter"] as? Int == (erases ? 10 : nil))
                }
            }
        }
        let help = try CommandRun.coffer("init", "--help").text.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(
            help.contains("cannot be recovered") && help.contains("see coffer backup create")
                && help.contains("see coffer recovery create"))
        let without = try CommandRun.coffer(
            "init", "--keyring", "file", "--passcode-fd", "3", "--recovery-keys", "off", "--home",
            folder.path(of: "e"), descriptors: [3: Array("2468\n".utf8)])
        #expect(without.code == 0 && !without.text.contains("coffer recovery"), "\(without.text)")
        let set = try CommandRun.coffer(
            "passcode", "set", "--home", folder.path(of: "b"), "--new-passcode-fd", "3",
            descriptors: [3: Array("2468\n".utf8)])
        #expect(set.code == 0 && set.errorText.contains(notice), "\(set.errorText)")
        let never = try CommandRun.coffer(
            "passcode", "set", "--home", folder.path(of: "d"), "--new-passcode-fd", "3",
            descriptors: [3: Array("2468\n".utf8)])
        #expect(never.code == 0 && never.errorText.contains("Wrong passcodes never erase the vault"))
    }

    @Test("A home is made once")
    func again() throws {
        let home = try CommandHome()
        let vaultID = try home.status()["vaultID"] as? String
        let run = try home.initialise(["--json"])
        #expect(run.code == 13 && run.errorCode == "alreadyExists")
        #expect(try home.status()["vaultID"] as? String == vaultID)
    }

    @Test(
        "Wrong options make nothing",
        arguments: [
            (["--policy", "digits"], "abcd", 11), (["--policy", "digits"], "123", 11),
            (["--policy", "digits"], "123456789", 11), (["--policy", "alphanumeric"], "abcde", 11),
            (["--policy", "alphanumeric"], "abc1", 11), (["--policy", "letters"], "1234", 64),
            (["--inactivity", "0"], "1234", 64),
            (["--inactivity", "soon"], "1234", 64), (["--attempt-delays", "maybe"], "1234", 64),
            (["--erase-after", "11"], "1234", 64), (["--erase-after", "none"], "1234", 64),
            (["--kdf-memory", "1"], "1234", 11), (["--kdf-memory", "9223372036854775807"], "1234", 11),
            (["--kdf-passes", "1"], "1234", 11), (["--no-passcode"], "1234", 64), ([], "", 64),
            (["--passcode-fd", "9"], "1234", 64),
        ] as [([String], String, Int32)])
    func refused(_ options: [String], _ passcode: String, _ code: Int32) throws {
        let folder = try ScratchDirectory.make()
        let path = folder.path(of: "home")
        let run = try CommandRun.run(
            CommandRun.cofferPath,
            ["init", "--home", path, "--json"]
                + (options.contains("--passcode-fd") ? [] : ["--passcode-fd", "3"]) + options,
            descriptors: [3: Array((passcode + "\n").utf8)])
        #expect(run.code == code && run.errorCode != nil)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("The home is found by the option, then COFFER_HOME, XDG_DATA_HOME and HOME")
    func places() throws {
        let home = try CommandHome()
        let vaultID = try home.status()["vaultID"] as? String
        let data = home.folder.path(percentEncoded: false)
        try FileManager.default.createSymbolicLink(
            atPath: data + "/coffer", withDestinationPath: home.path)
        func found(_ environment: [String: String]) throws -> String? {
            let clean = ["HOME": "", "XDG_DATA_HOME": "", "COFFER_HOME": ""]
            let run = try CommandRun.coffer(
                "status", "--json", environment: clean.merging(environment) { $1 })
            return run.code == 0 ? run.json["vaultID"] as? String : "exit \(run.code)"
        }
        #expect(try found(["COFFER_HOME": home.path, "XDG_DATA_HOME": "/nowhere"]) == vaultID)
        #expect(try found(["XDG_DATA_HOME": data, "HOME": "/nowhere"]) == vaultID)
        #expect(try found(["XDG_DATA_HOME": "relative", "HOME": data]) == nil)
        #expect(try found([:]) == "exit 64")
        let empty = try CommandRun.coffer("status", "--home", "")
        #expect(empty.code == 64)
    }

    @Test("A relative home, and one behind a link")
    func relative() throws {
        let folder = try ScratchDirectory.make()
        let script = """
            cd "$1" && "$0" init --no-passcode --home deep/below/home >/dev/null \
            && ln -s deep/below/home link \
            && printf t | "$0" token put s a --home ./deep/../deep/below/home \
            && "$0" token get s a --home link
            """
        let run = try CommandRun.run("sh", ["-c", script, CommandRun.cofferPath, folder.path(of: ".")])
        #expect(run.code == 0 && run.text == "1\nt")
    }

    @Test("A pipe is no file of denied passcodes, and is not waited for")
    func denyPipe() throws {
        let home = try CommandHome()
        let pipe = home.folder.appending(path: "pipe").path(percentEncoded: false)
        #expect(try CommandRun.run("mkfifo", [pipe]).code == 0)
        let other = home.folder.appending(path: "other").path(percentEncoded: false)
        let run = try CommandRun.coffer("init", "--no-passcode", "--deny-file", pipe, "--home", other)
        #expect(run.code == 64 && run.errorText.contains("must be a regular file"))
        #expect(!FileManager.default.fileExists(atPath: other))
    }

    @Test("A umask takes no rights from the owner of a home", arguments: ["0777", "0200", "0"])
    func umask(_ mask: String) throws {
        let home = try CommandHome()
        let other = home.folder.appending(path: "other").path(percentEncoded: false)
        let script = "umask \(mask); exec \"$0\" init --no-passcode --keyring file --home \"$1\""
        let run = try CommandRun.run("sh", ["-c", script, CommandRun.cofferPath, other])
        #expect(run.code == 0, "\(run.errorText)")
        let manager = FileManager.default
        for name in [""] + (try manager.subpathsOfDirectory(atPath: other)) {
            let status = try manager.attributesOfItem(atPath: other + "/" + name)
            let isDirectory = status[.type] as? FileAttributeType == .typeDirectory
            #expect(status[.posixPermissions] as? Int == (isDirectory ? 0o700 : 0o600), "\(name)")
        }
        #expect(try CommandRun.coffer("wipe", "--yes", "--home", other).code == 0)
    }
}
