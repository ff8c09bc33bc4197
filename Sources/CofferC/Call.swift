import CCoffer
import CofferBase
import CofferEngine
import Synchronization

/// How a function of the C interface runs: it reports its error, and blocks while asynchronous work is done.
enum Call {
    /// Runs a function's body. Returns its result for C, and describes its failure in `error`.
    static func perform(
        _ error: UnsafeMutablePointer<coffer_error>?, _ body: () throws(CofferError) -> Void
    ) -> Int32 {
        guard !ForkMark.isForked else {
            let failure = CofferError(
                .unsupported,
                "This process was forked from one that had already used the library. Fork before the first "
                    + "call, or run another program in the child.")
            unsafe ErrorReport.write(failure, code: COFFER_FORKED, name: "forked", to: error)
            return COFFER_FORKED
        }
        do throws(CofferError) {
            try body()
            unsafe ErrorReport.clear(error)
            return COFFER_OK
        } catch let failure {
            let code = failure.code.exitCode
            unsafe ErrorReport.write(failure, code: code, name: failure.code.name, to: error)
            return code
        }
    }

    /// The deadline of calls without a handle, in milliseconds.
    static let defaultTimeout = Atomic<UInt32>(60_000)

    static var timeout: Duration { .milliseconds(defaultTimeout.load(ordering: .relaxed)) }

    /// Does asynchronous work and blocks the calling thread until it is done.
    ///
    /// - Parameters:
    ///   - timeout: The maximum time to wait.
    ///   - vault: The vault whose calls `coffer_cancel` stops.
    ///   - work: The work. After the deadline, it is cancelled and its result is discarded.
    /// - Returns: The result of `work`.
    /// - Throws: `timedOut` after the deadline; otherwise, the error of `work`.
    static func wait<Value: Sendable>(
        _ timeout: Duration = Call.timeout, in vault: OpenVault? = nil,
        for work: @escaping @Sendable () async throws(CofferError) -> Value
    ) throws(CofferError) -> Value {
        let outcome = AwaitedResult<Result<Value, CofferError>>()
        let task = Task.detached {
            do throws(CofferError) {
                outcome.set(.success(try await work()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        let number = vault?.begin { task.cancel() }
        defer { if let number { vault?.end(number) } }
        guard let result = outcome.wait(timeout) else {
            task.cancel()
            throw CofferError(
                .timedOut,
                "The call did not end before its deadline. Its work may still take effect: look before you "
                    + "repeat it.")
        }
        return try result.get()
    }
}
