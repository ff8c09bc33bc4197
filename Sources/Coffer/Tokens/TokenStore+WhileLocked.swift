import CofferBase
import CofferVault

/// Support for values that are stored while their class is locked.
extension TokenStore {
    /// Returns what is known of the value that a pending one would replace: all of it if this vault object
    /// stored it and it is still pending; otherwise only the class, which is readable without its key.
    ///
    /// A marked value, which anyone can have stored, counts as unknown. So does one whose mark is locked, if
    /// its class protects less than the standard class and this vault object has neither read nor written it.
    func knownWhileLocked(_ name: [UInt8], _ new: NewTokenInfo) throws(CofferError) -> TokenInfo? {
        if let own = try core.ownPendingValue(name) { return own.info }
        guard let found = try? findEnvelope(name, orLocked: false),
            let envelope = try? TokenEnvelope.decode(found.bytes)
        else { return nil }
        let isKept =
            if isOpen(found) {
                (try? open(found, name: name, withValue: false).info.isStoredWhileLocked) == false
            } else {
                !envelope.protection.isWeakerThanStandard
                    || core.tickets.isUnmarked(envelope.wrappedKey, for: name)
            }
        guard isKept else { return nil }
        return TokenInfo(id: new.id, version: nil, protection: envelope.protection, stored: new.stored)
    }

    /// Whether a new value replaces the stored one immediately although other values are pending under its
    /// name. Another process can add pending values; the next unlock checks them against the value that is
    /// stored by then. The new value must wait if no value is stored, if the stored value's class is locked,
    /// or if a value that this vault object stored earlier is still pending.
    func overtakesPending(_ name: [UInt8]) throws(CofferError) -> Bool {
        guard try core.ownPendingValue(name) == nil, let found = try findEnvelope(name, orLocked: false)
        else {
            return false
        }
        return isOpen(found)
    }

    /// Caches the ticket for replacing this version, for use after a lock. A failure to derive the ticket is
    /// not an error, but without the ticket, a value that is stored while locked has to be accepted
    /// explicitly.
    func noteTicket(of envelope: TokenEnvelope, _ name: [UInt8], isMarked: Bool) {
        guard !core.tickets.has(envelope.wrappedKey, for: name) else { return }
        guard let key = core.keys.all[envelope.protection],
            let ticket = try? envelope.ticket(name: name, under: key, vaultID: core.device.vaultID)
        else { return }
        core.tickets.keep(ticket, for: name, wrapped: envelope.wrappedKey, isMarked: isMarked)
    }
}
