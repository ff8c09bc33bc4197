import BenchPeers
import CofferBase

/// The clock of a sample.
enum Stopwatch: Sendable {
    /// The processor time of all threads of the process, for work that happens only in this process. Other
    /// programs on the machine disturb it far less than the wall clock.
    case processor
    /// Wall-clock time, for work that waits, has several threads or runs in another process.
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
