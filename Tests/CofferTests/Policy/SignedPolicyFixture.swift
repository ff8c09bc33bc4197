import Coffer
import CofferBase
import CofferTesting
import Foundation

/// A home whose vault trusts an administrator's key, under a directory of policy files that a test sets.
struct SignedPolicyFixture: Sendable {
    let home: ManagedHome
    let clock: TestClock
    let vault: Vault
    let administrator: Administrator

    static let passcode = "horse 7"

    init(_ passcode: String? = passcode, files: String? = nil) async throws {
        home = try ManagedHome(files)
        clock = TestClock()
        vault = try await home.create(passcode, clock: clock.source)
        administrator = try Administrator()
        try await vault.pinAdministratorKey(administrator.key, label: "the office")
    }

    /// The time by the vault's clock, in whole seconds.
    var now: Date {
        Date(timeIntervalSince1970: TimeInterval(clock.source.wallClock().components.seconds))
    }

    /// A policy for this vault.
    func policy(
        _ document: String, counter: UInt64 = 1, issued: Date? = nil, expires: Date? = nil,
        target: RemoteCommand.Target? = nil, by signer: Administrator? = nil
    ) throws -> SignedPolicy {
        try .read(
            (signer ?? administrator).policy(
                document, for: target ?? .vault(vault.vaultID.uuid), counter: counter,
                issued: issued ?? now, expires: expires))
    }

    /// Takes a policy as a process does that has just begun.
    func take(_ policy: SignedPolicy) async throws {
        try await home.open(clock: clock.source).takePolicy(policy)
    }

    /// The code by which a policy is refused; `nil` if it is taken.
    func refusal(of policy: SignedPolicy) async -> CofferError.Code? {
        await CofferTests.refusal { try await take(policy) }?.code
    }

    func unlocked(_ passcode: String? = passcode) async throws -> Vault {
        try await home.unlocked(passcode, clock: clock.source)
    }

    /// The error of an unlock with the right passcode; `nil` if it succeeds.
    func unlocking() async -> CofferError? {
        await CofferTests.refusal { _ = try await unlocked() }
    }

    /// A copy of the record of the policy.
    func record() throws -> [UInt8] { try home.home.read("policy") }
}
