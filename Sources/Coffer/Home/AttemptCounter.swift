import CofferBase
import CofferCrypto
import CofferEngine

/// Evaluates passcodes, counting first. Everything here happens under the home's lock.
struct AttemptCounter {
    let device: DeviceRecord
    let time: TimeSource
    let delays: Bool
    /// What remembers the counter elsewhere; `nil` where nothing does.
    var witness: AttemptWitness?

    /// The class keys when the passcode is right; `nil` when it was the last failure and everything is to be
    /// erased.
    func attempt(
        _ passcode: Passcode, parameters: Keybag.PasscodeParameters, keybag: Keybag,
        in vault: borrowing Descriptor
    ) throws(CofferError) -> [ProtectionClass: ClassKey]? {
        let key = try device.key(Label.attemptsMAC)
        let record = try read(key: key, in: vault)
        try witness?.check(record.generation)
        var before = try Attempts.decode(record.payload)
        guard before.left > 0 else { return nil }
        let now = time.sinceBoot()
        let boot = time.bootIdentifier()
        if before.isAhead(of: now, bootIdentifier: boot) {
            before.lastFailure = now
            try write(before, key: key, in: vault)
        }
        if delays { try refuseTooSoon(before, now: now, boot: boot) }

        var counted = before
        counted.failures += 1
        counted.lastFailure = now
        counted.bootIdentifier = boot
        try write(counted, key: key, in: vault)
        if let witness { try witness.remember(read(key: key, in: vault).generation) }

        let derived = try Argon2id.deriveKey(
            secret: passcode.secret, salt: parameters.salt.span, cost: parameters.cost)
        let kek = try Keybag.wrappingKey(passcode: derived, device: device)
        do throws(CofferError) {
            let keys = try keybag.unwrap(under: kek, vaultID: device.vaultID)
            try write(Attempts(), key: key, in: vault)
            return keys
        } catch {
            guard error.code == .notAuthentic else { throw error }
        }
        let tag = try Attempts.tag(of: derived, device: device)
        if let last = before.lastWrongTag, ConstantTime.equal(last.span, tag.span) { counted.failures -= 1 }
        counted.lastWrongTag = tag
        try write(counted, key: key, in: vault)
        guard counted.left > 0 else { return nil }
        throw CofferError(
            .wrongPasscode,
            "Wrong passcode; \(counted.left) \(counted.left == 1 ? "attempt" : "attempts") left before "
                + "everything is erased.",
            attemptsLeft: counted.left)
    }

    private func refuseTooSoon(_ attempts: Attempts, now: Duration, boot: String) throws(CofferError) {
        let wait = attempts.remainingDelay(now: now, bootIdentifier: boot)
        guard wait <= .zero else {
            throw CofferError(
                .attemptDelayed,
                "Too soon after a wrong passcode: wait \(wait.components.seconds + 1) seconds.",
                attemptsLeft: attempts.left, retryAfter: wait)
        }
    }

    private func read(
        key: borrowing SymmetricKey, in vault: borrowing Descriptor
    ) throws(CofferError) -> SlotRecord.Contents {
        try Attempts.record.read(vaultID: device.vaultID, key: key, in: vault, repairing: true)
    }

    private func write(
        _ attempts: Attempts, key: borrowing SymmetricKey, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let current = try read(key: key, in: vault)
        try Attempts.record.update(
            current, to: attempts.encoded, vaultID: device.vaultID, key: key, in: vault)
    }
}
