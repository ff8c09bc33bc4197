package import CofferBase
import Synchronization

/// An in-memory token storage, for tokens that are never written to disk.
package final class InMemoryStorage: ItemStorage {
    private let items = Mutex<[[UInt8]: [UInt8]]>([:])

    package init() {}

    package func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? { items.withLock { $0[name] } }

    package func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] { items.withLock { $0 } }

    package func count() throws(CofferError) -> Int { items.withLock { $0.count } }

    package var isEmpty: Bool { items.withLock { $0.isEmpty } }

    package func removeAll() { items.withLock { $0 = [:] } }

    package func removeAll(where matches: (_ envelope: [UInt8]) -> Bool) {
        items.withLock { items in items = items.filter { !matches($0.value) } }
    }

    package func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        items.withLock { $0 = $0.applying(changes) }
    }
}
