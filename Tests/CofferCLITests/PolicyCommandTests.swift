import Foundation
import Testing
import TestSupport

/// A copy of /etc with a policy, which commands see in a mount namespace of their own.
private final class ManagedMachine {
    let folder: URL
    let home: CommandHome

    init(_ home: CommandHome) throws {
        self.home = home
        folder = home.folder.appending(path: "etc")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let run = try CommandRun.run("sh", ["-c", "cp -a /etc/. \"$0\" && rm -rf \"$0/coffer\"", path])
        try #require(run.code == 0, "\(run.errorText)")
    }

    private var path: String { folder.path(percentEncoded: false) }

    /// The words before a command that sees the copy.
    private var before: [String] {
        ["unshare", "-m", "sh", "-c", "mount --bind \"$0\" /etc && exec \"$@\"", path]
    }

    func set(_ policy: String, as name: String = "10.json", mode: Int = 0o644) throws {
        let policies = folder.appending(path: "coffer/policy.d")
        try FileManager.default.createDirectory(at: policies, withIntermediateDirectories: true)
        let file = policies.appending(path: name)
        try Data(policy.utf8).write(to: file)
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: file.path(percentEncoded: false))
    }

    func callAsFunction(
        _ arguments: String..., passcode: String? = nil, new: String? = nil, input: [UInt8] = [],
        environment: [String: String] = [:]
    ) throws -> CommandRun {
        try home.run(
            arguments, passcode: passcode, new: new, input: input, environment: environment, before: before)
    }

    /// Runs a command without a vault.
    func plain(_ arguments: String...) throws -> CommandRun {
        let all = before + [CommandRun.cofferPath] + arguments
        return try CommandRun.run(all[0], Array(all.dropFirst()))
    }
}

@Suite(
    "The command and the administrator's policy", .timeLimit(.minutes(10)),
    .enabled(if: ScratchMountNamespace.isPossible, "no mount namespace for this user"),
    .enabled(if: getuid() == 0, "the files must belong to root"))
struct PolicyCommandTests {
    @Test("What is managed is shown with its file and line")
    func show() throws {
        let machine = try ManagedMachine(CommandHome())
        #expect(try machine.plain("policy", "show").code == 0)
        #expect(try machine.plain("policy", "show").output.isEmpty)
        try machine.set("{\n\"AllowExport\": false,\n\"ContactDays\": 30,\n\"AlowImport\": false}")
        let text = try machine.plain("policy", "show")
        #expect(
            text.text == """
                AllowExport: false (enforced, /etc/coffer/policy.d/10.json:2)
                ContactDays: 30 (offered, /etc/coffer/policy.d/10.json:3)

                """)
        #expect(text.errorText.contains("AllowImport"))
        let json = try machine.plain("policy", "show", "--json").json
        #expect((json["values"] as? [[String: Any]])?.first?["key"] as? String == "AllowExport")
        let status = try machine("status", "--json", passcode: "").json
        #expect(status["managed"] as? [String] == ["AllowExport", "ContactDays"])
        #expect(try machine("doctor", passcode: "").text.contains("/etc/coffer/policy.d/10.json:2"))
    }

    @Test("No command, option or variable gets around a rule")
    func bypass() throws {
        let home = try CommandHome()
        let machine = try ManagedMachine(home)
        #expect(try home("token", "put", "service", "account", input: [65]).code == 0)
        let create = ["database", "query", "--vault", "notes", "--create", "CREATE TABLE t (x)"]
        #expect(try home.run(create).code == 0)
        try machine.set(
            """
            {"AllowExport": false, "AllowImport": false, "AllowFileExport": false, "AllowRecoveryKey": false,
             "AllowedKeyrings": ["file"], "InactivityMinutes": 5, "PasscodeMinimumLength": 4}
            """)
        let target = home.folder.appending(path: "out").path(percentEncoded: false)
        let id = try home.add(try home.file("letter", [65]))
        for command in [
            ["file", "export", id, target], ["recovery", "create", "--unchecked"],
            ["database", "convert", "--vault", "notes", target, "--to", "plain"],
        ] {
            let variables = ["COFFER_POLICY": "/nowhere", "XDG_CONFIG_DIRS": "/nowhere", "HOME": "/nowhere"]
            let run = try home.run(
                command, environment: variables,
                before: [
                    "unshare", "-m", "sh", "-c", "mount --bind \"$0\" /etc && exec \"$@\"",
                    machine.folder.path(percentEncoded: false),
                ])
            #expect(run.code == 11, "\(command) \(run.errorText)")
            #expect(run.errorText.contains("/etc/coffer/policy.d/10.json"))
        }
        #expect(!FileManager.default.fileExists(atPath: target))
        #expect(try machine("unlock", "--for", "6m").code == 11)
        #expect(try machine("keyring", "move", "--to", "secret-service").code == 11)
        #expect(try machine("file", "cat", id).text == "A")
        #expect(try machine("token", "get", "service", "account").text == "A")
        #expect(try machine("settings", "--inactivity", "reboot").code == 0)
        #expect(try machine("status", "--json", passcode: "").json["inactivityMinutes"] as? Int == 5)
    }

    @Test("Backups: refused both ways, or for the administrator's recipients, too")
    func backups() throws {
        let home = try CommandHome()
        let machine = try ManagedMachine(home)
        let path = home.folder.appending(path: "vault.age").path(percentEncoded: false)
        let recipient = "age1x3pc4wukzx9xl3dumlgajml8sd4yqqu7fwd3w0sqw8a3ljkqlycsgrn3ks"
        let identity = try home.file(
            "identity",
            Array("AGE-SECRET-KEY-1NDUC83A653VL928P98F25CSSM0U9P63JXPYTP0Y60S4TJLYSRPRSF2SWA2\n".utf8))
        try machine.set(#"{"AllowExport": false, "AllowImport": false}"#)
        let refused = try machine("backup", "create", path, "--to", recipient, "--keep", "2")
        #expect(refused.code == 11 && refused.errorText.contains("AllowExport"), "\(refused.errorText)")
        #expect(!FileManager.default.fileExists(atPath: path))
        // With required recipients, none has to be given, and no passphrase is asked for.
        try machine.set("{\"AllowImport\": false, \"BackupRecipients\": [\"\(recipient)\"]}")
        let made = try machine("backup", "create", path)
        #expect(made.code == 0, "\(made.errorText)")
        let restored = try machine("backup", "restore", path, "--identity", identity)
        #expect(restored.code == 11 && restored.errorText.contains("AllowImport"), "\(restored.errorText)")
        try machine.set("{")
        #expect(try machine.plain("backup", "verify", path, "--identity", identity).code == 0)
        #expect(try machine("backup", "create", path, "--to", recipient, "--keep", "2").code == 11)
    }

    @Test("A passcode that no longer suffices opens only its change")
    func mustChange() throws {
        let machine = try ManagedMachine(CommandHome())
        try machine.set(#"{"PasscodeMinimumLength": 8}"#)
        let run = try machine("token", "list", "--json")
        #expect(run.code == 11 && run.errorCode == "passcodeMustChange", "\(run.errorText)")
        #expect(run.errorText.contains("coffer passcode change"))
        #expect(try machine("passcode", "change", new: "1357").code == 11)
        #expect(try machine("passcode", "change", new: "13579246").code == 0)
        #expect(try machine("token", "list", passcode: "13579246").code == 0)
    }

    @Test("A mistake stops init, unlock and put with its line; status, lock and wipe work")
    func mistake() throws {
        let machine = try ManagedMachine(CommandHome())
        try machine.set("{\n\"AllowExport\": 1}")
        let runs = [
            try machine("unlock", "--json"),
            try machine("token", "put", "service", "account", "--json", input: [65]),
        ]
        for run in runs {
            #expect(run.code == 11 && run.errorCode == "policyInvalid", "\(run.errorText)")
            #expect(run.errorText.contains("10.json: line 2: AllowExport"))
        }
        #expect(try machine.plain("policy", "show").code == 11)
        #expect(try machine("status", passcode: "").text.contains("policyInvalid: "))
        #expect(try machine("lock", passcode: "").code == 0)
        try machine.set("{}", mode: 0o666)
        #expect(try machine("unlock").code == 11)
        try machine.set("{}")
        #expect(try machine("unlock").code == 0)
        try machine.set("{")
        #expect(try machine("wipe", "--yes", passcode: "").code == 0)
        #expect(try machine("init", "--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2").code == 11)
    }

    @Test("Check lists everything, install refuses mistakes and unknown keys, convert keeps them")
    func files() throws {
        let home = try CommandHome()
        let machine = try ManagedMachine(home)
        let bad = try home.file("bad.json", Array("{\n\"AllowExport\": 1,\n\"ContactDays\": 0}".utf8))
        let check = try machine.plain("policy", "check", bad)
        #expect(check.code == 64)
        #expect(check.text.contains("line 2: AllowExport") && check.text.contains("line 3: ContactDays"))
        #expect(try machine.plain("policy", "install", bad).code == 64)
        let later = try home.file("later.json", Array("{\"AllowExport\": false, \"Later\": [true]}".utf8))
        #expect(try machine.plain("policy", "check", later).code == 0)
        #expect(try machine.plain("policy", "install", later).code == 64)
        #expect(try machine.plain("policy", "show").output.isEmpty)
        #expect(try machine.plain("policy", "install", later, "--allow-unknown").code == 0)
        #expect(try machine.plain("policy", "show").text.contains("AllowExport: false"))
        let plist = try machine.plain("policy", "convert", "--to", "plist", later)
        let copy = try home.file("copy.plist", plist.output)
        #expect(plist.code == 0)
        let json = try machine.plain("policy", "convert", "--to", "json", copy)
        #expect(json.text == "{\"AllowExport\":false,\"Later\":[true]}\n")
        for name in ["a.txt", "missing.json"] {
            #expect(try machine.plain("policy", "check", home.folder.appending(path: name).path).code != 0)
        }
    }
}
