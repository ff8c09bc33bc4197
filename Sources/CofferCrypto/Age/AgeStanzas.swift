import CofferBase

/// The stanzas of a header that this release can use. All of them are checked before one is used, because a
/// header with an invalid stanza was not written by age.
struct AgeStanzas {
    /// The stanzas for X25519 recipients, with their ephemeral public keys.
    private(set) var forIdentities: [(stanza: AgeStanza, share: [UInt8])] = []
    /// The stanza for a passphrase.
    private(set) var passphrase: (stanza: AgeStanza, cost: AgeScrypt.Cost)?

    /// - Throws: `corrupt` if a stanza is invalid, or if the one for a passphrase is not alone; `refused` if
    ///   the work factor is too high.
    init(_ header: AgeHeader) throws(CofferError) {
        for stanza in header.stanzas {
            if stanza.isOf(type: AgeX25519.type) {
                forIdentities.append((stanza, try AgeX25519.share(of: stanza)))
            } else if stanza.isOf(type: AgeScrypt.type) {
                // With a second recipient, the writer would not be known to know the passphrase.
                guard header.stanzas.count == 1 else { throw AgeHeader.corruptError }
                passphrase = (stanza, try AgeScrypt.cost(of: stanza))
            }
        }
    }
}

extension AgeFileKey {
    /// Returns the file key from the first stanza that is for one of `identities`, or `nil` if none is.
    static func find(
        in stanzas: AgeStanzas, _ identities: [AgeIdentity]
    ) throws(CofferError) -> AgeFileKey? {
        for identity in identities {
            for (stanza, share) in stanzas.forIdentities {
                if let key = try AgeX25519.unwrap(stanza, share: share, with: identity) { return key }
            }
        }
        return nil
    }
}
