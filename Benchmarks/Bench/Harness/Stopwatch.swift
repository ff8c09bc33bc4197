import BenchPeers
import CofferBase

/// What a sample is timed by.
enum Stopwatch: Sendable {
    /// The processor time of the whole process, all threads together: for work that happens in this process
    /// alone. Other programs on the machine disturb it far less than the wall clock.
    case processor
    /// Time on the wall, for work that waits, has several threads or runs in another process.
    case wall

    /// The seconds that `count` runs take.
    func time(_ count: Int, _ work: Runner.Work) async throws(CofferError) -> Double {
        switch self {
        case .processor:
            let start = OwnProcess.processorTime
            try await work(count)
            return OwnProcess.processorTime - start
        case .wall:
            let start = ContinuousClock.now
            try await work(count)
            let parts = start.duration(to: .now).components
            return Double(parts.seconds) + Double(parts.attoseconds) / 1e18
        }
    }
}
