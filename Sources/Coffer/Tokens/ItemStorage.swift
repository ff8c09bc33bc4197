import CofferBase

/// Where the sealed tokens of one vault are kept, found by their keyed names. Blocking.
///
/// A keyring sees envelopes and keyed names alone. Changes are made under the home's lock, so that what was
/// read under it still holds when the change is made. Every keyring keeps the laws of the one contract suite
/// in the tests.
protocol ItemStorage: Sendable {
    /// The envelope of a name; `nil` when there is none.
    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]?

    /// Every envelope by its name.
    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]]

    /// The same without those that are damaged where they lie, and what tells which those are.
    func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String])

    /// How many there are.
    func count() throws(CofferError) -> Int

    /// Makes every change, each whole or not at all; what is removed may be gone already.
    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError)
}

/// What becomes of one name in a keyring.
enum StorageChange: Sendable, Equatable {
    case put([UInt8])
    case remove
}

extension ItemStorage {
    /// Where damage to one is damage to all, there is nothing to leave out.
    func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String]) {
        (try envelopes(), [])
    }

    /// Stores one envelope, in place of the one of that name.
    func put(_ envelope: [UInt8], for name: [UInt8]) throws(CofferError) {
        try apply([name: .put(envelope)])
    }

    /// Removes one envelope, if it is there.
    func remove(_ name: [UInt8]) throws(CofferError) { try apply([name: .remove]) }
}

extension [[UInt8]: [UInt8]] {
    /// The same with changes made.
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
