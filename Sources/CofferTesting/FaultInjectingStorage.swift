import Coffer
import CofferBase

/// A storage that throws the errors that a test injects, and otherwise forwards each operation to another
/// storage.
struct FaultInjectingStorage: ItemStorage {
    let base: any ItemStorage
    let faults: TestFaults

    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? {
        try faults.check(.reading)
        return try base.envelope(name)
    }

    /// Returns `nil` while a reading fault is pending, so the caller reads the storage and receives the
    /// error.
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
