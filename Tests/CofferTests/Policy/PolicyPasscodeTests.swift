import Coffer
import CofferBase
import CofferVault
import Testing
import TestSupport

@Suite("The policy's rules about passcodes", .timeLimit(.minutes(10)))
struct PolicyPasscodeTests {
    private static let long = "correct horse 7"

    private func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        await refusal(body)?.code
    }

    @Test("A required passcode: no vault is created, opened, or left without one")
    func required() async throws {
        let home = try ManagedHome()
        try await home.create().close()
        // An earlier vault, as from an older release, which knows no policy.
        try home.set(#"{"PasscodeRequired": true}"#)
        let other = try ManagedHome(#"{"PasscodeRequired": true}"#)
        #expect(await code { _ = try await other.create() } == .refused)
        let vault = try await home.open()
        let mustChange = await refusal { try await vault.unlock() }
        #expect(mustChange?.code == .passcodeMustChange)
        #expect(mustChange?.remedy == .setPasscode)
        #expect(!vault.isUnlocked)
        #expect(await code { _ = try await vault.rotateKeys() } == .passcodeMustChange)
        #expect(!vault.isUnlocked)
        try await vault.changePasscode(to: Passcode(copying: "1"), current: nil)
        #expect(vault.isUnlocked)
        #expect(
            await code { try await vault.changePasscode(to: nil, current: Passcode(copying: "1")) }
                == .refused)
        try await home.unlocked("1").close()
    }

    @Test("Length, characters and common passcodes: a right but too weak passcode opens only its change")
    func strength() async throws {
        for (policy, weak) in [
            (#"{"PasscodeMinimumLength": 8}"#, "horse 7"), (#"{"PasscodeCharacters": "digits"}"#, "horse 7"),
            (#"{"PasscodeCharacters": "alphanumeric"}"#, "horse"),
            (#"{"PasscodeDenyCommon": true}"#, "12345678"),
            (#"{"mobile_policy": {"pin_length": 8}}"#, "horse 7"),
        ] {
            let home = try ManagedHome()
            try await home.create(weak).close()
            try home.set(policy)
            let vault = try await home.open()
            #expect(await refusal(of: "wrong", by: vault)?.attemptsLeft == 9)
            let must = await refusal(of: weak, by: vault)
            #expect(must?.code == .passcodeMustChange, "\(policy)")
            #expect(must?.remedy == .changePasscode)
            #expect(!vault.isUnlocked && !vault.hasKeys)
            #expect(try await vault.status().attemptsLeft == 10)
            // Loosening the vault's own settings does not help.
            try await vault.changeSettings(passcode: Passcode(copying: weak)) { $0.policy = .none }
            #expect(await refusal(of: weak, by: vault)?.code == .passcodeMustChange)
            #expect(
                await code {
                    try await vault.changePasscode(
                        to: Passcode(copying: weak), current: Passcode(copying: weak))
                } == .refused)
            let strong = policy.contains("digits") ? "90817263" : "horse battery 7"
            try await vault.changePasscode(to: Passcode(copying: strong), current: Passcode(copying: weak))
            #expect(vault.isUnlocked)
            try await home.unlocked(strong).close()
        }
    }

    @Test("The policy's requirements are those that a program shows")
    func shown() async throws {
        let home = try ManagedHome(#"{"PasscodeMinimumLength": 9, "PasscodeCharacters": "alphanumeric"}"#)
        #expect(await code { _ = try await home.create("short 1") } == .refused)
        let vault = try await home.create(Self.long)
        let policy = try await vault.passcodePolicy()
        #expect(policy.minimumLength == 9 && policy.characters == .lettersAndDigits)
        #expect(try await vault.settings().policy == .none)
    }

    @Test("Attempts: the policy's limit erases, also where the vault's own settings never do")
    func attempts() async throws {
        let home = try ManagedHome(#"{"AttemptsBeforeWipe": 3}"#)
        let vault = try await home.create(Self.long) { $0.erasesAfterTenFailures = false }
        vault.lock()
        #expect(await refusal(of: "a", by: vault)?.attemptsLeft == 2)
        #expect(await refusal(of: "b", by: try home.open())?.attemptsLeft == 1)
        #expect(await refusal(of: "b", by: vault)?.attemptsLeft == 1)
        #expect(try await home.open().status().attemptsLeft == 1)
        #expect(await refusal(of: "c", by: vault)?.code == .wiped)
        #expect(await refusal(of: Self.long, by: vault)?.code == .wiped)
    }

    @Test("A limit below the count erases nothing until the next wrong passcode")
    func laterLimit() async throws {
        for isRight in [true, false] {
            let home = try ManagedHome()
            let vault = try await home.create(Self.long)
            vault.lock()
            for guess in ["a", "b", "c", "d", "e"] { _ = await refusal(of: guess, by: vault) }
            try home.set(#"{"AttemptsBeforeWipe": 3}"#)
            let opened = try await home.open()
            #expect(try await opened.status().attemptsLeft == 1)
            if isRight {
                #expect(await refusal(of: Self.long, by: opened) == nil)
                #expect(try await opened.status().attemptsLeft == 3)
            } else {
                #expect(await refusal(of: "f", by: opened)?.code == .wiped)
            }
        }
    }

    @Test("Ways to open a vault that the policy does not name are refused")
    func methods() async throws {
        let home = try ManagedHome()
        let vault = try await home.create(Self.long)
        let key = try await vault.createRecoveryKey(passcode: Passcode(copying: Self.long))
        vault.close()
        for policy in [#"{"AllowedUnlockMethods": ["passcode"]}"#, #"{"AllowRecoveryKey": false}"#] {
            try home.set(policy)
            let opened = try await home.unlocked(Self.long)
            #expect(
                await code { _ = try await opened.createRecoveryKey(passcode: Passcode(copying: Self.long)) }
                    == .refused)
            #expect(
                await code { _ = try await VaultRecovery(of: home.location, with: key) } == .refused)
            opened.close()
        }
        try home.set(#"{"AllowedUnlockMethods": ["recoveryKey"]}"#)
        #expect(await refusal(of: Self.long, by: try home.open())?.code == .refused)
        try home.set(#"{"PasscodeMinimumLength": 20}"#)
        let recovery = try await VaultRecovery(of: home.location, with: key)
        #expect(recovery.policy.minimumLength == 20)
        #expect(
            await code {
                _ = try await recovery.finish(
                    newPasscode: Passcode(copying: Self.long), newRecoveryKey: RecoveryKey.generate())
            } == .refused)
        try home.clear()
        try await home.unlocked(Self.long).close()
    }
}
