import Glibc
import CLinux
import Synchronization

/// The signals that ask this process to end, held while it has something to remove first: they go to the
/// child that it waits for, and the end of the child is its own.
///
/// A terminal's interrupt reaches the child by itself and is its own affair. A child that does not end within
/// two seconds of any other signal is killed.
package struct TerminationSignals: ~Copyable, Sendable {
    /// The child to hand signals to; 0 while there is none.
    private static let child = Atomic<Int32>(0)
    /// The first signal that came; 0 while none has.
    private static let first = Atomic<Int32>(0)
    /// Whether work under way is to be given up when one comes.
    private static let cancels = Atomic(false)
    private static let grace: UInt32 = 2

    private let handlers: SignalHandlers

    private init(handlers: SignalHandlers) { self.handlers = handlers }

    /// Holds the signals from here on. One holder at a time.
    ///
    /// - Parameter cancellingWork: Whether ``isWorkCancelled`` says so once a signal came.
    /// - Returns: The holder.
    package static func install(cancellingWork: Bool = false) -> TerminationSignals {
        cancels.store(cancellingWork, ordering: .sequentiallyConsistent)
        first.store(0, ordering: .sequentiallyConsistent)
        child.store(0, ordering: .sequentiallyConsistent)
        return unsafe TerminationSignals(
            handlers: SignalHandlers.install([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM]) { number, info, _ in
                TerminationSignals.handle(number, code: unsafe info?.pointee.si_code ?? 0)
            })
    }

    /// The first signal that came since they are held.
    package static var received: Int32? {
        let number = first.load(ordering: .sequentiallyConsistent)
        return number == 0 ? nil : number
    }

    /// Whether a signal came that long work is to be given up for.
    package static var isWorkCancelled: Bool {
        cancels.load(ordering: .relaxed) && first.load(ordering: .relaxed) != 0
    }

    /// Ends this process as the signal does that has no handler any more.
    package static func end(by number: Int32) {
        kill(getpid(), number)
    }

    /// Gives the signals their actions back.
    package consuming func release() {
        TerminationSignals.cancels.store(false, ordering: .sequentiallyConsistent)
        _ = alarm(0)
        handlers.restore()
    }

    /// Hands signals to `process` from here on, also one that came before.
    static func startForwarding(to process: pid_t) {
        child.store(process, ordering: .sequentiallyConsistent)
        if let number = received { forward(number, to: process) }
    }

    /// Hands no more signals on: the child has ended.
    static func stopForwarding() { child.store(0, ordering: .sequentiallyConsistent) }

    private static func handle(_ number: Int32, code: Int32) {
        let error = Errno.current
        defer { Glibc.errno = error }
        let process = child.load(ordering: .sequentiallyConsistent)
        guard number != SIGALRM else {
            if process > 0 { kill(process, SIGKILL) }
            return
        }
        _ = first.compareExchange(expected: 0, desired: number, ordering: .sequentiallyConsistent)
        let isFromTerminal = code == clinux_sent_by_kernel && (number == SIGINT || number == SIGQUIT)
        if process > 0, !isFromTerminal { forward(number, to: process) }
    }

    private static func forward(_ number: Int32, to process: pid_t) {
        kill(process, number)
        _ = alarm(grace)
    }
}
