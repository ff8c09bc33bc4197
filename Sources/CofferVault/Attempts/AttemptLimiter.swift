package import CofferBase
import CofferCrypto
package import CofferEngine

/// An evaluator of passcodes that counts every attempt before comparing the passcode with the keybag's.
/// Callers of ``mustErase(after:keybag:in:)`` must hold the vault directory's lock.
///
/// The caller derives the key from the passcode first, so a derivation that fails or is killed costs no
/// attempt. If the process is killed after counting an attempt and before recording the comparison, the
/// passcode stays pending, and the next attempt compares it. Therefore, every counted passcode is compared,
/// unless the keybag is from an earlier release and has no passcode tag.
package struct AttemptLimiter {
    package let device: DeviceKey
    package let clock: VaultClock
    package let delays: Bool
    /// Whether ten wrong passcodes erase everything. If not, wrong passcodes are only counted and, if
    /// `delays` is `true`, delay further attempts.
    package let erases: Bool
    /// The number of wrong passcodes after which the administrator's policy erases everything; `nil` if the
    /// policy does not.
    package let managedLimit: Int?
    /// The guard that stores the counter's generation outside the vault directory; `nil` if the generation is
    /// stored only in the vault directory.
    package var rollbackGuard: RollbackGuard?
    /// Whether to refuse an attempt after a wrong passcode, and one that could erase everything; for a
    /// passcode that may be meant for something else, such as the password of a login.
    package var isSparing = false
    /// Records elsewhere that an attempt was counted, before its passcode is compared; `nil` if the counter
    /// is only in the vault directory. If it throws, the attempt does not count.
    package var anchor: ((borrowing Descriptor) throws(CofferError) -> Void)?

    package init(
        device: DeviceKey, clock: VaultClock, delays: Bool, erases: Bool, managedLimit: Int? = nil,
        rollbackGuard: RollbackGuard? = nil
    ) {
        self.device = device
        self.clock = clock
        self.delays = delays
        self.erases = erases
        self.managedLimit = managedLimit
        self.rollbackGuard = rollbackGuard
    }

    private typealias Record = AuthenticatedRecord<AttemptRecord>.Contents

    /// The counter as stored on disk, and the counter to which this attempt is added.
    private struct State {
        let record: Record
        let attempts: AttemptRecord
    }

    /// Counts an attempt and compares its passcode with the keybag's. Returns `false` if the passcode is
    /// right, after resetting the count to zero. Returns `true` if ten passcodes were wrong and everything
    /// must be erased; a limiter that never erases never returns `true`. Throws `wrongPasscode` if the
    /// passcode is wrong and nothing must be erased.
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
        var attempts = before.counting(passcode.tag, limit: managedLimit)
        let counted = try write(attempts, over: state.record, key: key, in: vault)
        try rollbackGuard?.record(counted.generation)
        let isRight: Bool
        do throws(CofferError) {
            try anchor?(vault)
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

    /// Throws `attemptDelayed` if too little time has passed since the last wrong passcode. Does nothing if
    /// the clock was set back: in that case, ``mustErase(after:keybag:in:)`` records the new time and
    /// restarts the delay.
    package func throwIfTooSoon(_ attempts: AttemptRecord) throws(CofferError) {
        let now = clock.bootTime()
        let boot = clock.bootIdentifier()
        guard delays, !attempts.isClockRolledBack(now: now, bootIdentifier: boot) else { return }
        let wait = attempts.remainingDelay(now: now, bootIdentifier: boot)
        guard wait <= .zero else {
            let seconds = wait.components.seconds + 1
            throw CofferError(
                .attemptDelayed,
                "The previous passcode was wrong. Wait \(seconds) \(seconds == 1 ? "second" : "seconds") "
                    + "before the next attempt.",
                attemptsLeft: attemptsLeft(attempts), retryAfter: wait)
        }
    }

    /// Throws `refused` if this limiter spares attempts, and a wrong passcode was counted or the next one
    /// would erase everything. Does nothing while the last passcode is pending, because it may be right.
    package func throwIfSpared(_ attempts: AttemptRecord) throws(CofferError) {
        guard isSparing, !attempts.isPending else { return }
        let left = attemptsLeft(attempts)
        guard attempts.failures > 0 || left.map({ $0 < 2 }) == true else { return }
        throw CofferError(
            .refused,
            "The login password was not tried as the passcode: since the last right passcode, a wrong one "
                + "was counted, or a wrong one would erase this vault.",
            remedy: .unlockVault, attemptsLeft: left)
    }

    /// Returns the number of wrong passcodes that remain before everything is erased; `nil` if wrong
    /// passcodes never erase the vault.
    package func attemptsLeft(_ attempts: AttemptRecord) -> Int? {
        if isExhausted(attempts) { return 0 }
        let own = erases ? attempts.attemptsLeft : nil
        // A limit that came after the last wrong passcode leaves one attempt.
        guard let managedLimit else { return own }
        return min(own ?? .max, max(1, managedLimit - attempts.failures))
    }

    /// Returns whether no attempts are left, so everything must be erased. A limit of the policy erases only
    /// at a passcode that was counted under it: what happened before the policy came erases nothing.
    private func isExhausted(_ attempts: AttemptRecord) -> Bool {
        if erases, attempts.attemptsLeft == 0 { return true }
        return attempts.limit.map { attempts.failures >= $0 } ?? false
    }

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
        // A keybag of an earlier release cannot tell whether a pending passcode was right.
        if isSparing, attempts.isPending { attempts.isPending = false }
        try throwIfSpared(attempts)
        attempts.lastFailure = now
        attempts.bootIdentifier = boot
        return State(record: record, attempts: attempts)
    }

    private func wrong(_ attempts: AttemptRecord) -> CofferError {
        let consequence =
            switch attemptsLeft(attempts) {
            case nil: "Wrong passcodes never erase this vault."
            case 1?: "One attempt is left: the next wrong passcode erases this vault."
            case let left?: "\(left) attempts are left before this vault is erased."
            }
        return CofferError(
            .wrongPasscode, "The passcode is wrong. \(consequence)", attemptsLeft: attemptsLeft(attempts))
    }

    private func write(
        _ attempts: AttemptRecord, over record: Record, key: borrowing SymmetricKey,
        in vault: borrowing Descriptor
    ) throws(CofferError) -> Record {
        try AttemptRecord.record.update(record, to: attempts, vaultID: device.vaultID, key: key, in: vault)
    }
}
