import CofferBase
import CofferCrypto
import CofferEngine

/// Evaluates passcodes, counting first. Everything here but ``throwIfTooSoon(_:)`` happens under the home's
/// lock.
///
/// A passcode comes here derived: what fails or is killed before, costs no attempt. What is killed between
/// the count and its record leaves the passcode pending, and the next attempt compares it, so that every
/// attempt that counts was compared.
struct AttemptLimiter {
    let device: DeviceKey
    let time: VaultClock
    let delays: Bool
    /// What remembers the counter elsewhere; `nil` where nothing does.
    var witness: RollbackGuard?

    /// The counter as it lies on the disk, and what it says.
    private struct State {
        var record: DualSlotRecord.Contents
        var attempts: AttemptRecord
    }

    /// Whether everything is to be erased, since ten were wrong; what comes back with `false` is right, and
    /// the count is back at none.
    func mustErase(
        after passcode: DerivedPasscode, keybag: Keybag, in vault: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        let key = try device.key(KDFLabel.attemptsMAC)
        let state = try prepare(keybag, key: key, in: vault)
        let before = state.attempts
        let isAgain = before.isLast(passcode.tag)
        guard before.left > 0 || (isAgain && before.isPending) else { return true }
        guard before.isPending || !isAgain else {
            _ = try write(before, over: state.record, key: key, in: vault)
            throw wrong(before)
        }
        var attempts = before.counting(passcode.tag)
        let counted = try write(attempts, over: state.record, key: key, in: vault)
        try witness?.record(counted.generation)
        let isRight: Bool
        do throws(CofferError) {
            isRight = try keybag.isRight(passcode, vaultID: device.vaultID)
        } catch {
            // It was not compared: the attempt does not count.
            _ = try? write(before, over: counted, key: key, in: vault)
            throw error
        }
        guard isRight else {
            attempts.isPending = false
            // An attempt that cannot be recorded stays pending: the next one compares it again.
            _ = try? write(attempts, over: counted, key: key, in: vault)
            guard attempts.left > 0 else { return true }
            throw wrong(attempts)
        }
        _ = try write(AttemptRecord(), over: counted, key: key, in: vault)
        return false
    }

    /// Refuses an attempt that comes too soon after a wrong one. A clock that was set back is for
    /// ``mustErase(after:keybag:in:)``, which takes note of it.
    func throwIfTooSoon(_ attempts: AttemptRecord) throws(CofferError) {
        let now = time.bootTime()
        let boot = time.bootIdentifier()
        guard delays, !attempts.isClockRolledBack(now: now, bootIdentifier: boot) else { return }
        let wait = attempts.remainingDelay(now: now, bootIdentifier: boot)
        guard wait <= .zero else {
            let seconds = wait.components.seconds + 1
            throw CofferError(
                .attemptDelayed,
                "Too soon after a wrong passcode: wait \(seconds) \(seconds == 1 ? "second" : "seconds").",
                attemptsLeft: attempts.left, retryAfter: wait)
        }
    }

    /// The counter with nothing pending that can be compared, after the delay, at the time of this attempt.
    private func prepare(
        _ keybag: Keybag, key: borrowing SymmetricKey, in vault: borrowing Descriptor
    ) throws(CofferError) -> State {
        var record = try AttemptRecord.record.read(
            vaultID: device.vaultID, key: key, in: vault, repairing: true)
        try witness?.verify(record.generation)
        var attempts = try AttemptRecord.decode(record.payload)
        let now = time.bootTime()
        let boot = time.bootIdentifier()
        if attempts.isClockRolledBack(now: now, bootIdentifier: boot) {
            attempts.lastFailure = now
            record = try write(attempts, over: record, key: key, in: vault)
        }
        // Ten wrong ones wait for nothing any more.
        if attempts.left > 0 || attempts.isPending { try throwIfTooSoon(attempts) }
        // Shows, before anything is counted, that the service takes what it is told; and it must know of a
        // count that a kill left pending before that is compared.
        try witness?.record(record.generation)
        attempts = attempts.settled(by: keybag.passcodeTag)
        attempts.lastFailure = now
        attempts.bootIdentifier = boot
        return State(record: record, attempts: attempts)
    }

    private func wrong(_ attempts: AttemptRecord) -> CofferError {
        let consequence =
            attempts.left == 1
            ? "one attempt left: the next wrong passcode erases this vault."
            : "\(attempts.left) attempts left before everything is erased."
        return CofferError(
            .wrongPasscode, "Wrong passcode; \(consequence)", attemptsLeft: attempts.left)
    }

    private func write(
        _ attempts: AttemptRecord, over record: DualSlotRecord.Contents, key: borrowing SymmetricKey,
        in vault: borrowing Descriptor
    ) throws(CofferError) -> DualSlotRecord.Contents {
        try AttemptRecord.record.update(
            record, to: attempts.encoded, vaultID: device.vaultID, key: key, in: vault)
    }
}
