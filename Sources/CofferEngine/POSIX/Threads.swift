package import CofferBase
import Glibc
import Synchronization

/// This library's own threads, for work that keeps every processor busy.
///
/// On Linux, `DispatchQueue.concurrentPerform` occupies the threads on which Swift's tasks run, so
/// long-running work on those threads would block all of the program's tasks.
package enum Threads {
    /// Calls `body` in parallel on `count` threads, which include the caller's, and waits for all calls to
    /// return. If fewer threads are available, makes fewer calls, but at least one.
    package static func run(_ count: Int, _ body: @Sendable () -> Void) {
        guard count > 1 else { return body() }
        withoutActuallyEscaping(body) { body in
            var started: [pthread_t] = []
            for _ in 1..<count {
                guard let thread = start(Job(body)) else { break }
                started.append(thread)
            }
            body()
            for thread in started { pthread_join(thread, nil) }
        }
    }

    /// Calls `body`, and meanwhile `other` on a thread of its own; if no thread is available, calls `other`
    /// afterwards. Returns once both have returned.
    ///
    /// - Returns: The results of `body` and of `other`.
    /// - Throws: The error of `body`, after `other` has returned, too.
    package static func run<Value, Other: Sendable>(
        _ body: () throws(CofferError) -> Value, beside other: @escaping @Sendable () -> Other
    ) throws(CofferError) -> (Value, Other) {
        let outcome = AwaitedResult<Other>()
        guard let thread = start(Job { outcome.set(other()) }) else { return (try body(), other()) }
        let value: Value
        do throws(CofferError) {
            value = try body()
        } catch {
            pthread_join(thread, nil)
            throw error
        }
        pthread_join(thread, nil)
        // The thread has ended, so the result is there.
        return (value, outcome.wait(.zero) ?? other())
    }

    private static let own = Atomic(false)

    /// Whether this program creates its own threads and uses none from libdispatch, which waits forever for a
    /// thread that it cannot create.
    package static var areOwn: Bool { own.load(ordering: .relaxed) }

    /// Makes the program create its own threads. Call this function first in `main`.
    package static func makeOwn() { own.store(true, ordering: .relaxed) }

    /// Calls `body` on a new thread without waiting for it to return. If no thread is available, does not
    /// call `body` and returns `false`.
    package static func begin(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = start(Job(body)) else { return false }
        pthread_detach(thread)
        return true
    }

    /// Calls `body` on a new thread and waits for it for at most `deadline`, because a system call for a
    /// mount that does not answer cannot be interrupted. After the deadline, the thread goes on by itself.
    ///
    /// - Parameters:
    ///   - deadline: The maximum time to wait.
    ///   - place: What the call waits for, for the error's message.
    ///   - body: The work. It must not change anything that the caller relies on after the deadline.
    /// - Returns: What `body` returns.
    /// - Throws: `timedOut` after the deadline; `outOfMemory` if no thread is available; otherwise, the error
    ///   that `body` throws.
    package static func call<Value: Sendable>(
        within deadline: Duration, waitingFor place: String,
        _ body: @escaping @Sendable () throws(CofferError) -> Value
    ) throws(CofferError) -> Value {
        let outcome = AwaitedResult<Result<Value, CofferError>>()
        let hasBegun = begin {
            do throws(CofferError) {
                outcome.set(.success(try body()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        guard hasBegun else {
            throw CofferError(.outOfMemory, "No thread is available to access \(place).")
        }
        guard let result = outcome.wait(deadline) else {
            throw CofferError(.timedOut, "\(place) did not answer within \(deadline.components.seconds) s.")
        }
        return try result.get()
    }

    /// Reports whether `count` threads can run at the same time.
    static func canStart(_ count: Int) -> Bool {
        let gate = Gate()
        var started: [pthread_t] = []
        gate.lock.withLock { _ in
            // Each thread ends once all of them have started.
            let job = Job { gate.lock.withLock { _ in } }
            while started.count < count, let thread = start(job) { started.append(thread) }
        }
        for thread in started { pthread_join(thread, nil) }
        return started.count == count
    }

    private final class Gate: Sendable {
        let lock = Mutex(())
    }

    private final class Job: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread that runs `job`, or returns `nil` if no thread is available. The thread releases the
    /// job before it ends, so the thread no longer holds the job once it has been joined.
    private static func start(_ job: Job) -> pthread_t? {
        var thread = pthread_t()
        let reference = unsafe Unmanaged.passRetained(job)
        let status = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Job>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, reference.toOpaque())
        guard status == 0 else {
            unsafe reference.release()
            return nil
        }
        return thread
    }
}
