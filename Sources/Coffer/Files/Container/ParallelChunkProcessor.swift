import CofferBase
import CofferEngine
import Synchronization

/// A processor that distributes runs of chunks over at most eight threads. Each run reads and writes at its
/// own offsets, so the runs can be processed in any order.
enum ParallelChunkProcessor {
    /// Returns the number of chunks that one thread processes at a time, which hold about 1 MiB.
    static func runLength(_ layout: ContainerLayout) -> Int64 {
        max(1, Int64(1 << 20) >> Int64(layout.chunkSizeLog2))
    }

    /// Calls `work` for runs that cover `chunks`, on several threads. Each thread obtains a separate state
    /// from `prepare` and calls `check` before each run; an error from `check` stops the work. This function
    /// throws the first error that occurs on any thread.
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
