import Coffer
public import CofferBase
import Synchronization

/// Errors that a vault's keyring fails with when a test says so, and not before.
///
/// ```swift
/// vault.faults.fail(.afterCommit, with: CofferError(.interrupted, "The service went away."))
/// ```
public final class TestFaults: Sendable {
    /// Where it goes wrong.
    public enum FaultPoint: Sendable, Hashable {
        /// Nothing can be read.
        case reading
        /// Nothing is changed.
        case changing
        /// Everything was changed, and the answer got lost.
        case afterCommit
    }

    private struct Fault {
        let error: CofferError
        var left: Int
    }

    private let faults = Mutex<[FaultPoint: Fault]>([:])

    init(_ hook: KeyringFaults) {
        hook.set { [weak self] step in self?.next(step) }
    }

    /// Lets the next steps of a kind fail.
    ///
    /// - Parameters:
    ///   - step: Where.
    ///   - error: What is thrown.
    ///   - times: How often; then all is well again.
    public func fail(_ step: FaultPoint, with error: CofferError, times: Int = 1) {
        faults.withLock { $0[step] = Fault(error: error, left: times) }
    }

    /// Nothing fails any more.
    public func clear() { faults.withLock { $0 = [:] } }

    private func next(_ step: KeyringFaults.Step) -> CofferError? {
        let step: FaultPoint =
            switch step {
            case .reading: .reading
            case .changing: .changing
            case .changed: .afterCommit
            }
        return faults.withLock { faults in
            guard let fault = faults[step], fault.left > 0 else { return nil }
            faults[step]?.left -= 1
            return fault.error
        }
    }
}
