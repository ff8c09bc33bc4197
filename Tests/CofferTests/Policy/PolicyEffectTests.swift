import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import CofferVault
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("The policy's other rules", .timeLimit(.minutes(10)))
struct PolicyEffectTests {
    private func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        await refusal(body)?.code
    }

    private func id() throws -> TokenID { try TokenID(service: "example.org", account: "ada") }

    @Test("A mistake stops unlock, init and put, and nothing else")
    func mistake() async throws {
        let home = try ManagedHome()
        let vault = try await home.create("horse 7")
        try await vault.tokens.put(Token(copying: "value"), for: id())
        try home.set("{\n\"AllowExport\": 1}")
        // A session goes on with the policy with which it began.
        try await vault.tokens.put(Token(copying: "newer"), for: id())
        let opened = try await home.open()
        let error = await refusal(of: "horse 7", by: opened)
        #expect(error?.code == .policyInvalid)
        #expect(error?.entries.first?.contains("line 2: AllowExport") == true)
        #expect(await code { try await opened.tokens.put(Token(copying: "a"), for: id()) } == .policyInvalid)
        #expect(await refusal(of: "wrong", by: opened)?.code == .policyInvalid)
        let other = try ManagedHome("{")
        #expect(await code { _ = try await other.create() } == .policyInvalid)
        #expect(!FileManager.default.fileExists(atPath: other.location.path.string))
        let status = try await opened.status()
        #expect(status.policyFault != nil && status.attemptsLeft == 10 && status.tokens == 1)
        #expect(try await opened.securityChecks().contains { $0.name == "policy" && $0.status == .missing })
        opened.lock()
        _ = try await Vault.wipe(at: home.location)
        #expect(try await Vault.status(at: home.location).state == .wiped)
    }

    @Test("The policy counts from the next unlock on, and nothing reads it in between")
    func frozen() async throws {
        let home = try ManagedHome()
        let vault = try await home.create()
        let path = home.location.path.appending("export").string
        try home.set(#"{"AllowExport": false, "AllowImport": false}"#)
        #expect(try vault.managedPolicy().isEmpty)
        vault.lock()
        try await vault.unlock()
        #expect(try vault.managedPolicy().flag(.allowExport) == false)
        #expect(
            await code {
                try await vault.tokens.export(to: path, passphrase: Passcode(copying: "long passphrase"))
            } == .refused)
        #expect(
            await code {
                try await vault.tokens.importTokens(
                    from: path, passphrase: Passcode(copying: "long passphrase"))
            } == .refused)
        try home.set("{")
        #expect(try vault.managedPolicy().flag(.allowExport) == false)
    }

    @Test("A policy that changes or vanishes is noticed at the next unlock, once")
    func changed() async throws {
        let home = try ManagedHome(#"{"AllowExport": false}"#)
        let vault = try await home.create()
        vault.lock()
        try await vault.unlock()
        #expect(try await !vault.isManagedPolicyChanged())
        try home.clear()
        let opened = try await home.open()
        #expect(try await opened.isManagedPolicyChanged())
        #expect(try await opened.status().isPolicyChanged)
        #expect(try await opened.securityChecks().contains { $0.message.contains("policyChanged") })
        let events = opened.events
        try await opened.unlock()
        #expect(try await !opened.isManagedPolicyChanged())
        try home.set("{}")
        #expect(try await home.open().isManagedPolicyChanged())
        _ = events
        // A damaged record says that something changed, and prevents no unlock.
        try home.home.write("policy", Array(repeating: 7, count: 1024))
        let again = try await home.open()
        #expect(try await again.isManagedPolicyChanged())
        try await again.unlock()
        #expect(try await !again.isManagedPolicyChanged())
    }

    @Test(
        "Whatever became of the record of the policy, it prevents no unlock, lock or wipe",
        arguments: [
            ": >", "truncate -s 100", "chmod 0", "rm", "f() { rm $1 && mkdir $1; }; f",
            "f() { rm $1 && mkfifo $1; }; f", "f() { rm $1 && ln -s /nowhere $1; }; f",
        ])
    func disturbedRecord(_ disturb: String) async throws {
        let home = try ManagedHome(#"{"AllowExport": false}"#)
        let vault = try await home.create("horse 7")
        vault.lock()
        try await vault.unlock(with: Passcode(copying: "horse 7"))
        let path = home.location.path.appending("vault/policy").string
        #expect(FileManager.default.fileExists(atPath: path))
        let run = try CommandRun.run("sh", ["-c", "\(disturb) '\(path)'"])
        #expect(run.code == 0, "\(run.errorText)")
        let opened = try await home.unlocked("horse 7")
        #expect(try opened.managedPolicy().flag(.allowExport) == false)
        #expect(try await opened.status().policyFault == nil)
        opened.lock()
        #expect(!opened.isUnlocked)
        _ = try await Vault.wipe(at: home.location)
        #expect(try await Vault.status(at: home.location).state == .wiped)
    }

    @Test("Inactivity: the shorter time counts, also for keys in the kernel keyring; 0 means after a reboot")
    func inactivity() async throws {
        let home = try ManagedHome(#"{"InactivityMinutes": 1}"#)
        let clock = TestClock()
        let vault = try await home.create("horse 7", clock: clock.source)
        #expect(vault.isUnlocked)
        clock.advance(by: .seconds(61))
        #expect(!vault.isUnlocked)
        #expect(try await vault.status().inactivityMinutes == 1)
        try await vault.unlock(with: Passcode(copying: "horse 7"))
        #expect(await code { try await vault.cacheKeysInKernel(for: .seconds(61)) } == .refused)
        try await vault.changeSettings(passcode: Passcode(copying: "horse 7")) { $0.inactivity = nil }
        let opened = try await home.open(clock: clock.source)
        try await opened.unlock(with: Passcode(copying: "horse 7"))
        clock.advance(by: .seconds(61))
        #expect(!opened.isUnlocked)
        // A vault that was opened before the policy came obeys it from its next unlock on.
        try home.set(#"{"InactivityMinutes": 0}"#)
        try await opened.unlock(with: Passcode(copying: "horse 7"))
        clock.advance(by: .seconds(3600))
        #expect(opened.isUnlocked)
        try home.set(#"{"InactivityMinutes": 2}"#)
        opened.lock()
        try await opened.unlock(with: Passcode(copying: "horse 7"))
        clock.advance(by: .seconds(119))
        #expect(opened.isUnlocked)
        clock.advance(by: .seconds(61))
        #expect(!opened.isUnlocked)
    }

    @Test("Files: no export and no other program, but reading goes on")
    func files() async throws {
        let home = try ManagedHome()
        let vault = try await home.create()
        let source = home.location.path.removingLastComponent().appending("letter")
        try Data("content".utf8).write(to: URL(filePath: source.string))
        let file = try await vault.files.add(contentsOf: source)
        let target = home.location.path.removingLastComponent().appending("out")
        for policy in [
            #"{"AllowFileExport": false}"#, #"{"custom_attributes": {"SHOW_OPEN_IN": "\"FALSE\""}}"#,
        ] {
            try home.set(policy)
            let opened = try await home.unlocked()
            #expect(await code { try await opened.files.export(file, to: target) } == .refused)
            #expect(!FileManager.default.fileExists(atPath: target.string))
            let isOpenIn = policy.contains("SHOW_OPEN_IN")
            let expected: CofferError.Code? = isOpenIn ? .refused : nil
            #expect(await code { try await opened.files.withViewCopy(of: file) { _ in } } == expected)
            #expect(await code { try await opened.files.withMemoryCopy(of: file) { _ in } } == expected)
            #expect(
                await code { _ = try await opened.files.withEditableCopy(of: file) { _ in } } == expected)
            #expect(try await opened.files.info(for: file).length == 7)
        }
    }

    @Test("Token life: a stored, refreshed or imported token expires at the latest when the policy says")
    func tokenLife() async throws {
        let home = try ManagedHome(#"{"TokenLifetimeSeconds": 900}"#)
        let vault = try await home.create()
        // Whole seconds: a vault keeps nanoseconds, and a date is a binary fraction.
        let soon = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + 60).rounded())
        try await vault.tokens.put(Token(copying: "a"), for: id(), expires: soon)
        #expect(try await vault.tokens.info(for: id())?.expires == soon)
        for given in [nil, Date(timeIntervalSinceNow: 86_400)] {
            try await vault.tokens.put(Token(copying: "b"), for: id(), expires: given)
            let expires = try #require(try await vault.tokens.info(for: id())?.expires)
            #expect(expires <= Date(timeIntervalSinceNow: 900) && expires > soon)
        }
        _ = try await vault.tokens.refresh(id()) { (_, _) throws(CofferError) in
            RefreshResponse(try Token(copying: "c"), expires: Date(timeIntervalSinceNow: 86_400))
        }
        let expires = try #require(try await vault.tokens.info(for: id())?.expires)
        #expect(expires <= Date(timeIntervalSinceNow: 900))
    }

    @Test("Token life: importing an export twice finds the same tokens, which expire in time")
    func importedTokenLife() async throws {
        let home = try ManagedHome()
        let vault = try await home.create()
        try await vault.tokens.put(Token(copying: "a"), for: id(), class: .whenUnlocked)
        let path = home.location.path.removingLastComponent().appending("export")
        let passphrase = try Passcode(copying: "long passphrase")
        try await vault.tokens.export(to: path, passphrase: passphrase, cost: .floor)
        try await vault.tokens.remove(id())
        try home.set(#"{"TokenLifetimeSeconds": 900}"#)
        vault.lock()
        try await vault.unlock()
        let first = try await vault.tokens.importTokens(from: path, passphrase: passphrase)
        #expect(first.imported == 1)
        let expires = try #require(try await vault.tokens.info(for: id())?.expires)
        #expect(expires <= Date(timeIntervalSinceNow: 900))
        let second = try await vault.tokens.importTokens(from: path, passphrase: passphrase)
        #expect(second.same == 1 && second.conflicts.isEmpty)
        #expect(try await vault.tokens.info(for: id())?.expires == expires)
    }

    @Test("No private key of another program is imported; one can be made in the vault")
    func importedKeys() async throws {
        let home = try ManagedHome(#"{"AllowImport": false}"#)
        let vault = try await home.create()
        let foreign = HeldPrivateKey(try SigningPrivateKey.generate(.ed25519))
        func add() async throws {
            _ = try await vault.keyPairs.importing(
                foreign, alias: "work", class: .whenUnlocked, uses: [.ssh], confirmsEachUse: false)
        }
        #expect(await code { try await add() } == .refused)
        #expect(try await vault.keyPairs.list().isEmpty)
        _ = try await vault.keyPairs.generate(.ed25519, alias: "own")
        try home.clear()
        vault.lock()
        try await vault.unlock()
        try await add()
        #expect(try await vault.keyPairs.list().map(\.alias) == ["own", "work"])
    }

    @Test("No private key is exported, not even one that is exportable")
    func exportedKeys() async throws {
        let home = try ManagedHome(#"{"AllowExport": false}"#)
        let vault = try await home.create()
        _ = try await vault.keyPairs.generate(
            .ed25519, alias: "out", class: .whenUnlocked, isExportable: true)
        let passphrase = try Passcode(copying: "long passphrase")
        func export() async throws {
            _ = try await vault.keyPairs.export("out", as: .pem, passphrase: passphrase)
        }
        #expect(await code { try await export() } == .refused)
        try home.clear()
        vault.lock()
        try await vault.unlock()
        try await export()
    }

    @Test("Keyrings, machines, hardware and encryption are refused at init and at unlock")
    func openings() async throws {
        let policies = [
            #"{"AllowedKeyrings": ["secret-service"]}"#, #"{"RequireHardwareKey": true}"#,
            #"{"AllowedPlatforms": ["linux-\#(PolicyPlatform.current == .desktop ? "server" : "desktop")"]}"#,
        ]
        for policy in policies {
            let home = try ManagedHome(policy)
            let error = await refusal { _ = try await home.create("horse 7") }
            #expect(error?.code == .refused, "\(policy)")
            #expect(error?.message.contains("policy.d/10.json:1") == true)
            try home.clear()
            let vault = try await home.create("horse 7")
            vault.lock()
            try home.set(policy)
            #expect(await refusal(of: "horse 7", by: vault)?.code == .refused, "\(policy)")
            #expect(
                await code {
                    try await vault.changePasscode(
                        to: Passcode(copying: "other 8"), current: Passcode(copying: "horse 7"))
                } == .refused)
            #expect(!vault.isUnlocked)
            try home.clear()
            #expect(await refusal(of: "horse 7", by: vault) == nil)
        }
        let home = try ManagedHome(#"{"AllowedKeyrings": ["file"]}"#)
        let vault = try await home.create()
        #expect(await code { _ = try await vault.migrateStorage(to: .secretService) } == .refused)
    }

    @Test("Disk encryption: required of the vault, of new files and of user vaults, whatever they say")
    func encryption() async throws {
        let home = try ManagedHome()
        let vault = try await home.create()
        let isEncrypted = try await vault.files.isDiskEncrypted() == true
        try home.set(#"{"RequireDiskEncryption": true}"#)
        vault.lock()
        #expect(await code { try await vault.unlock() } == (isEncrypted ? nil : .refused))
        let other = try ManagedHome(#"{"RequireDiskEncryption": true}"#)
        #expect(await code { _ = try await other.create() } == (isEncrypted ? nil : .refused))
        let user = try home.location.namespace(of: "ada")
        #expect(
            await code {
                _ = try await Vault.create(at: user, options: TestHome.options(), passcode: nil)
            } == (isEncrypted ? nil : .refused))
        #expect(try await home.open().status().requiresDiskEncryption)
    }

    @Test("Removable media: an owner's permission does not count")
    func media() async throws {
        let home = try ManagedHome(#"{"AllowRemovableMedia": false}"#)
        let vault = try await home.create { $0.allowsExternalMedia = true }
        vault.lock()
        try await vault.unlock()
        #expect(vault.isUnlocked)
    }
}
