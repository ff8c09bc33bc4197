import Foundation
import TestSupport
import Testing

@Suite("coffer backup", .timeLimit(.minutes(10)))
struct BackupCommandTests {
    /// A home with one movable token and file and one that must stay, and an identity for its backups.
    private struct Scene {
        let home: CommandHome
        let recipient: String
        var identity: String { home.folder.appending(path: "backup.key").path(percentEncoded: false) }
        var backup: String { home.folder.appending(path: "vault.age").path(percentEncoded: false) }

        init() throws {
            home = try CommandHome()
            let put = { [home] (account: String, protection: String) in
                try home(
                    "token", "put", "s", account, "--class", protection, input: Array("value \(account)".utf8)
                )
            }
            #expect(try put("moves", "whenUnlocked").code == 0)
            #expect(try put("stays", "whenUnlockedThisDeviceOnly").code == 0)
            let file = try home.file("f.txt", Array("content".utf8))
            #expect(try home("file", "add", file, "--class", "whenUnlocked").code == 0)
            let made = try CommandRun.run(
                "age-keygen", ["-o", home.folder.appending(path: "backup.key").path])
            try #require(made.code == 0, "\(made.errorText)")
            recipient = made.errorText.replacingOccurrences(of: "Public key: ", with: "")
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }

        func create(_ more: String...) throws -> CommandRun {
            try home.run(["backup", "create", backup, "--to", recipient] + more)
        }
    }

    @Test(
        "A backup is made for a recipient, checked without a vault, and restored into a new one"
    )
    func whole() throws {
        let scene = try Scene()
        #expect(try scene.home.status()["lastBackup"] is NSNull)
        let made = try scene.create("--json")
        #expect(made.code == 0 && made.json["tokens"] as? Int == 1, "\(made.errorText)")
        #expect(made.json["files"] as? Int == 1 && made.json["deviceTokens"] as? Int == 1)
        #expect(
            made.errorText
                == "coffer: 2 items can be restored on any device, and 1 item only in this backup's "
                + "own vault.\n")
        #expect(try scene.home.status()["lastBackup"] is String)
        #expect(try scene.create().code == 13)
        let verified = try CommandRun.coffer("backup", "verify", scene.backup, "--identity", scene.identity)
        #expect(verified.code == 0 && verified.text.contains("is complete"), "\(verified.errorText)")
        let listed = try CommandRun.coffer("backup", "list", scene.backup, "--identity", scene.identity)
        let paths = listed.text.split(separator: "\n").map { $0.split(separator: "\t").last.map(String.init) }
        #expect(paths.first == "manifest.json" && paths.count == 5, "\(listed.text)")
        let other = scene.home.folder.appending(path: "other").path(percentEncoded: false)
        let restored = try CommandRun.run(
            CommandRun.cofferPath,
            [
                "backup", "restore", scene.backup, "--identity", scene.identity, "--into-new", "--home",
                other,
                "--passcode-fd", "3",
            ], descriptors: [3: Array("1357\n".utf8)])
        #expect(restored.code == 0, "\(restored.errorText)")
        #expect(
            restored.text == "Restored 3 items: 2 added, 0 equal, 0 kept, 0 replaced, 1 impossible.\n")
        let value = try CommandRun.run(
            CommandRun.cofferPath, ["token", "get", "s", "moves", "--home", other, "--passcode-fd", "3"],
            descriptors: [3: Array("1357\n".utf8)])
        #expect(value.text == "value moves", "\(value.errorText)")
        _ = try CommandRun.coffer("wipe", "--yes", "--home", other)
    }

    @Test("A restore into the same vault keeps what differs, and says so with 10; a dry run changes nothing")
    func conflicts() throws {
        let scene = try Scene()
        #expect(try scene.create().code == 0)
        #expect(try scene.home("token", "put", "s", "moves", input: Array("newer".utf8)).code == 0)
        #expect(try scene.home("token", "remove", "s", "stays").code == 0)
        let options = ["backup", "restore", scene.backup, "--identity", scene.identity, "--json"]
        let trial = try scene.home.run(options + ["--dry-run"])
        #expect(trial.code == 10 && trial.json["kept"] as? Int == 1, "\(trial.errorText)")
        #expect(trial.json["added"] as? Int == 1 && trial.json["equal"] as? Int == 1)
        #expect(try scene.home("token", "get", "s", "stays").code == 3)
        #expect(try scene.home.run(options).code == 10)
        #expect(try scene.home("token", "get", "s", "stays").text == "value stays")
        #expect(try scene.home("token", "get", "s", "moves").text == "newer")
        let replaced = try scene.home.run(options + ["--on-conflict", "replace"])
        #expect(replaced.code == 0 && replaced.json["replaced"] as? Int == 1, "\(replaced.errorText)")
        #expect(try scene.home("token", "get", "s", "moves").text == "value moves")
    }

    @Test("--install writes units whose command makes the backup; they are replaced only on request")
    func timer() throws {
        let scene = try Scene()
        let configuration = scene.home.folder.appending(path: "config").path(percentEncoded: false)
        let environment = ["XDG_CONFIG_HOME": configuration]
        let create = ["backup", "create", scene.backup, "--to", scene.recipient]
        func install(_ more: String...) throws -> CommandRun {
            try scene.home.run(create + ["--install"] + more, passcode: "", environment: environment)
        }
        #expect(try install().code == 64)
        #expect(try install("--keep", "0").code == 64)
        let units = configuration + "/systemd/user/coffer-backup."
        let made = try install("--keep", "2")
        #expect(made.code == 0, "\(made.errorText)")
        #expect(made.text == "\(units)service\n\(units)timer\n")
        #expect(!FileManager.default.fileExists(atPath: scene.backup))
        #expect(try install("--keep", "2").code == 0)
        #expect(try install("--keep", "3").code == 13)
        let service = try String(contentsOfFile: units + "service", encoding: .utf8)
        let line = try #require(service.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
        #expect(try install("--keep", "3", "--replace").code == 0)
        #expect(try String(contentsOfFile: units + "service", encoding: .utf8).contains("--keep 3"))
        // As systemd runs it, while the vault is unlocked.
        #expect(try scene.home("unlock").code == 0)
        defer { _ = try? scene.home.run(["lock"], passcode: "") }
        let words = line.dropFirst("ExecStart=".count).split(separator: " ").map(String.init)
        for _ in 0..<3 { #expect(try CommandRun.run(words[0], Array(words.dropFirst())).code == 0) }
        #expect(FileManager.default.fileExists(atPath: scene.backup + ".1"))
        #expect(!FileManager.default.fileExists(atPath: scene.backup + ".2"))
    }

    @Test("A damaged item in a backup is told from those of another device by the exit code")
    func damagedItem() throws {
        let scene = try Scene()
        #expect(try scene.create().code == 0)
        let script = """
            import hashlib, io, subprocess, sys, tarfile
            key, recipient, path = sys.argv[1:]
            plain = subprocess.run(["age", "-d", "-i", key, path], capture_output=True, check=True).stdout
            token = plain.index(b'"class":"whenUnlocked"')
            changed = plain[:token] + b'"class":"whenUnl0cked"' + plain[token + 22:]
            archive = tarfile.open(fileobj=io.BytesIO(changed))
            for member in archive:
                content = archive.extractfile(member).read()
                digest = hashlib.sha256(content).hexdigest().encode()
                changed = changed.replace(hashlib.sha256(
                    content.replace(b"whenUnl0cked", b"whenUnlocked")).hexdigest().encode(), digest)
            subprocess.run(["age", "-r", recipient, "-o", path], input=changed, check=True)
            """
        let made = try CommandRun.run(
            "python3", ["-c", script, scene.identity, scene.recipient, scene.backup])
        #expect(made.code == 0, "\(made.errorText)")
        let options = ["--identity", scene.identity, "--json"]
        let run = try scene.home.run(["backup", "restore", scene.backup] + options)
        #expect(run.code == 7 && run.json["impossible"] as? Int == 1, "\(run.text)\(run.errorText)")
        #expect(run.json["equal"] as? Int == 2)
    }

    @Test("The lines of the README bring the movable items back without Coffer")
    func readme() throws {
        let scene = try Scene()
        let id = try scene.home("file", "list", "--json")
        #expect(id.code == 0)
        #expect(try scene.create().code == 0)
        let page = try String(contentsOfFile: PackageRoot.path + "README.md", encoding: .utf8)
        let start = try #require(page.range(of: "<!-- restore: without-coffer -->\n```sh\n"))
        let end = try #require(page.range(of: "\n```", range: start.upperBound..<page.endIndex))
        // There is no database in this vault.
        let lines = page[start.upperBound..<end.lowerBound].split(separator: "\n")
        #expect(lines.count == 5 && lines[4].hasPrefix("sqlite3 "))
        let script = lines[..<4].joined(separator: "\n").replacingOccurrences(
            of: " restored/databases", with: "")
        let folder = scene.home.folder.path(percentEncoded: false)
        let run = try CommandRun.run("/bin/bash", ["-ec", "cd \"$1\"\n" + script, "bash", folder])
        #expect(run.code == 0, "\(run.errorText)")
        #expect(run.text.hasSuffix("value movescontent"), "\(run.text)")
    }

    @Test("A wrong or missing key, a file that is no backup, and a half one have their own codes")
    func refusals() throws {
        let scene = try Scene()
        #expect(try scene.create().code == 0)
        let verify = { (more: [String], input: [UInt8]) in
            try CommandRun.run(
                CommandRun.cofferPath, ["backup", "verify"] + more, descriptors: [4: input])
        }
        #expect(try verify([scene.backup], []).code == 64)
        #expect(try verify([scene.identity, "--identity", scene.identity], []).code == 7)
        let other = scene.home.folder.appending(path: "other.key").path(percentEncoded: false)
        #expect(try CommandRun.run("age-keygen", ["-o", other]).code == 0)
        #expect(try verify([scene.backup, "--identity", other], []).code == 3)
        let whole = try Data(contentsOf: URL(filePath: scene.backup))
        let half = try scene.home.file("half.age", Array(whole.prefix(whole.count / 2)))
        #expect(try verify([half, "--identity", scene.identity], []).code == 7)
        let short = try scene.home.run(["backup", "create", half + "2", "--passphrase-fd", "4"], new: nil)
        #expect(short.code != 0)
        #expect(
            try scene.home.run(["backup", "create", scene.home.path + "/x", "--to", scene.recipient]).code
                == 11)
    }
}
