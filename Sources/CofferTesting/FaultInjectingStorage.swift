import Coffer
import CofferBase

/// A storage that fails where the faults of a test say so, and otherwise does what the storage in it does.
struct FaultInjectingStorage: ItemStorage {
    let base: any ItemStorage
    let faults: TestFaults

    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? {
        try faults.check(.reading)
        return try base.envelope(name)
    }

    /// Finds nothing while reading is to fail: the caller then reads, and that fails.
    func cachedEnvelope(_ name: [UInt8]) -> [UInt8]? {
        faults.isPending(.reading) ? nil : base.cachedEnvelope(name)
    }

    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] {
        try faults.check(.reading)
        return try base.envelopes()
    }

    func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String]) {
        try faults.check(.reading)
        return try base.readableEnvelopes()
    }

    func count() throws(CofferError) -> Int {
        try faults.check(.reading)
        return try base.count()
    }

    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        try faults.check(.changing)
        try base.apply(changes)
        try faults.check(.afterCommit)
    }
}
