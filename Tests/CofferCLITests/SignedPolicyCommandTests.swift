import Foundation
import Testing
import TestSupport

@Suite("coffer policy sign, verify and take", .timeLimit(.minutes(10)))
struct SignedPolicyCommandTests {
    /// A home that trusts the key of an administrator, whose private key lies beside it.
    private struct Fixture {
        let home: CommandHome
        let keyFile: String
        let publicKey: String
        let vault: String

        init() throws {
            home = try CommandHome()
            keyFile = home.folder.appending(path: "office.key").path(percentEncoded: false)
            let made = try CommandRun.coffer("remote-wipe", "keygen", keyFile)
            publicKey = made.text.trimmingCharacters(in: .whitespacesAndNewlines)
            vault = try #require(try home.status()["vaultID"] as? String)
            let run = try home("remote-wipe", "trust-key", publicKey)
            try #require(run.code == 0, "\(run.errorText)")
        }

        func sign(_ document: String, _ options: String...) throws -> CommandRun {
            let file = try home.file("rules.json", Array(document.utf8))
            let words = ["policy", "sign", file, "--key-file", keyFile, "--vault", vault]
            return try CommandRun.run(CommandRun.cofferPath, words + options)
        }

        /// Signs a document; gives the path of the signed policy.
        func policy(_ document: String, counter: String) throws -> String {
            let run = try sign(document, "--counter", counter)
            try #require(run.code == 0, "\(run.errorText)")
            return try home.file("policy-\(counter)", run.output)
        }

        /// Runs a command without the passcode.
        func locked(_ words: String...) throws -> CommandRun {
            try home.run(words, passcode: "")
        }
    }

    @Test("A signed policy is verified, taken without the passcode, shown with its source, and obeyed")
    func taken() throws {
        let scene = try Fixture()
        let home = scene.home
        let policy = try scene.policy("{\n\"AllowExport\": false, \"ContactDays\": 9}", counter: "7")
        let offline = try CommandRun.coffer("policy", "verify", policy, "--key", scene.publicKey, "--json")
        #expect(offline.json["valid"] as? Bool == true && offline.json["counter"] as? String == "7")
        let values = offline.json["values"] as? [String: Any]
        #expect(values?["AllowExport"] as? Bool == false && values?["ContactDays"] as? Int == 9)
        #expect(try scene.locked("policy", "verify", policy).text.contains("AllowExport: false"))
        #expect(try scene.locked("policy", "show").output.isEmpty)
        let taken = try scene.locked("policy", "take", policy)
        #expect(taken.code == 0, "\(taken.errorText)")
        #expect(taken.text.contains("signer: \(scene.publicKey)"))
        let shown = try scene.locked("policy", "show")
        #expect(
            shown.text == """
                AllowExport: false (enforced, signed policy 7:2)
                ContactDays: 9 (offered, signed policy 7:2)

                """)
        let json = try scene.locked("policy", "show", "--json").json
        #expect((json["signed"] as? [String: Any])?["signer"] as? String == scene.publicKey)
        let status = try home.status()
        #expect(status["managed"] as? [String] == ["AllowExport", "ContactDays"])
        #expect(try scene.locked("doctor").text.contains("signed policy 7:2"))
        let target = home.folder.appending(path: "out").path(percentEncoded: false)
        let recipient = "age1x3pc4wukzx9xl3dumlgajml8sd4yqqu7fwd3w0sqw8a3ljkqlycsgrn3ks"
        let backup = try home("backup", "create", target, "--to", recipient)
        #expect(backup.code == 11 && backup.errorText.contains("signed policy 7:2"))
        #expect(!FileManager.default.fileExists(atPath: target))
        for words in [["policy", "verify", policy, "--json"], ["policy", "take", policy, "--json"]] {
            let again = try home.run(words, passcode: "")
            #expect(again.code == 10 && again.errorCode == "orderReplayed")
        }
    }

    @Test("Refusals have the codes of orders, and mistakes are not signed")
    func refused() throws {
        let scene = try Fixture()
        let home = scene.home
        #expect(try scene.sign("{\"AllowExport\": 1}").code == 64)
        let unknown = try scene.sign("{\"AlowExport\": false}")
        #expect(unknown.code == 64 && unknown.errorText.contains("AllowExport"))
        #expect(try scene.sign("{\"AlowExport\": false}", "--allow-unknown").code == 0)
        #expect(try scene.sign("{}", "--counter", "0").code == 64)
        #expect(try scene.sign("{}", "--valid-for", "0").code == 64)
        let large = "{}" + String(repeating: " ", count: 65536)
        #expect(try scene.sign(large).code == 64)
        let expired = try home.file(
            "expired", scene.sign("{}", "--issued", "2020-01-01T00:00:00Z", "--valid-for", "60").output)
        let early = try home.file("early", scene.sign("{}", "--issued", "2200-01-01T00:00:00Z").output)
        let order = try CommandRun.coffer(
            "remote-wipe", "create", "--key-file", scene.keyFile, "--vault", scene.vault)
        let other = try CommandRun.coffer(
            "policy", "sign", home.file("r.json", Array("{}".utf8)), "--key-file", scene.keyFile, "--vault",
            UUID().uuidString)
        let strangerKey = home.folder.appending(path: "stranger").path(percentEncoded: false)
        #expect(try CommandRun.coffer("remote-wipe", "keygen", strangerKey).code == 0)
        let stranger = try CommandRun.coffer(
            "policy", "sign", home.file("s.json", Array("{}".utf8)), "--key-file", strangerKey, "--vault",
            scene.vault)
        for (file, code, name) in [
            (expired, 11, "orderExpired"), (early, 11, "orderNotYetValid"),
            (try home.file("order", order.output), 7, "orderMalformed"),
            (try home.file("other", other.output), 7, "orderForeign"),
            (try home.file("strange", stranger.output), 7, "orderUnknownKey"),
            (try home.file("long", [UInt8](repeating: 0, count: 70_000)), 7, "orderTooLong"),
        ] as [(String, Int32, String)] {
            let run = try scene.locked("policy", "take", file, "--json")
            #expect(run.code == code && run.errorCode == name, "\(run.errorText)")
        }
        #expect(try scene.locked("policy", "show", "--json").json["signed"] is NSNull)
    }

    @Test("The key of the policy in force goes only with the passcode, and the policy with it")
    func removal() throws {
        let scene = try Fixture()
        let home = scene.home
        // Every unlock is refused, and no other command opens the vault.
        let policy = try scene.policy("{\"RequireHardwareKey\": true}", counter: "1")
        #expect(try scene.locked("policy", "take", policy).code == 0)
        #expect(try home("token", "list").code == 11)
        #expect(try scene.locked("remote-wipe", "distrust-key", scene.publicKey).code == 4)
        let wrong = try home.run(["remote-wipe", "distrust-key", scene.publicKey], passcode: "1111")
        #expect(wrong.code == 5)
        #expect(try home("remote-wipe", "distrust-key", scene.publicKey).code == 0)
        #expect(try home("token", "list").code == 0)
        #expect(try scene.locked("policy", "take", policy).code == 7)
    }

    @Test("A key that could replace the policy in force is added only with the passcode")
    func addition() throws {
        let scene = try Fixture()
        let home = scene.home
        let own = home.folder.appending(path: "own.key").path(percentEncoded: false)
        let key = try CommandRun.coffer("remote-wipe", "keygen", own).text
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let policy = try scene.policy("{\"AllowExport\": false}", counter: "1")
        #expect(try scene.locked("policy", "take", policy).code == 0)
        // The keys are cached where there is a kernel keyring.
        #expect([0, 8].contains(try home("unlock").code))
        let added = try scene.locked("remote-wipe", "trust-key", key)
        #expect(added.code == 4 && added.errorText.contains("--passcode-fd"))
        #expect(try home.run(["remote-wipe", "trust-key", key], passcode: "1111").code == 5)
        #expect(try !scene.locked("remote-wipe", "keys").text.contains(key))
        #expect(try home("remote-wipe", "trust-key", key, "--label", "own").code == 0)
        #expect(try scene.locked("remote-wipe", "keys").text.contains("\(key) "))
        #expect(try scene.locked("lock").code == 0)
    }

    @Test("A damaged record stops unlock and put; show says so, status, lock and wipe work, take mends it")
    func damaged() throws {
        let scene = try Fixture()
        let home = scene.home
        #expect(try home("token", "put", "service", "account", input: [65]).code == 0)
        let policy = try scene.policy("{\"AllowExport\": false}", counter: "1")
        #expect(try scene.locked("policy", "take", policy).code == 0)
        try Data().write(to: URL(filePath: home.path + "/vault/policy"))
        for run in [
            try home("unlock", "--json"), try home("token", "list", "--json"),
            try home("token", "put", "service", "account", "--json", input: [66]),
            try scene.locked("policy", "show", "--json"),
        ] {
            #expect(run.code == 11 && run.errorCode == "policyInvalid", "\(run.errorText)")
            #expect(run.errorText.contains("coffer policy take"))
        }
        #expect(try scene.locked("status").text.contains("policyInvalid: "))
        #expect(try scene.locked("lock").code == 0)
        #expect(try scene.locked("policy", "take", policy).code == 0)
        #expect(try home("token", "get", "service", "account").text == "A")
        try FileManager.default.removeItem(atPath: home.path + "/vault/policy")
        #expect(try home("token", "list").code == 11)
        #expect(try scene.locked("wipe", "--yes").code == 0)
    }
}
