import Coffer
import CofferBase
import Synchronization

/// A storage after whose n-th change every further operation fails, as if the process had died there.
final class LogoutCrashStorage: ItemStorage {
    /// The number of changes that still happen. Copies of the storage share it.
    final class Fuse: Sendable {
        private let rest = Mutex<Int>(.max)
        private let changes = Mutex(0)

        /// The number of changes so far.
        var count: Int { changes.withLock { $0 } }

        func set(_ count: Int) { rest.withLock { $0 = count } }

        func check() throws(CofferError) {
            guard rest.withLock({ $0 }) > 0 else {
                throw CofferError(.inputOutput, "The test's process has died.")
            }
        }

        func burn() {
            changes.withLock { $0 += 1 }
            rest.withLock { if $0 != .max { $0 -= 1 } }
        }
    }

    private let base: any ItemStorage
    private let fuse: Fuse

    init(_ base: any ItemStorage, _ fuse: Fuse) {
        self.base = base
        self.fuse = fuse
    }

    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? {
        try fuse.check()
        return try base.envelope(name)
    }

    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] {
        try fuse.check()
        return try base.envelopes()
    }

    func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String]) {
        try fuse.check()
        return try base.readableEnvelopes()
    }

    func count() throws(CofferError) -> Int {
        try fuse.check()
        return try base.count()
    }

    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        try fuse.check()
        try base.apply(changes)
        fuse.burn()
    }
}
