package import CofferBase
import CofferCrypto
package import CofferEngine

/// Evaluates passcodes and counts every attempt before it compares it. Everything here except
/// ``throwIfTooSoon(_:)`` runs under the vault directory's lock.
///
/// The passcode arrives derived, so a derivation that fails or is killed costs no attempt. A kill between the
/// count and the record of its comparison leaves the passcode pending; the next attempt compares it. Every
/// attempt that counts was therefore compared.
package struct AttemptLimiter {
    package let device: DeviceKey
    package let clock: VaultClock
    package let delays: Bool
    /// Keeps the counter's generation outside of the vault directory; `nil` if nothing does.
    package var rollbackGuard: RollbackGuard?

    package init(device: DeviceKey, clock: VaultClock, delays: Bool, rollbackGuard: RollbackGuard? = nil) {
        self.device = device
        self.clock = clock
        self.delays = delays
        self.rollbackGuard = rollbackGuard
    }

    private typealias Record = AuthenticatedRecord<AttemptRecord>.Contents

    /// The counter as stored on the disk, and as it is when the passcode is to be counted.
    private struct State {
        let record: Record
        let attempts: AttemptRecord
    }

    /// Returns `true` if everything must be erased because ten passcodes were wrong. If it returns `false`,
    /// the passcode is right and the count is back at zero.
    package func mustErase(
        after passcode: DerivedPasscode, keybag: Keybag, in vault: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        // Derived once, so that taking a count back does not depend on memory being available.
        let key = try device.key(AttemptRecord.record.keyLabel)
        let state = try prepare(keybag, key: key, in: vault)
        let before = state.attempts
        let isAgain = before.isLast(passcode.tag)
        guard before.attemptsLeft > 0 || (isAgain && before.isPending) else { return true }
        guard before.isPending || !isAgain else {
            _ = try write(before, over: state.record, key: key, in: vault)
            throw wrong(before)
        }
        var attempts = before.counting(passcode.tag)
        let counted = try write(attempts, over: state.record, key: key, in: vault)
        try rollbackGuard?.record(counted.generation)
        let isRight: Bool
        do throws(CofferError) {
            isRight = try keybag.isRight(passcode, vaultID: device.vaultID)
        } catch {
            // The passcode was not compared, so the attempt does not count.
            _ = try? write(before, over: counted, key: key, in: vault)
            throw error
        }
        guard isRight else {
            attempts.isPending = false
            // An attempt that cannot be recorded stays pending: the next one compares it again.
            _ = try? write(attempts, over: counted, key: key, in: vault)
            guard attempts.attemptsLeft > 0 else { return true }
            throw wrong(attempts)
        }
        _ = try write(AttemptRecord(), over: counted, key: key, in: vault)
        return false
    }

    /// Throws `attemptDelayed` if the attempt comes too soon after a wrong one. Does nothing if the clock was
    /// set back: ``mustErase(after:keybag:in:)`` records that.
    package func throwIfTooSoon(_ attempts: AttemptRecord) throws(CofferError) {
        let now = clock.bootTime()
        let boot = clock.bootIdentifier()
        guard delays, !attempts.isClockRolledBack(now: now, bootIdentifier: boot) else { return }
        let wait = attempts.remainingDelay(now: now, bootIdentifier: boot)
        guard wait <= .zero else {
            let seconds = wait.components.seconds + 1
            throw CofferError(
                .attemptDelayed,
                "Too soon after a wrong passcode: wait \(seconds) \(seconds == 1 ? "second" : "seconds").",
                attemptsLeft: attempts.attemptsLeft, retryAfter: wait)
        }
    }

    /// Reads the counter, enforces the delay, settles a pending passcode if the keybag has a tag to compare
    /// it with, and sets the time of this attempt.
    private func prepare(
        _ keybag: Keybag, key: borrowing SymmetricKey, in vault: borrowing Descriptor
    ) throws(CofferError) -> State {
        var record = try AttemptRecord.record.read(device: device, in: vault, repairing: true)
        try rollbackGuard?.verify(record.generation)
        var attempts = record.payload
        let now = clock.bootTime()
        let boot = clock.bootIdentifier()
        if attempts.isClockRolledBack(now: now, bootIdentifier: boot) {
            attempts.lastFailure = now
            record = try write(attempts, over: record, key: key, in: vault)
        }
        // After ten wrong passcodes there is no delay any more.
        if attempts.attemptsLeft > 0 || attempts.isPending { try throwIfTooSoon(attempts) }
        // This shows, before anything is counted, that the service accepts a write. The service must also
        // know of a count that a kill left pending before that passcode is compared.
        try rollbackGuard?.record(record.generation)
        attempts = attempts.settled(by: keybag.passcodeTag)
        attempts.lastFailure = now
        attempts.bootIdentifier = boot
        return State(record: record, attempts: attempts)
    }

    private func wrong(_ attempts: AttemptRecord) -> CofferError {
        let consequence =
            attempts.attemptsLeft == 1
            ? "one attempt left: the next wrong passcode erases this vault."
            : "\(attempts.attemptsLeft) attempts left before everything is erased."
        return CofferError(
            .wrongPasscode, "Wrong passcode; \(consequence)", attemptsLeft: attempts.attemptsLeft)
    }

    private func write(
        _ attempts: AttemptRecord, over record: Record, key: borrowing SymmetricKey,
        in vault: borrowing Descriptor
    ) throws(CofferError) -> Record {
        try AttemptRecord.record.update(record, to: attempts, vaultID: device.vaultID, key: key, in: vault)
    }
}
