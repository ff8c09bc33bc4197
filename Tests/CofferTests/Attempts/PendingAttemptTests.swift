import Coffer
import CofferBase
import CofferCrypto
import SystemPackage
import TestSupport
import Testing

/// Attempts that are killed or fail between their count and the comparison of the passcode, or before they
/// can be recorded.
@Suite("Attempts that are interrupted before they are recorded")
struct PendingAttemptTests {
    /// Writes a counter as a process with the device key would leave it.
    private func leave(_ attempts: AttemptRecord, in home: TestHome) throws {
        let device = try home.deviceKey()
        let vault = try home.directory().openVault()
        let contents = try AttemptRecord.record.read(device: device, in: vault)
        try AttemptRecord.record.update(contents, to: attempts, device: device, in: vault)
    }

    private func derived(_ passcode: String, _ home: TestHome) throws -> DerivedPasscode {
        let parameters = try #require(try home.keybag().passcode)
        return try DerivedPasscode(Passcode(copying: passcode), parameters, device: home.deviceKey())
    }

    /// As a kill between the count and its record leaves it.
    private func leavePending(_ passcode: String, failures: Int, in home: TestHome) throws {
        var attempts = AttemptRecord()
        attempts.failures = failures - 1
        try leave(attempts.counting(derived(passcode, home).tag), in: home)
    }

    @Test("A full count erases the vault at the next attempt, even a right one")
    func aFullCountErasesWhateverIsTriedNext() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        var counted = AttemptRecord()
        counted.failures = 10
        try leave(counted, in: home)
        #expect(await refusal(of: "correct horse", by: try home.open())?.code == .wiped)
    }

    /// A right passcode that was killed before it was recorded is found right by the next attempt.
    @Test(
        "The next attempt recognises an interrupted right passcode and erases nothing",
        arguments: ["correct horse", "wrong"])
    func aPendingRightPasscodeErasesNothing(next: String) async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        for _ in 0..<3 {
            try leavePending("correct horse", failures: 10, in: home)
            let error = await refusal(of: next, by: try home.open())
            #expect(error?.code == (next == "wrong" ? .wrongPasscode : nil))
            #expect(error == nil || error?.attemptsLeft == 9)
        }
        #expect(try await home.unlocked("correct horse").status().attemptsLeft == 10)
    }

    @Test("The next attempt compares an interrupted wrong passcode and counts it")
    func aPendingWrongPasscodeIsComparedByTheNextAttempt() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        try leavePending("wrong", failures: 9, in: home)
        // It was the ninth, and the same again is no other.
        #expect(await refusal(of: "wrong", by: try home.open())?.attemptsLeft == 1)
        try leavePending("wrong", failures: 10, in: home)
        #expect(await refusal(of: "correct horse", by: try home.open())?.code == .wiped)
    }

    @Test("Where wrong passcodes do not erase, an interrupted one is settled all the same")
    func aPendingPasscodeOfAVaultThatIsNotErased() async throws {
        let home = try TestHome()
        let never = TestHome.options { $0.erasesAfterTenFailures = false }
        _ = try await home.create("correct horse", options: never)
        try leavePending("correct horse", failures: 30, in: home)
        #expect(await refusal(of: "wrong", by: try home.open())?.code == .wrongPasscode)
        #expect(try home.attempts().failures == 1)
        try leavePending("wrong", failures: 30, in: home)
        #expect(await refusal(of: "another", by: try home.open())?.code == .wrongPasscode)
        #expect(try home.attempts().failures == 31)
        _ = try await home.unlocked("correct horse")
        #expect(try home.attempts().failures == 0)
    }

    /// Ten right passcodes of which none could be recorded, each with a wrong one between them.
    @Test("Unrecorded right passcodes never add up")
    func rightPasscodesNeverAddUp() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let tag = try derived("correct horse", home).tag
        for number in 0..<12 {
            try leave(home.attempts().counting(tag), in: home)
            #expect(await refusal(of: "wrong \(number)", by: try home.open())?.attemptsLeft == 9)
        }
    }

    @Test("A failed derivation costs no attempt")
    func aDerivationThatFailsCostsNothing() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let before = try home.read("attempts")
        // A salt of a wrong size lets it fail, as short memory does.
        let parameters = try #require(try home.keybag().passcode)
        let damaged = Keybag.PasscodeParameters(cost: parameters.cost, salt: [])
        let code = failure {
            _ = try DerivedPasscode(Passcode(copying: "correct horse"), damaged, device: home.deviceKey())
        }
        #expect(code == .invalidInput)
        #expect(try home.read("attempts") == before)
    }

    @Test("An attempt that fails between the count and the comparison is taken back")
    func anEvaluationThatFailsCostsNothing() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        var keybag = try home.keybag()
        let passcode = try derived("correct horse", home)
        keybag.passcodeTag = nil
        keybag.keys = [:]
        let counter = try AttemptLimiter(
            device: home.deviceKey(), clock: .system, delays: false, erases: true)
        let vault = try home.directory().openVault()
        for _ in 0..<12 {
            let code = failure { _ = try counter.mustErase(after: passcode, keybag: keybag, in: vault) }
            #expect(code == .corrupt)
            #expect(try home.attempts().attemptsLeft == 10)
        }
    }

    @Test("The keybag of an earlier release, without a tag, counts until an upgrade adds the tag")
    func aKeybagWithoutATag() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        try home.changeKeybag { $0.passcodeTag = nil }
        #expect(await refusal(of: "wrong", by: try home.open())?.attemptsLeft == 9)
        #expect(await refusal(of: "wrong", by: try home.open())?.attemptsLeft == 9)
        // Pending, it counts for every other passcode, and not for itself.
        try leavePending("correct horse", failures: 10, in: home)
        let opened = try await home.unlocked("correct horse")
        #expect(try home.keybag().passcodeTag == nil)
        _ = try await opened.upgrade(passcode: Passcode(copying: "correct horse"), requiringBackup: false)
        #expect(try home.keybag().passcodeTag != nil)
        #expect(try await session.status().attemptsLeft == 10)
        try home.changeKeybag { $0.passcodeTag = nil }
        for number in 1...9 {
            #expect(await refusal(of: "wrong \(number)", by: try home.open())?.attemptsLeft == 10 - number)
        }
        #expect(await refusal(of: "wrong 10", by: try home.open())?.code == .wiped)
    }

    @Test("A passcode that another process set meanwhile is the one that counts")
    func aPasscodeChangedMeanwhileIsTheOneThatCounts() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let old = try derived("correct horse", home)
        try await session.changePasscode(
            to: Passcode(copying: "battery staple"), current: Passcode(copying: "correct horse"))
        #expect(try derived("battery staple", home).parameters != old.parameters)
        #expect(await refusal(of: "correct horse", by: session)?.attemptsLeft == 9)
        try await session.unlock(with: Passcode(copying: "battery staple"))
    }
}
