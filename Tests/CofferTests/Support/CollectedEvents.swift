import Synchronization

/// Bytes that a callback gathers.
final class CollectedEvents: Sendable {
    private let state = Mutex<[UInt8]>([])

    var bytes: [UInt8] { state.withLock { $0 } }

    func append(_ more: [UInt8]) { state.withLock { $0 += more } }
}
