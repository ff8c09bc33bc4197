package import CofferBase

/// The storage of one vault's sealed tokens, which are found by their keyed names. Calls block.
///
/// A storage sees only envelopes and keyed names. Changes are made under the vault directory's lock, so what
/// the caller read under that lock still holds when it makes a change. Every implementation passes the same
/// contract suite in the tests.
package protocol ItemStorage: Sendable {
    /// Returns the envelope of a name; `nil` if there is none.
    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]?

    /// Returns the cached envelope of a name if the cache is still current, which takes a look at only a few
    /// files. Also returns `nil` when the name has no envelope, or when finding out would take more work.
    func cachedEnvelope(_ name: [UInt8]) -> [UInt8]?

    /// Returns every envelope by its name.
    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]]

    /// Returns the envelopes that are not damaged in storage, and identifies the damaged items.
    func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String])

    /// The number of stored items.
    func count() throws(CofferError) -> Int

    /// Applies every change; each is made completely or not at all. Removing an item that does not exist is
    /// not an error.
    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError)
}

/// A change to one name in a storage.
package enum StorageChange: Sendable, Equatable {
    case put([UInt8])
    case remove
}

extension ItemStorage {
    /// The default for a storage without a cache.
    package func cachedEnvelope(_ name: [UInt8]) -> [UInt8]? { nil }

    /// The default for a storage in which damage to one item is damage to all: there is nothing to leave out.
    package func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String])
    {
        (try envelopes(), [])
    }

    /// Stores one envelope and replaces an existing one of that name.
    package func put(_ envelope: [UInt8], for name: [UInt8]) throws(CofferError) {
        try apply([name: .put(envelope)])
    }

    /// Removes one envelope if it exists.
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
