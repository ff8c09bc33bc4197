import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization

/// Methods that keep the class keys in memory in step with the keybag, because another process may have
/// replaced them. No data may be sealed under a key that was replaced.
extension VaultCore {
    /// The time for which a process that finds its keys replaced waits for the new ones to be cached.
    private static let cachingDelay = Duration.milliseconds(200)

    /// Replaces class keys that another process replaced, with the new ones from the kernel keyring or, in a
    /// vault without a passcode, from the keybag. Evicts those whose new ones it does not get. Returns
    /// whether any key was replaced or evicted.
    ///
    /// Nothing that this process holds is lost: ephemeral tokens are sealed again, and a token that is stored
    /// under an evicted key is pending until the next unlock.
    @discardableResult
    func refreshKeys() throws(CofferError) -> Bool {
        let locks = keys.locks
        let held = keys.all
        guard !held.isEmpty else { return false }
        let vault = try home.openVault()
        let status = try vault.status(of: Keybag.record.name)
        if let status, checkedKeybag.withLock({ $0 == status }) { return false }
        var keybag = try readKeybag()
        var stale = Self.stale(held, keybag)
        guard !stale.isEmpty else {
            Self.dropFormerKeys(held, keybag)
            if let status, status.isSettled { checkedKeybag.withLock { $0 = status } }
            return false
        }
        var taken = try cachedKeys.read(keybag)
        let end = Clock.sinceBoot + Self.cachingDelay
        // The process that replaces the keys writes the keybag first.
        while stale.contains(where: { taken.keys[$0.key] == nil && cachedKeys.hasCached($0.value, $0.key) }),
            Clock.sinceBoot < end
        {
            Clock.sleep(for: .milliseconds(5))
            keybag = try readKeybag()
            stale = Self.stale(held, keybag)
            taken = try cachedKeys.read(keybag)
        }
        try adopt(taken, insteadOf: stale, keybag, since: locks)
        return true
    }

    /// Drops replaced keys that the keybag no longer has.
    func dropFormerKeys() throws(CofferError) { try Self.dropFormerKeys(keys.all, readKeybag()) }

    /// A key that a rotation in this process is about to write to the keybag keeps the key that it replaces.
    private static func dropFormerKeys(_ held: [ProtectionClass: ClassKey], _ keybag: Keybag) {
        for (protection, key) in held
        where keybag.keys[protection]?.id == key.id && keybag.former[protection] == nil {
            key.former = nil
        }
    }

    /// Returns the keys in `held` that the keybag has replaced. A class whose key was destroyed with the
    /// passcode is not among them.
    private static func stale(
        _ held: [ProtectionClass: ClassKey], _ keybag: Keybag
    ) -> [ProtectionClass: ClassKey] {
        held.filter { entry in
            keybag.keys[entry.key].map { $0.id != entry.value.id && $0.generation > entry.value.generation }
                ?? false
        }
    }

    private func adopt(
        _ taken: KernelKeyCache.Taken, insteadOf stale: [ProtectionClass: ClassKey], _ keybag: Keybag,
        since locks: Int
    ) throws(CofferError) {
        let cached = taken.keys.filter { stale[$0.key] != nil }
        let opened = try openedKeys(of: stale.keys.filter { cached[$0] == nil }, keybag)
        let adopted = cached.merging(opened) { $1 }
        let recorded = adopted.mapValues(\.former)
        for (protection, key) in adopted { key.former = stale[protection] }
        if keys.insert(cached, taken.terms, since: locks) { cachedKeys.share(taken, keybag) }
        keys.succeed(opened, since: locks)
        try? rewrapEphemeralTokens()
        for (protection, key) in adopted { key.former = recorded[protection] ?? nil }
        let lost = Set(stale.keys.filter { adopted[$0] == nil })
        guard !lost.isEmpty else { return }
        cachedKeys.removeEntries(of: lost)
        keys.lapse(lost, .keysReplaced)
    }

    /// Returns the keys of `classes` that the device key alone opens; none if the vault has a passcode. A key
    /// that was in the kernel keyring and is there no longer was locked, so its successor stays there, too.
    private func openedKeys(
        of classes: [ProtectionClass], _ keybag: Keybag
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        let wanted = classes.filter { !cachedKeys.isTracking($0) }
        guard keybag.passcode == nil, !wanted.isEmpty else { return [:] }
        let kek = try Keybag.wrappingKey(device: device)
        return try asCorrupt { () throws(CofferError) in
            try keybag.unwrap(under: kek, vaultID: device.vaultID).filter { wanted.contains($0.key) }
        }
    }

    /// Seals the ephemeral tokens whose class keys were replaced again, under the current keys.
    func rewrapEphemeralTokens() throws(CofferError) {
        var changes: [[UInt8]: StorageChange] = [:]
        for (name, bytes) in try ephemeralTokens.envelopes() {
            guard let envelope = try? TokenEnvelope.decode(bytes),
                let key = keys.present(envelope.protection),
                let new = try? envelope.rewrapped(name: name, under: key, vaultID: device.vaultID)
            else { continue }
            changes[name] = .put(new.encoded)
        }
        if !changes.isEmpty { try ephemeralTokens.apply(changes) }
    }
}

extension CofferError {
    /// The error for work that began under keys that another process has replaced.
    static var keysReplaced: CofferError {
        CofferError(
            .locked, "Another process replaced the vault's keys before the operation was done.",
            remedy: .unlockAgain)
    }
}
