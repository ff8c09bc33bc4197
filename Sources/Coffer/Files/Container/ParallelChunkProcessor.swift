import CofferBase
import CofferEngine
import Synchronization

/// Distributes runs of chunks over the processors, on its own threads. Every run reads and writes at its own
/// offsets, so their order does not matter.
enum ParallelChunkProcessor {
    /// The number of chunks that one thread processes at a time: about 1 MiB.
    static func runLength(_ layout: ContainerLayout) -> Int64 {
        max(1, Int64(1 << 20) >> Int64(layout.chunkSizeLog2))
    }

    /// Calls `work` for runs that cover `chunks`, on several threads, each with its own state from `prepare`.
    /// Every thread calls `check` between runs, which throws to stop. The first error stops the work and is
    /// thrown.
    static func run<State: ~Copyable>(
        _ chunks: Range<Int64>, runLength: Int64, threads limit: Int = .max,
        check: @Sendable () throws(CofferError) -> Void,
        prepare: @Sendable () throws(CofferError) -> State,
        work: @Sendable (_ state: inout State, _ run: Range<Int64>) throws(CofferError) -> Void
    ) throws(CofferError) {
        guard !chunks.isEmpty else { return }
        let runs = (Int64(chunks.count) + runLength - 1) / runLength
        let next = Atomic(chunks.lowerBound)
        let failure = Mutex<CofferError?>(nil)
        let threads = Int(min(Int64(min(Environment.processors, 8, limit)), max(runs, 1)))
        Threads.run(threads) {
            do throws(CofferError) {
                var state = try prepare()
                while failure.withLock({ $0 == nil }) {
                    let start = next.add(runLength, ordering: .relaxed).oldValue
                    guard start < chunks.upperBound else { return }
                    try check()
                    try work(&state, start..<min(start + runLength, chunks.upperBound))
                }
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
