import Coffer
import CofferBase
import Foundation
import Testing
import TestSupport

/// The documented rules about several users behind one lock screen, by number. Each user has a namespace,
/// with a policy that the user's organisation signed, or without one.
@Suite("Several users and their policies", .timeLimit(.minutes(10)))
struct SeveralUsersTests {
    private struct User {
        let vault: Vault
        let administrator: Administrator
    }

    private let home: ManagedHome
    private let parent: Vault

    init() async throws {
        home = try ManagedHome()
        parent = try await home.create()
    }

    private func signIn(_ name: String, _ policy: String?) async throws -> User {
        let vault = try await Vault.create(
            at: home.location.namespace(of: name), options: TestHome.options(),
            passcode: Passcode(copying: "horse 7"))
        let administrator = try Administrator()
        if let policy {
            try await vault.pinAdministratorKey(administrator.key)
            let signed = try administrator.policy(
                policy, for: .vault(vault.vaultID.uuid), counter: 1,
                issued: Date(timeIntervalSince1970: (Date().timeIntervalSince1970 - 1).rounded(.down)))
            try await vault.takePolicy(SignedPolicy.read(signed))
        }
        vault.lock()
        try await vault.unlock(with: Passcode(copying: "horse 7"))
        return User(vault: vault, administrator: administrator)
    }

    private func strictest(_ users: [User]) throws -> ManagedPolicy {
        .strictest(of: try users.map { try $0.vault.managedPolicy() })
    }

    @Test("1: a user of another organisation has none of its rules, and cannot be given them")
    func otherOrganisation() async throws {
        let ada = try await signIn("ada", #"{"PasscodeRequired": true, "AllowExport": false}"#)
        let bob = try await signIn("bob", nil)
        #expect(try ada.vault.managedPolicy().requiresPasscode)
        #expect(try bob.vault.managedPolicy().isEmpty && parent.managedPolicy().isEmpty)
        let now = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 - 1).rounded(.down))
        for target in [bob.vault.vaultID.uuid, parent.vaultID.uuid] {
            let policy = try ada.administrator.policy("{}", for: .vault(target), counter: 9, issued: now)
            for vault in [bob.vault, parent] {
                let error = await refusal { try await vault.takePolicy(SignedPolicy.read(policy)) }
                #expect(error?.code == .orderUnknownKey)
            }
        }
        let foreign = try ada.administrator.policy(
            "{}", for: .vault(bob.vault.vaultID.uuid), counter: 9, issued: now)
        let error = await refusal { try await ada.vault.takePolicy(SignedPolicy.read(foreign)) }
        #expect(error?.code == .orderForeign)
    }

    @Test("2.1 and 3: if one user requires the lock, all are behind it, with the strictest values")
    func strictestHolds() async throws {
        let users = [
            try await signIn("ada", #"{"PasscodeRequired": true, "mobile_policy": {"screen_lock": 10}}"#),
            try await signIn("bob", nil),
            try await signIn("eve", #"{"InactivityMinutes": 5, "PasscodeMinimumLength": 6}"#),
        ]
        let all = try strictest(users)
        #expect(all.requiresPasscode)
        #expect(all.number(.inactivityMinutes) == 5 && all.number(.passcodeMinimumLength) == 6)
        // The order of signing in does not matter.
        #expect(try strictest(users.reversed()).number(.inactivityMinutes) == 5)
    }

    @Test("2.2 and 2.3: who may sign out while locked is known; locked vaults tell their rules")
    func signOut() async throws {
        let users = [
            try await signIn("ada", #"{"PasscodeRequired": true}"#), try await signIn("bob", nil),
            try await signIn("eve", #"{"InactivityMinutes": 5}"#),
        ]
        for user in users { user.vault.lock() }
        #expect(try users.map { try $0.vault.managedPolicy().requiresPasscode } == [true, false, false])
        // Trying the unlock again changes nothing for the others.
        try await users[0].vault.unlock(with: Passcode(copying: "horse 7"))
        #expect(users.map(\.vault.isUnlocked) == [true, false, false])
    }

    @Test("2.4 and 4: with the last user who requires it, the lock goes, and that user's data with it")
    func lastUser() async throws {
        let ada = try await signIn("ada", #"{"PasscodeRequired": true, "InactivityMinutes": 1}"#)
        let eve = try await signIn("eve", #"{"PasscodeRequired": true, "InactivityMinutes": 30}"#)
        let bob = try await signIn("bob", nil)
        #expect(try strictest([ada, eve, bob]).number(.inactivityMinutes) == 1)
        _ = try await Vault.wipe(at: home.location.namespace(of: "ada"))
        #expect(await refusal { try await ada.vault.unlock(with: Passcode(copying: "horse 7")) } != nil)
        let rest = try strictest([eve, bob])
        #expect(rest.requiresPasscode && rest.number(.inactivityMinutes) == 30)
        _ = try await Vault.wipe(at: home.location.namespace(of: "eve"))
        #expect(try !strictest([bob]).requiresPasscode && strictest([bob]).isEmpty)
        // A user who comes again has no rule of the time before.
        let again = try await signIn("ada", nil)
        #expect(try again.vault.managedPolicy().isEmpty && bob.vault.isUnlocked)
    }

    @Test("4: a changed policy counts from the next unlock on; 5: without a requirement, nothing is asked")
    func recomputed() async throws {
        let ada = try await signIn("ada", #"{"InactivityMinutes": 30}"#)
        #expect(try !strictest([ada]).requiresPasscode)
        let now = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 - 1).rounded(.down))
        let stricter = try ada.administrator.policy(
            #"{"PasscodeRequired": true}"#, for: .vault(ada.vault.vaultID.uuid), counter: 2, issued: now)
        try await ada.vault.takePolicy(SignedPolicy.read(stricter))
        #expect(try !strictest([ada]).requiresPasscode)
        ada.vault.lock()
        try await ada.vault.unlock(with: Passcode(copying: "horse 7"))
        #expect(try strictest([ada]).requiresPasscode)
        #expect(try strictest([ada]).number(.inactivityMinutes) == nil)
        #expect(!ManagedPolicy.strictest(of: []).requiresPasscode)
        parent.lock()
        try await parent.unlock()
    }
}
