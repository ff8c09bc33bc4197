package import CofferBase
import Synchronization

/// A deadline for each system call of work on a file that may be on a mount that does not answer.
///
/// The work runs on a thread of its own, because a system call for such a mount cannot be interrupted. The
/// thread that waits for it gives up when one of the work's calls takes too long. The work as a whole may
/// take any time.
package final class CallWatch: Sendable {
    /// The time in which every call has to be answered, except a flush.
    package static let answerTime = Duration.seconds(30)
    /// The time in which a flush of a large file has to be answered.
    package static let flushTime = Duration.seconds(600)

    /// A call that has not returned yet: the time that it may take, and when that is over.
    package struct Call: Sendable {
        fileprivate let limit: Duration?
        fileprivate let end: SuspendingClock.Instant?

        fileprivate init(limit: Duration?) {
            self.limit = limit
            end = limit.map { SuspendingClock.now + $0 }
        }
    }

    private struct State {
        var call = Call(limit: nil)
        var isAbandoned = false
    }

    private let answerTime: Duration
    private let state = Mutex(State())

    private init(answerTime: Duration) { self.answerTime = answerTime }

    /// Runs `body` and waits for it, unless one of its calls is not answered in time.
    ///
    /// Then the thread of `body` goes on waiting by itself. When its call returns, `body` gets the error
    /// `cancelled`. Until then, the thread holds what `body` captured. If no thread is available, `body` runs
    /// on the caller's thread, and nothing ends a call that is not answered.
    ///
    /// - Parameters:
    ///   - place: What the calls are for, for the error's message.
    ///   - answerTime: The time in which a call has to be answered.
    ///   - body: The work.
    /// - Returns: What `body` returns.
    /// - Throws: `timedOut` if a call is not answered in time; otherwise, the error that `body` throws.
    package static func run<Value: Sendable>(
        waitingFor place: String, answerTime: Duration = CallWatch.answerTime,
        _ body: @escaping @Sendable (CallWatch) throws(CofferError) -> Value
    ) throws(CofferError) -> Value {
        let watch = CallWatch(answerTime: answerTime)
        let outcome = AwaitedResult<Result<Value, CofferError>>()
        let hasBegun = Threads.begin {
            do throws(CofferError) {
                outcome.set(.success(try body(watch)))
            } catch {
                outcome.set(.failure(error))
            }
        }
        guard hasBegun else { return try body(watch) }
        while true {
            if let result = outcome.wait(watch.timeToWait) { return try result.get() }
            guard let limit = watch.abandonIfOverdue() else { continue }
            throw CofferError(.timedOut, "\(place) did not answer within \(limit.components.seconds) s.")
        }
    }

    /// Begins a call that has to be answered in time.
    ///
    /// - Parameter limit: The time; `nil` for the usual one.
    /// - Returns: The call around this one, for ``end(_:)``.
    /// - Throws: `cancelled` if nobody waits for the work any more.
    package func begin(within limit: Duration? = nil) throws(CofferError) -> Call {
        try replace(Call(limit: limit ?? answerTime))
    }

    /// Ends a call. The time of the call around it starts again.
    package func end(_ outer: Call) {
        state.withLock { $0.call = Call(limit: outer.limit) }
    }

    /// Runs `body`, whose calls have to be answered in time, together.
    package func call<Value: ~Copyable>(
        within limit: Duration? = nil, _ body: () throws(CofferError) -> Value
    ) throws(CofferError) -> Value {
        let outer = try begin(within: limit)
        defer { end(outer) }
        let value = try body()
        try throwIfAbandoned()
        return value
    }

    /// Begins work inside a call that may take any time. Returns the call, for ``end(_:)``.
    package func beginPause() throws(CofferError) -> Call { try replace(Call(limit: nil)) }

    private func replace(_ call: Call) throws(CofferError) -> Call {
        try throwIfAbandoned()
        return state.withLock { state in
            defer { state.call = call }
            return state.call
        }
    }

    private func throwIfAbandoned() throws(CofferError) {
        guard state.withLock({ $0.isAbandoned }) else { return }
        throw CofferError(.cancelled, "The operation had ended before the system answered.")
    }

    /// The time after which a call can be overdue.
    private var timeToWait: Duration {
        let end = state.withLock { $0.call.end }
        return max(.milliseconds(1), end.map { $0 - .now } ?? answerTime)
    }

    /// Gives the work up if its present call is overdue. Returns the time that the call had; `nil` if it is
    /// not overdue.
    private func abandonIfOverdue() -> Duration? {
        state.withLock { state in
            guard let end = state.call.end, end <= .now else { return nil }
            state.isAbandoned = true
            return state.call.limit
        }
    }
}
