import CofferBase
import CofferEngine
import Synchronization

/// A comparison of chunks, which arrive in order, with an original file.
final class StreamComparator: Sendable {
    private let original: Descriptor
    private let state = Mutex((offset: Int64(0), isEqual: true))

    init(original: consuming Descriptor) { self.original = original }

    func add(_ bytes: Span<UInt8>) throws(CofferError) {
        let offset = state.withLock { $0.offset }
        var chunk = [UInt8](repeating: 0, count: bytes.count)
        var span = chunk.mutableSpan
        let count = try original.read(at: offset, into: &span)
        let same = count == bytes.count && ConstantTime.equal(chunk.span, bytes)
        state.withLock { state in
            state.offset += Int64(bytes.count)
            state.isEqual = state.isEqual && same
        }
    }

    var length: Int64 { state.withLock { $0.offset } }

    /// Whether all chunks matched and no part of the original file is missing.
    var isComplete: Bool {
        get throws(CofferError) {
            let size = try original.status().size
            return state.withLock { $0.isEqual && $0.offset == size }
        }
    }
}
