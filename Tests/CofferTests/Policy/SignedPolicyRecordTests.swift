@testable import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import CofferVault
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("The record of the signed policy", .timeLimit(.minutes(10)))
struct SignedPolicyRecordTests {
    private let strict = #"{"AllowExport": false}"#
    private static let slotSize = 66 << 10

    private func id() throws -> TokenID { try TokenID(service: "example.org", account: "ada") }

    private var passcode: Passcode { get throws { try Passcode(copying: SignedPolicyFixture.passcode) } }

    private func features(_ vault: Vault) throws -> KeybagFeatures { try vault.core.readKeybag().features }

    @Test("The first policy marks the vault, so that releases that know none refuse it, and stays marked")
    func marked() async throws {
        let scene = try await SignedPolicyFixture(files: #"{"AllowImport": false}"#)
        #expect(try features(scene.vault).isEmpty)
        scene.vault.lock()
        try await scene.vault.unlock(with: passcode)
        // The record of earlier releases, which says which files there were.
        #expect(try scene.record().count == 1024)
        try await scene.take(scene.policy(strict))
        #expect(try features(scene.vault) == .signedPolicy)
        #expect(try scene.record().count == 2 * Self.slotSize)
        let core = scene.vault.core
        let stored = try PolicyRecord.read(device: core.device, in: core.home.openVault())
        #expect(stored?.payload.digest == (try scene.vault.managedPolicy().digest))
        try await scene.vault.removeAdministratorKey(scene.administrator.key, passcode: passcode)
        #expect(try features(scene.vault) == .signedPolicy)
        #expect(try scene.record().count == 2 * Self.slotSize)
    }

    @Test("A crash before the mark: the policy counts; taking it again, or an unlock, marks the vault")
    func interrupted() async throws {
        for takesAgain in [true, false] {
            let scene = try await SignedPolicyFixture()
            let policy = try scene.policy(strict)
            let core = scene.vault.core
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                var record = PolicyRecord(digest: nil)
                try record.take(policy.bytes)
                try record.store(over: nil, device: core.device, in: vault)
            }
            #expect(try features(scene.vault).isEmpty)
            if takesAgain {
                #expect(await scene.refusal(of: policy) == nil)
            } else {
                #expect(try await scene.unlocked().managedPolicy().flag(.allowExport) == false)
            }
            #expect(try features(scene.vault) == .signedPolicy)
            #expect(await scene.refusal(of: policy) == .orderReplayed)
        }
    }

    @Test(
        "Whatever became of the record: unlock and put refuse, nothing else does, and taking one mends it",
        arguments: [
            "rm", ": >", "truncate -s 100", "truncate -s 1024",
            "f() { dd if=/dev/urandom of=\"$1\" bs=67584 count=2 conv=notrunc 2>/dev/null; }; f",
        ])
    func disturbed(_ disturb: String) async throws {
        let scene = try await SignedPolicyFixture()
        try await scene.vault.tokens.put(Token(copying: "value"), for: id())
        let policy = try scene.policy(strict, counter: 4)
        try await scene.take(policy)
        let path = scene.home.location.path.appending("vault/policy").string
        let run = try CommandRun.run("sh", ["-c", "\(disturb) '\(path)'"])
        #expect(run.code == 0, "\(run.errorText)")
        let opened = try await scene.home.open(clock: scene.clock.source)
        let error = await refusal(of: SignedPolicyFixture.passcode, by: opened)
        #expect(error?.code == .policyInvalid && error?.remedy == .restorePolicyRecord)
        #expect(await refusal(of: "wrong", by: opened)?.code == .policyInvalid)
        let put = await refusal { try await opened.tokens.put(Token(copying: "a"), for: id()) }
        #expect(put?.code == .policyInvalid)
        let status = try await opened.status()
        #expect(status.policyFault != nil && status.attemptsLeft == 10 && status.tokens == 1)
        #expect(try await opened.securityChecks().contains { $0.name == "policy" && $0.status == .missing })
        #expect(await refusal { _ = try await opened.signedPolicy() }?.code == .policyInvalid)
        opened.lock()
        // Only what a pinned key signed, and what is valid now, replaces the record.
        #expect(await scene.refusal(of: try scene.policy(strict, by: Administrator())) == .orderUnknownKey)
        #expect(await scene.unlocking()?.code == .policyInvalid)
        #expect(await scene.refusal(of: policy) == nil)
        #expect(await scene.unlocking() == nil)
        #expect(await scene.refusal(of: policy) == .orderReplayed)
        _ = try await Vault.wipe(at: scene.home.location)
        #expect(try await Vault.status(at: scene.home.location).state == .wiped)
    }

    @Test(
        "What is no file stops every unlock, and no wipe",
        arguments: [
            "f() { rm $1 && mkdir $1; }; f", "f() { rm $1 && ln -s /nowhere $1; }; f",
            "f() { rm $1 && mkfifo $1; }; f",
        ])
    func unreadable(_ disturb: String) async throws {
        let scene = try await SignedPolicyFixture()
        try await scene.take(scene.policy(strict))
        let path = scene.home.location.path.appending("vault/policy").string
        #expect(try CommandRun.run("sh", ["-c", "\(disturb) '\(path)'"]).code == 0)
        #expect(await scene.unlocking()?.code == .policyInvalid)
        _ = try await Vault.wipe(at: scene.home.location)
        #expect(try await Vault.status(at: scene.home.location).state == .wiped)
    }

    @Test("One sound slot is enough, and the next change mends the other; another vault's record is none")
    func slots() async throws {
        let scene = try await SignedPolicyFixture()
        try await scene.take(scene.policy(strict))
        let sound = try scene.record()
        for place in [100, Self.slotSize + 100] {
            var half = sound
            half[place] ^= 1
            try scene.home.home.write("policy", half)
            #expect(try await scene.unlocked().managedPolicy().flag(.allowExport) == false)
        }
        try await scene.take(scene.policy("{}", counter: 2))
        let mended = try scene.record()
        #expect(mended.prefix(Self.slotSize) == mended.suffix(Self.slotSize) && mended != sound)
        let other = try await SignedPolicyFixture()
        try await other.take(other.policy(strict))
        try scene.home.home.write("policy", other.record())
        #expect(await scene.unlocking()?.code == .policyInvalid)
        // Neither is one of the size that a vault without a signed policy has.
        try scene.home.home.write("policy", [UInt8](repeating: 7, count: 1024))
        #expect(await scene.unlocking()?.code == .policyInvalid)
        try scene.home.home.write("policy", mended)
        #expect(await scene.unlocking() == nil)
    }

    @Test("Only the owner with the passcode ends a policy, by removing its key")
    func removal() async throws {
        let scene = try await SignedPolicyFixture()
        let other = try Administrator()
        try await scene.vault.pinAdministratorKey(other.key)
        let policy = try scene.policy(#"{"RequireHardwareKey": true}"#, counter: 2)
        try await scene.take(policy)
        // The unlocked session is not the passcode.
        let early = await refusal { try await scene.vault.removeAdministratorKey(scene.administrator.key) }
        #expect(early?.code == .refused && early?.remedy == .enterPasscode)
        // The policy refuses every vault; its key can still be removed.
        #expect(await scene.unlocking()?.code == .refused)
        let opened = try await scene.home.open(clock: scene.clock.source)
        let key = scene.administrator.key
        let wrong = await refusal {
            try await opened.removeAdministratorKey(key, passcode: Passcode(copying: "wrong"))
        }
        #expect(wrong?.code == .wrongPasscode && wrong?.attemptsLeft == 9)
        let none = await refusal { try await opened.removeAdministratorKey(key, passcode: nil) }
        #expect(none?.code == .locked)
        #expect(try await opened.signedPolicy() == policy)
        try await opened.removeAdministratorKey(key, passcode: passcode)
        #expect(try await opened.signedPolicy() == nil)
        #expect(try await opened.administratorKeys().map(\.key) == [other.key])
        #expect(await scene.unlocking() == nil)
        let again = await refusal { try await opened.removeAdministratorKey(key, passcode: passcode) }
        #expect(again?.code == .absent)
        // The counter stays, also for another key.
        #expect(await scene.refusal(of: try scene.policy(strict, counter: 2, by: other)) == .orderReplayed)
        #expect(await scene.refusal(of: try scene.policy(strict, counter: 3, by: other)) == nil)
        // A key without a policy goes without the passcode.
        try await scene.vault.pinAdministratorKey(key, passcode: passcode)
        try await scene.vault.removeAdministratorKey(key)
    }

    @Test("Only the owner with the passcode adds a key that could replace the policy in force")
    func addition() async throws {
        let scene = try await SignedPolicyFixture()
        let (earlier, other) = (try Administrator(), try Administrator())
        try await scene.vault.pinAdministratorKey(earlier.key)
        try await scene.take(scene.policy(strict, counter: 2))
        // The unlocked session is not the passcode.
        let early = await refusal { try await scene.vault.pinAdministratorKey(other.key) }
        #expect(early?.code == .refused && early?.remedy == .enterPasscode)
        let again = await refusal { try await scene.vault.pinAdministratorKey(scene.administrator.key) }
        #expect(again?.code == .alreadyExists)
        let loose = try scene.policy("{}", counter: 3, by: other)
        #expect(await scene.refusal(of: loose) == .orderUnknownKey)
        let opened = try await scene.home.open(clock: scene.clock.source)
        let wrong = await refusal {
            try await opened.pinAdministratorKey(other.key, passcode: Passcode(copying: "wrong"))
        }
        #expect(wrong?.code == .wrongPasscode && wrong?.attemptsLeft == 9)
        let none = await refusal { try await opened.pinAdministratorKey(other.key, passcode: nil) }
        #expect(none?.code == .locked)
        let label = await refusal {
            try await opened.pinAdministratorKey(other.key, label: "two\nlines", passcode: passcode)
        }
        #expect(label?.code == .invalidInput)
        #expect(try await opened.administratorKeys().map(\.key) == [scene.administrator.key, earlier.key])
        try await opened.pinAdministratorKey(other.key, label: "another", passcode: passcode)
        #expect(try await opened.administratorKeys().last?.label == "another")
        #expect(await scene.refusal(of: loose) == nil)
        // The record of the policy is lost while a session goes on.
        try await scene.vault.unlock(with: passcode)
        try scene.home.home.remove("policy")
        let lost = await refusal { try await scene.vault.pinAdministratorKey(Administrator().key) }
        #expect(lost?.code == .policyInvalid)
    }

    @Test("A signed command that removes the key keeps the policy, which the owner still ends by that key")
    func unpinned() async throws {
        let scene = try await SignedPolicyFixture()
        let other = try Administrator()
        try await scene.vault.pinAdministratorKey(other.key)
        try await scene.take(scene.policy(strict))
        let unpin = try other.sign(
            RemoteCommand(
                .unpin(scene.administrator.key), for: .vault(scene.vault.vaultID.uuid), counter: 1,
                issued: scene.now, expires: scene.now + 60))
        let opened = try await scene.home.open(clock: scene.clock.source)
        try await opened.execute(opened.verify(SignedCommand.read(unpin)))
        #expect(try await scene.unlocked().managedPolicy().flag(.allowExport) == false)
        // As after a crash in the middle of a removal.
        try await opened.removeAdministratorKey(scene.administrator.key, passcode: passcode)
        #expect(try await scene.unlocked().managedPolicy().isEmpty)
        #expect(try await opened.administratorKeys().map(\.key) == [other.key])
    }

    @Test("Anchors notice an older record, and a lost one is not replaced by an older policy's")
    func anchors() async throws {
        let scene = try await SignedPolicyFixture()
        let anchor = scene.home.location.path.removingLastComponent().appending("anchor")
        try await scene.vault.setAnchor(at: anchor.string, passcode: passcode)
        let loose = try scene.policy("{}", counter: 1)
        try await scene.take(loose)
        let old = try scene.record()
        try await scene.take(scene.policy(strict, counter: 2))
        #expect(await scene.unlocking() == nil)
        let current = try scene.record()
        try scene.home.home.write("policy", old)
        #expect(await scene.unlocking()?.code == .rolledBack)
        try scene.home.home.remove("policy")
        #expect(await scene.refusal(of: loose) == .orderReplayed)
        try scene.home.home.write("policy", current)
        #expect(await scene.unlocking() == nil)
    }

    @Test("A vault without a passcode, and a damaged record of orders")
    func others() async throws {
        let scene = try await SignedPolicyFixture(nil)
        try await scene.take(scene.policy(#"{"PasscodeRequired": true}"#))
        let opened = try await scene.home.open(clock: scene.clock.source)
        #expect(await refusal { try await opened.unlock() }?.code == .passcodeMustChange)
        try await opened.removeAdministratorKey(scene.administrator.key, passcode: nil)
        try await opened.unlock()
        try await opened.pinAdministratorKey(scene.administrator.key)
        let size = try scene.home.home.read("orders").count
        try scene.home.home.write("orders", [UInt8](repeating: 1, count: size))
        #expect(await scene.refusal(of: try scene.policy(strict, counter: 2)) == .corrupt)
        let user = try await SignedPolicyFixture()
        #expect(await user.refusal(of: try user.policy(strict)) == nil)
    }
}
