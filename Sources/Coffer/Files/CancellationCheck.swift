import CofferBase
import CofferVault

extension FileStore {
    /// Returns a check that stops long work when its task is cancelled or a class key that it used is
    /// evicted. Call this method before you take a key, so that the check detects a lock between the two.
    ///
    /// - Parameters:
    ///   - cancellation: Reports whether the task was cancelled.
    ///   - mark: The key mark from the start of the work; `nil` if the work starts now.
    ///   - protection: The only class that the work uses; `nil` for every class used since its start.
    /// - Returns: A closure that throws once the work must stop.
    /// - Throws: Nothing. The returned closure throws `cancelled`, `locked` and `wiped`.
    func cancellationCheck(
        _ cancellation: BlockingExecutor.Cancellation, since mark: KeyMark? = nil,
        only protection: ProtectionClass? = nil
    ) throws(CofferError) -> @Sendable () throws(CofferError) -> Void {
        let keys = core.keys
        let mark = mark ?? keys.mark
        return { () throws(CofferError) in
            try cancellation.check()
            guard !keys.hasLost(since: mark, only: protection) else {
                throw keys.isWiped ? CofferError.wiped : CofferError.locked
            }
        }
    }
}
