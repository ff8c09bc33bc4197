@testable import Coffer
import CofferBase
import CofferTesting
import CofferVault
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Signed policies", .timeLimit(.minutes(10)))
struct SignedPolicyTests {
    private let strict = #"{"AllowExport": false}"#

    @Test("A vault obeys a policy of a pinned key from the next unlock on, and shows where it comes from")
    func taken() async throws {
        let scene = try await SignedPolicyFixture()
        #expect(try await scene.vault.signedPolicy() == nil)
        let policy = try scene.policy("{\n\"AllowExport\": false, \"Later\": 1}", counter: 7)
        let document = try await scene.vault.verifyPolicy(policy)
        #expect(document.values == [.allowExport: .flag(false)])
        #expect(try await scene.vault.signedPolicy() == nil)
        try await scene.take(policy)
        #expect(try await scene.vault.signedPolicy() == policy)
        // The session that is open keeps the policy with which it began.
        #expect(try scene.vault.managedPolicy().isEmpty)
        scene.vault.lock()
        try await scene.vault.unlock(with: Passcode(copying: SignedPolicyFixture.passcode))
        let managed = try scene.vault.managedPolicy()
        #expect(managed.flag(.allowExport) == false)
        #expect(managed.origins(of: .allowExport).map(\.description) == ["signed policy 7:2"])
        #expect(managed.files == ["signed policy 7"])
        #expect(managed.notices.count == 1 && managed.notices[0].hasPrefix("signed policy 7: line 2: Later"))
        let path = scene.home.location.path.appending("export").string
        let error = await refusal {
            try await scene.vault.tokens.export(to: path, passphrase: Passcode(copying: "long passphrase"))
        }
        #expect(error?.code == .refused && error?.message.contains("signed policy 7:2") == true)
        #expect(try await scene.vault.status().policyFault == nil)
        let checks = try await scene.vault.securityChecks()
        #expect(checks.contains { $0.name == "policy" && $0.message.contains("signed policy 7:2") })
    }

    @Test("A policy is refused with the code of the first check that fails, and nothing changes")
    func refused() async throws {
        let scene = try await SignedPolicyFixture()
        try await scene.take(scene.policy(strict, counter: 5))
        let stranger = try Administrator()
        let before = try scene.record()
        let device = try DeviceID(.counting(16))
        let now = scene.now
        let cases: [(CofferError.Code, SignedPolicy)] = [
            (.orderUnknownKey, try scene.policy(strict, counter: 6, by: stranger)),
            // Foreign, replayed and expired, too: the first check counts.
            (
                .orderUnknownKey,
                try scene.policy(
                    strict, counter: 1, issued: now - 9, expires: now - 1, target: .vault(UUID()),
                    by: stranger)
            ),
            (.orderForeign, try scene.policy(strict, counter: 1, target: .vault(UUID()))),
            (.orderForeign, try scene.policy(strict, counter: 6, target: .device(device))),
            (.orderReplayed, try scene.policy("{}", counter: 5)),
            (.orderReplayed, try scene.policy(strict, counter: 4, issued: now - 9, expires: now - 1)),
            (.orderNotYetValid, try scene.policy(strict, counter: 6, issued: now + 1)),
            (.orderExpired, try scene.policy(strict, counter: 6, issued: now - 9, expires: now)),
        ]
        for (code, policy) in cases {
            #expect(await scene.refusal(of: policy) == code)
            #expect(await refusal { try await scene.vault.verifyPolicy(policy) }?.code == code)
        }
        var forged = try scene.policy(strict, counter: 6).bytes
        forged[forged.count - 1] ^= 1
        #expect(await scene.refusal(of: try SignedPolicy.read(forged)) == .orderBadSignature)
        #expect(try scene.record() == before)
    }

    @Test("A signed document with mistakes is refused with all of them, and is not parsed before")
    func mistakes() async throws {
        let scene = try await SignedPolicyFixture()
        let good = try scene.policy(#"{"AllowExport": false, "ContactDays": 30}"#)
        let text = #"{"AllowExport":"1","ContactDays": 0}"#
        func signed(_ text: String, by signer: Administrator) throws -> SignedPolicy {
            let fields = SignedPolicyFields(
                Array(text.utf8), as: .json, for: .vault, scene.vault.vaultID.bytes, counter: 1,
                issued: good.fields.issued, expires: good.fields.expires, signer: signer.key.bytes)
            return try .read(signer.sign(fields.encoded))
        }
        let error = await refusal { try await scene.take(signed(text, by: scene.administrator)) }
        #expect(error?.code == .policyInvalid && error?.entries.count == 2)
        #expect(error?.entries.last?.contains("line 1: ContactDays") == true)
        #expect(await scene.refusal(of: try signed(text, by: Administrator())) == .orderUnknownKey)
        #expect(await scene.refusal(of: try signed("{", by: scene.administrator)) == .policyInvalid)
        // Its counter was not used up, and the vault still opens.
        #expect(await scene.refusal(of: good) == nil)
        #expect(await scene.unlocking() == nil)
    }

    @Test("Each policy is taken once, also by several processes, and counts apart from orders")
    func once() async throws {
        let scene = try await SignedPolicyFixture()
        let policy = try scene.policy(strict, counter: 9)
        let codes = await withTaskGroup(of: CofferError.Code?.self) { group -> [CofferError.Code?] in
            for _ in 0..<6 { group.addTask { await scene.refusal(of: policy) } }
            var codes: [CofferError.Code?] = []
            for await code in group { codes.append(code) }
            return codes
        }
        #expect(codes.count { $0 == nil } == 1 && codes.count { $0 == .orderReplayed } == 5)
        let order = try scene.administrator.sign(
            RemoteCommand(
                .heartbeat, for: .vault(scene.vault.vaultID.uuid), counter: 1, issued: scene.now,
                expires: scene.now + 60))
        let opened = try await scene.home.open(clock: scene.clock.source)
        #expect(try await opened.execute(opened.verify(SignedCommand.read(order))) == .heartbeatRecorded)
        #expect(await scene.refusal(of: try scene.policy("{}", counter: 9)) == .orderReplayed)
        #expect(await scene.refusal(of: try scene.policy("{}", counter: 10)) == nil)
        #expect(await scene.refusal(of: policy) == .orderReplayed)
    }

    @Test("Expiry forbids taking, never keeping; a clock that is set back brings nothing back")
    func expiry() async throws {
        let scene = try await SignedPolicyFixture()
        let policy = try scene.policy(strict, counter: 3)
        let late = try scene.policy("{}", counter: 4)
        try await scene.take(policy)
        scene.clock.advance(by: .seconds(10 * 365 * 86_400))
        #expect(await scene.refusal(of: late) == .orderExpired)
        #expect(try await scene.unlocked().managedPolicy().flag(.allowExport) == false)
        try await scene.take(scene.policy(strict, counter: 5))
        // Ten years back by the clock: time is at least that of the newest policy.
        scene.clock.setWallClock(
            to: scene.clock.source.wallClock() - .seconds(10 * 365 * 86_400))
        #expect(await scene.refusal(of: try scene.policy("{}", counter: 6)) == .orderExpired)
        #expect(try await scene.unlocked().managedPolicy().flag(.allowExport) == false)
    }

    @Test("Files come first, and neither source loosens the other")
    func merging() async throws {
        let scene = try await SignedPolicyFixture(
            files: #"{"AttemptsBeforeWipe": 5, "AllowExport": false, "ManagedAppCertAlias": "files"}"#)
        try await scene.take(
            scene.policy(
                """
                {"AttemptsBeforeWipe": 7, "AllowExport": true, "AllowImport": false,
                 "ManagedAppCertAlias": "signed", "AppServiceHosts": "login.example.org"}
                """))
        let policy = try await scene.unlocked().managedPolicy()
        #expect(policy.number(.attemptsBeforeWipe) == 5 && policy.flag(.allowExport) == false)
        #expect(policy.flag(.allowImport) == false)
        #expect(policy.attribute(.managedAppCertAlias) == "files")
        #expect(policy.list(.appServiceHosts) == ["https://login.example.org"])
        try await scene.take(scene.policy(#"{"AttemptsBeforeWipe": 3}"#, counter: 2))
        #expect(try await scene.unlocked().managedPolicy().number(.attemptsBeforeWipe) == 3)
        // The vault noted the files' digest, whatever it takes.
        let opened = try await scene.home.open(clock: scene.clock.source)
        #expect(try await !opened.isManagedPolicyChanged())
        try scene.home.clear()
        let later = try await scene.home.open(clock: scene.clock.source)
        #expect(try await later.isManagedPolicyChanged())
        #expect(try await scene.unlocked().managedPolicy().number(.attemptsBeforeWipe) == 3)
        #expect(try await !scene.home.open(clock: scene.clock.source).isManagedPolicyChanged())
    }

    @Test("A locked vault takes a policy that its passcode does not satisfy, and then opens only its change")
    func strength() async throws {
        let scene = try await SignedPolicyFixture()
        scene.vault.lock()
        try await scene.take(scene.policy(#"{"PasscodeMinimumLength": 12}"#))
        #expect(await scene.unlocking()?.code == .passcodeMustChange)
        let opened = try await scene.home.open(clock: scene.clock.source)
        try await opened.changePasscode(
            to: Passcode(copying: "horse battery 7"), current: Passcode(copying: "horse 7"))
        try await scene.unlocked("horse battery 7").close()
    }

    @Test("A policy for the device counts in every vault on it that trusts the key")
    func device() async throws {
        let scene = try await SignedPolicyFixture()
        guard let device = try DeviceID.current() else { return }
        try await scene.take(scene.policy(strict, target: .device(device)))
        #expect(try await scene.unlocked().managedPolicy().flag(.allowExport) == false)
        let other = try await SignedPolicyFixture()
        #expect(
            await other.refusal(of: try scene.policy(strict, target: .device(device))) == .orderUnknownKey)
    }

    @Test("The longest document is taken and obeyed, and a longer one is not signed")
    func longest() async throws {
        let scene = try await SignedPolicyFixture()
        let head = #"{"AllowExport": false}"#
        let document = head + String(repeating: " ", count: SignedPolicy.maxDocumentByteCount - head.count)
        let policy = try scene.policy(document)
        #expect(policy.bytes.count == SignedPolicy.maxByteCount)
        try await scene.take(policy)
        #expect(try await scene.unlocked().managedPolicy().flag(.allowExport) == false)
        #expect(await refusal { _ = try scene.policy(document + " ") }?.code == .invalidInput)
        for document in [#"{"AllowExport": 1}"#, "", "[]"] {
            #expect(await refusal { _ = try scene.policy(document) }?.code == .invalidInput)
        }
        for counter in [0, UInt64.max] {
            #expect(await refusal { _ = try scene.policy(head, counter: counter) }?.code == .invalidInput)
        }
        let now = scene.now
        let expired = await refusal { _ = try scene.policy(head, issued: now, expires: now) }
        #expect(expired?.code == .invalidInput)
    }

    @Test("No flipped bit, beginning or end of a policy is taken")
    func damage() async throws {
        let scene = try await SignedPolicyFixture()
        let policy = try scene.policy(strict)
        let rules = SignedDocumentRules(
            keys: [scene.administrator.key], vaultID: scene.vault.vaultID.uuid, deviceID: nil,
            now: policy.fields.issued)
        try rules.verify(policy, after: 0)
        func isTaken(_ bytes: [UInt8]) -> Bool {
            (try? rules.verify(SignedPolicy.read(bytes), after: 0)) != nil
        }
        for place in policy.bytes.indices {
            for bit in 0..<8 {
                var changed = policy.bytes
                changed[place] ^= 1 << UInt8(bit)
                #expect(!isTaken(changed), "bit \(bit) of byte \(place)")
            }
            #expect(!isTaken(Array(policy.bytes.prefix(place))))
            #expect(!isTaken(Array(policy.bytes.suffix(place))))
        }
        // A signature over an order does not serve for a policy.
        let order = try scene.administrator.sign(
            RemoteCommand(
                .heartbeat, for: .vault(scene.vault.vaultID.uuid), counter: 1, issued: scene.now,
                expires: scene.now + 60))
        #expect(await refusal { _ = try SignedPolicy.read(order) }?.code == .orderMalformed)
        #expect(await refusal { _ = try SignedCommand.read(policy.bytes) }?.code == .orderMalformed)
    }
}
