import CofferBase
import CofferVault

extension FileStore {
    /// Returns a check that stops long-running work when its task is cancelled or a class key that the work
    /// used is evicted. Call this method before you fetch a key, so that the check detects a lock that occurs
    /// between the two steps.
    ///
    /// - Parameters:
    ///   - cancellation: The object that reports whether the task was cancelled.
    ///   - mark: The key mark that was read when the work started; `nil` if the work starts now.
    ///   - protection: The only class that the work uses; `nil` for every class that was used since the work
    ///     started.
    /// - Returns: A closure that throws once the work must stop.
    /// - Throws: No error. The returned closure throws `cancelled` if the task was cancelled, `locked` if a
    ///   key was evicted, or `wiped` if the vault was wiped.
    func cancellationCheck(
        _ cancellation: BlockingExecutor.Cancellation, since mark: KeyMark? = nil,
        only protection: ProtectionClass? = nil
    ) throws(CofferError) -> @Sendable () throws(CofferError) -> Void {
        let keys = core.keys
        let mark = mark ?? keys.mark
        return { () throws(CofferError) in
            try cancellation.check()
            guard !keys.hasLost(since: mark, only: protection) else {
                guard !keys.isWiped else { throw CofferError.wiped }
                throw keys.wasReplaced(protection) ? CofferError.keysReplaced : CofferError.locked
            }
        }
    }
}
