public import CofferBase
import Synchronization

/// The faults that a test injects into a vault's keyring.
///
/// ```swift
/// temporary.faults.fail(.afterCommit, with: CofferError(.interrupted, "The service went away."))
/// ```
public final class TestFaults: Sendable {
    /// The point in an operation at which a fault occurs.
    public enum FaultPoint: Sendable, Hashable {
        /// Reading the keyring fails.
        case reading
        /// A change fails before it takes effect.
        case changing
        /// The change took effect, but the reply was lost.
        case afterCommit
    }

    private struct Fault {
        let error: CofferError
        var skipped: Int
        var remaining: Int
    }

    private let faults = Mutex<[FaultPoint: Fault]>([:])

    init() {}

    /// Makes the next operations fail at `point`.
    ///
    /// - Parameters:
    ///   - point: The point at which the operations fail.
    ///   - error: The error to throw.
    ///   - skipped: The number of operations that succeed before.
    ///   - times: The number of operations that fail. Later operations succeed.
    public func fail(_ point: FaultPoint, with error: CofferError, after skipped: Int = 0, times: Int = 1) {
        faults.withLock { $0[point] = Fault(error: error, skipped: skipped, remaining: times) }
    }

    /// Cancels all remaining faults.
    public func clear() { faults.withLock { $0 = [:] } }

    /// Returns whether the next operation fails at this point.
    func isPending(_ point: FaultPoint) -> Bool { faults.withLock { ($0[point]?.remaining ?? 0) > 0 } }

    /// Throws the error to inject at this point, if there is one, and counts the failure.
    func check(_ point: FaultPoint) throws(CofferError) {
        let error: CofferError? = faults.withLock { faults in
            guard let fault = faults[point], fault.remaining > 0 else { return nil }
            guard fault.skipped == 0 else {
                faults[point]?.skipped -= 1
                return nil
            }
            faults[point]?.remaining -= 1
            return fault.error
        }
        if let error { throw error }
    }
}
