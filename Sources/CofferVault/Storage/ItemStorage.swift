package import CofferBase

/// The storage of one vault's sealed tokens, indexed by their keyed names. Calls block.
///
/// A storage sees only envelopes and keyed names. Callers make changes under the vault directory's lock, so
/// data that a caller read under the lock is still current when the caller makes a change. The tests run the
/// same contract suite against every implementation.
package protocol ItemStorage: Sendable {
    /// Returns the envelope stored under a name; `nil` if there is none.
    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]?

    /// Returns the cached envelope stored under a name; `nil` if the cache is not current or has no such
    /// envelope. Checking the cache requires only the status of a few files.
    func cachedEnvelope(_ name: [UInt8]) -> [UInt8]?

    /// Returns every envelope, by name.
    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]]

    /// Returns the intact envelopes and the damaged items' identifiers.
    func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String])

    /// Returns the number of stored items.
    func count() throws(CofferError) -> Int

    /// Applies every change. Each change is made completely or not at all. Removing an item that does not
    /// exist has no effect.
    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError)
}

/// A change to the item that is stored under one name.
package enum StorageChange: Sendable, Equatable {
    case put([UInt8])
    case remove
}

extension ItemStorage {
    /// Returns `nil`: the default for a storage without a cache.
    package func cachedEnvelope(_ name: [UInt8]) -> [UInt8]? { nil }

    /// Returns all envelopes: the default for a storage in which damage to one item makes all items
    /// unreadable.
    package func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String])
    {
        (try envelopes(), [])
    }

    /// Stores one envelope under a name and replaces any existing envelope with that name.
    package func put(_ envelope: [UInt8], for name: [UInt8]) throws(CofferError) {
        try apply([name: .put(envelope)])
    }

    /// Removes the envelope stored under a name, if there is one.
    package func remove(_ name: [UInt8]) throws(CofferError) { try apply([name: .remove]) }
}

extension [[UInt8]: [UInt8]] {
    /// Returns a copy with the changes applied.
    func applying(_ changes: [[UInt8]: StorageChange]) -> Self {
        var result = self
        for (name, change) in changes {
            switch change {
            case .put(let envelope): result[name] = envelope
            case .remove: result[name] = nil
            }
        }
        return result
    }
}
