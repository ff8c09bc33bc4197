package import CofferBase
import CofferCrypto
package import CofferEngine

/// Evaluates passcodes, and counts every attempt before comparing the passcode. Callers hold the vault
/// directory's lock, except for ``throwIfTooSoon(_:)``.
///
/// The caller derives the key from the passcode first, so a derivation that fails or is killed costs no
/// attempt. If the process is killed after counting an attempt and before recording the comparison, the
/// passcode stays pending, and the next attempt compares it. No attempt therefore counts without a
/// comparison.
package struct AttemptLimiter {
    package let device: DeviceKey
    package let clock: VaultClock
    package let delays: Bool
    /// Whether ten wrong passcodes erase everything. Otherwise they are only counted and delayed.
    package let erases: Bool
    /// Stores the counter's generation outside the vault directory; `nil` if the generation is not stored
    /// there.
    package var rollbackGuard: RollbackGuard?

    package init(
        device: DeviceKey, clock: VaultClock, delays: Bool, erases: Bool,
        rollbackGuard: RollbackGuard? = nil
    ) {
        self.device = device
        self.clock = clock
        self.delays = delays
        self.erases = erases
        self.rollbackGuard = rollbackGuard
    }

    private typealias Record = AuthenticatedRecord<AttemptRecord>.Contents

    /// The counter as stored on disk, and the counter to which this attempt is added.
    private struct State {
        let record: Record
        let attempts: AttemptRecord
    }

    /// Counts and compares a passcode. Returns `false` if the passcode is right, after resetting the count to
    /// zero, and `true` if everything must be erased because ten passcodes were wrong, which never happens if
    /// the limiter does not erase. Throws `wrongPasscode` for any other wrong passcode.
    package func mustErase(
        after passcode: DerivedPasscode, keybag: Keybag, in vault: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        // Derive the key once, so that undoing a count needs no further memory.
        let key = try device.key(AttemptRecord.record.keyLabel)
        let state = try prepare(keybag, key: key, in: vault)
        let before = state.attempts
        let isAgain = before.isLast(passcode.tag)
        guard !isExhausted(before) || (isAgain && before.isPending) else { return true }
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
            // If the result cannot be recorded, the passcode stays pending and the next attempt compares it
            // again.
            _ = try? write(attempts, over: counted, key: key, in: vault)
            guard !isExhausted(attempts) else { return true }
            throw wrong(attempts)
        }
        _ = try write(AttemptRecord(), over: counted, key: key, in: vault)
        return false
    }

    /// Throws `attemptDelayed` if the attempt comes too soon after a wrong one. Does nothing if the clock was
    /// set back, because ``mustErase(after:keybag:in:)`` records that and restarts the delay.
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
                attemptsLeft: attemptsLeft(attempts), retryAfter: wait)
        }
    }

    /// Returns the number of wrong passcodes left before everything is erased; `nil` if they never erase.
    package func attemptsLeft(_ attempts: AttemptRecord) -> Int? { erases ? attempts.attemptsLeft : nil }

    /// Returns whether everything must be erased.
    private func isExhausted(_ attempts: AttemptRecord) -> Bool { attemptsLeft(attempts) == 0 }

    /// Reads the counter, enforces the delay, compares a pending passcode if the keybag has a passcode tag,
    /// and records the time of this attempt.
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
        // Before an erasure there is no further delay.
        if !isExhausted(attempts) || attempts.isPending { try throwIfTooSoon(attempts) }
        // Verify before counting that the service accepts a write. The service must also have the generation
        // of a pending passcode before that passcode is compared.
        try rollbackGuard?.record(record.generation)
        attempts = attempts.settled(by: keybag.passcodeTag)
        attempts.lastFailure = now
        attempts.bootIdentifier = boot
        return State(record: record, attempts: attempts)
    }

    private func wrong(_ attempts: AttemptRecord) -> CofferError {
        let consequence =
            switch attemptsLeft(attempts) {
            case nil: "wrong passcodes never erase this vault."
            case 1?: "one attempt left: the next wrong passcode erases this vault."
            case let left?: "\(left) attempts left before everything is erased."
            }
        return CofferError(
            .wrongPasscode, "Wrong passcode; \(consequence)", attemptsLeft: attemptsLeft(attempts))
    }

    private func write(
        _ attempts: AttemptRecord, over record: Record, key: borrowing SymmetricKey,
        in vault: borrowing Descriptor
    ) throws(CofferError) -> Record {
        try AttemptRecord.record.update(record, to: attempts, vaultID: device.vaultID, key: key, in: vault)
    }
}
