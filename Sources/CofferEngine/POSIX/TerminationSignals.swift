import Glibc
import CLinux
import Synchronization

/// The signals that ask this process to end, which are held while this process has something to remove before
/// it ends. Held signals are forwarded to the child that this process is waiting for, and this process ends
/// when the child has ended.
///
/// A terminal's interrupt reaches the child directly, and the child decides what to do. After any other
/// signal that asks the child to end, the child is killed if it does not end within two seconds or the chosen
/// time. Further signals do not extend the time.
package struct TerminationSignals: ~Copyable, Sendable {
    /// The id of the child to which signals are forwarded, or 0 while there is no child.
    private static let child = Atomic<Int32>(0)
    /// The first signal received, or 0 while there is none.
    private static let first = Atomic<Int32>(0)
    /// Whether a signal cancels work in progress.
    private static let cancels = Atomic(false)
    /// The number of seconds that a child has to end after it receives a signal that asks it to end.
    private static let grace = Atomic<UInt32>(standardGrace)
    private static let standardGrace: UInt32 = 2
    /// Whether the time that the child has to end has started.
    private static let isTimed = Atomic(false)
    /// The signals that are only passed on to the child, as a bit set.
    private static let passedOn = Atomic<UInt64>(0)

    private let handlers: SignalHandlers

    private init(handlers: SignalHandlers) { self.handlers = handlers }

    /// Holds the signals until ``release()`` is called. Only one holder may exist at a time.
    ///
    /// - Parameter cancellingWork: Whether ``isWorkCancelled`` becomes true after a signal.
    /// - Returns: An object that holds the signals.
    package static func install(cancellingWork: Bool = false) -> TerminationSignals {
        install(cancellingWork: cancellingWork, grace: standardGrace, passingOn: [])
    }

    /// Holds the signals for a program that runs in place of this process. While the program runs, some
    /// signals are only passed on to it: those that many programs use for purposes other than ending, such as
    /// rereading their settings.
    ///
    /// - Parameter grace: The number of seconds after which the program is killed if it does not end when
    ///   asked to.
    /// - Returns: An object that holds the signals.
    package static func installForProgram(grace: UInt32) -> TerminationSignals {
        install(cancellingWork: false, grace: grace, passingOn: [SIGHUP, SIGUSR1, SIGUSR2])
    }

    private static func install(
        cancellingWork: Bool, grace seconds: UInt32, passingOn others: [Int32]
    ) -> TerminationSignals {
        cancels.store(cancellingWork, ordering: .sequentiallyConsistent)
        grace.store(seconds, ordering: .sequentiallyConsistent)
        passedOn.store(others.reduce(0) { $0 | 1 << UInt64($1) }, ordering: .sequentiallyConsistent)
        first.store(0, ordering: .sequentiallyConsistent)
        child.store(0, ordering: .sequentiallyConsistent)
        return unsafe TerminationSignals(
            handlers: SignalHandlers.install(ending + others.filter { !ending.contains($0) }) {
                number, info, _ in
                TerminationSignals.handle(number, code: unsafe info?.pointee.si_code ?? 0)
            })
    }

    private static let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM]

    /// The first signal received while the signals are held, or `nil` if there was none.
    package static var received: Int32? {
        let number = first.load(ordering: .sequentiallyConsistent)
        return number == 0 ? nil : number
    }

    /// Whether a received signal cancels work in progress.
    package static var isWorkCancelled: Bool {
        cancels.load(ordering: .relaxed) && first.load(ordering: .relaxed) != 0
    }

    /// Ends this process by sending it the signal with the given number. Call ``release()`` first, so that no
    /// handler catches the signal.
    package static func end(by number: Int32) {
        kill(getpid(), number)
    }

    /// Restores the signals' previous actions.
    package consuming func release() {
        TerminationSignals.cancels.store(false, ordering: .sequentiallyConsistent)
        _ = alarm(0)
        handlers.restore()
    }

    /// Forwards signals to `process` from now on, including any signal that has already been received.
    static func startForwarding(to process: pid_t) {
        isTimed.store(false, ordering: .sequentiallyConsistent)
        child.store(process, ordering: .sequentiallyConsistent)
        if let number = received { forward(number, to: process) }
    }

    /// Stops forwarding signals because the child has ended.
    static func stopForwarding() { child.store(0, ordering: .sequentiallyConsistent) }

    private static func handle(_ number: Int32, code: Int32) {
        let error = Errno.current
        defer { Glibc.errno = error }
        let process = child.load(ordering: .sequentiallyConsistent)
        guard number != SIGALRM else {
            if process > 0 { kill(process, SIGKILL) }
            return
        }
        if process > 0, isPassedOn(number) {
            // A terminal that hangs up also sends the signal to the child.
            if code != clinux_sent_by_kernel { kill(process, number) }
            return
        }
        _ = first.compareExchange(expected: 0, desired: number, ordering: .sequentiallyConsistent)
        let isFromTerminal = code == clinux_sent_by_kernel && (number == SIGINT || number == SIGQUIT)
        if process > 0, !isFromTerminal { forward(number, to: process) }
    }

    private static func forward(_ number: Int32, to process: pid_t) {
        kill(process, number)
        guard !isPassedOn(number), !isTimed.exchange(true, ordering: .sequentiallyConsistent) else { return }
        _ = alarm(grace.load(ordering: .sequentiallyConsistent))
    }

    private static func isPassedOn(_ number: Int32) -> Bool {
        passedOn.load(ordering: .sequentiallyConsistent) & 1 << UInt64(number) != 0
    }
}
