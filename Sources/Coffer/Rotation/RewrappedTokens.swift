import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// The part of a key rotation that concerns tokens. Every method requires the vault directory's lock.
struct RewrappedTokens {
    private let core: VaultCore

    init(_ core: VaultCore) { self.core = core }

    /// Rewraps the keys of up to `limit` stored tokens that are wrapped under replaced keys. Returns how many
    /// changed and how many can be opened neither with their class's key nor with the one that it replaces.
    func rewrap(limit: Int) throws(CofferError) -> (changed: Int, unreadable: Int) {
        let (envelopes, damaged) = try core.storage.readableEnvelopes()
        var changes: [[UInt8]: StorageChange] = [:]
        var unreadable = damaged.count
        for (name, bytes) in envelopes where changes.count < limit {
            do throws(CofferError) {
                let envelope = try TokenEnvelope.decode(bytes)
                guard let key = core.keys.present(envelope.protection), key.former != nil else { continue }
                let new = try envelope.rewrapped(name: name, under: key, vaultID: core.device.vaultID)
                if let new { changes[name] = .put(new.encoded) }
            } catch {
                guard Self.isDamage(error) else { throw error }
                unreadable += 1
            }
        }
        if !changes.isEmpty { try core.storage.apply(changes) }
        return (changes.count, unreadable)
    }

    /// Seals the pending tokens that wait for the owner to accept or reject them to the new keys. The others
    /// are stored by now, except those whose names such a token holds.
    func resealPending(in vault: borrowing Descriptor) throws(CofferError) -> Int {
        var changed = 0
        for entry in try core.pendingTokens.entries() where entry.state != .damaged {
            do throws(CofferError) {
                guard let pending = try core.pendingTokens.read(entry, in: vault),
                    let key = core.keys.present(pending.protection), key.former != nil
                else { continue }
                guard let new = try pending.resealed(to: key, vaultID: core.device.vaultID) else { continue }
                try core.pendingTokens.replace(entry, with: new, in: vault)
                changed += 1
            } catch {
                guard Self.isDamage(error) else { throw error }
                // Anyone can seal noise to the public key, so this must not keep the old key alive.
                try core.pendingTokens.mark(entry, .damaged, in: vault)
            }
        }
        return changed
    }

    /// Returns the databases whose keys are in one of `classes`, as `SCOPE/NAME`.
    func databases(
        of classes: Set<ProtectionClass>, in vault: borrowing Descriptor
    ) throws(CofferError) -> [String] {
        var found: [String] = []
        for (name, file) in try DatabaseKeyNaming.files(in: vault, device: core.device) {
            guard let bytes = try core.storage.envelope(name), let parts = DatabaseKeyNaming.parts(of: file),
                let protection = try? TokenEnvelope.decode(bytes).protection, classes.contains(protection)
            else { continue }
            found.append("\(parts.scope)/\(parts.name)")
        }
        return found.sorted()
    }

    private static func isDamage(_ error: CofferError) -> Bool {
        [.corrupt, .notAuthentic, .unsupportedVersion].contains(error.code)
    }
}
