import CLinux
import Glibc
import Synchronization

/// A period during which a terminal's echo is off, until ``restore()`` is called. If a signal ends the
/// process before that call, the signal handler restores the echo. If the process is stopped and continued,
/// the handler switches the echo off again.
struct TerminalEcho {
    private typealias Silenced = (terminal: CInt, settings: UnsafeMutablePointer<termios>)

    /// The terminal that a signal handler must restore. There is at most one such terminal.
    // nonisolated(unsafe): written before the handlers that read it are installed, by the only thread that
    // asks for a passcode; a handler cannot wait for a lock.
    //
    // The settings are on the heap: for a static tuple with a termios, Swift 6.3 reserves three bytes too
    // few, as the address sanitizer shows.
    nonisolated(unsafe) private static var silenced: Silenced?

    /// Whether the echo is supposed to be off.
    private static let isOff = Atomic(false)

    private let handlers: SignalHandlers

    /// Switches off the echo of the terminal `descriptor`, or returns `nil` if the descriptor is not a
    /// terminal. Newlines remain visible. Also disables suspending, because the echo would be on if a user
    /// resumed the process.
    static func off(_ descriptor: borrowing Descriptor) -> TerminalEcho? {
        var settings = termios()
        guard descriptor.isTerminal, unsafe tcgetattr(descriptor.raw, &settings) == 0 else { return nil }
        let saved = unsafe silenced?.settings ?? .allocate(capacity: 1)
        unsafe saved.initialize(to: settings)
        unsafe silenced = (descriptor.raw, saved)
        isOff.store(true, ordering: .sequentiallyConsistent)
        let numbers = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCONT]
        let handlers = unsafe SignalHandlers.install(numbers) { number, _, _ in
            if number == SIGCONT { TerminalEcho.resume() } else { TerminalEcho.end(by: number) }
        }
        silence(TCSAFLUSH)
        return TerminalEcho(handlers: handlers)
    }

    private static func silence(_ when: CInt) {
        guard let silenced = unsafe silenced else { return }
        var silent = unsafe silenced.settings.pointee
        silent.c_lflag &= ~tcflag_t(ECHO)
        silent.c_lflag |= tcflag_t(ECHONL)
        unsafe clinux_disable_suspend(&silent)
        unsafe tcsetattr(silenced.terminal, when, &silent)
    }

    /// Switches the echo off again after the process was stopped, because the shell used the terminal in the
    /// meantime.
    private static func resume() {
        let error = Errno.current
        defer { Glibc.errno = error }
        if isOff.load(ordering: .sequentiallyConsistent) { silence(TCSANOW) }
    }

    private static func end(by number: Int32) {
        restoreSettings(TCSANOW)
        clinux_default_signal(number)
        kill(getpid(), number)
    }

    /// Restores the terminal's settings.
    func restore() {
        Self.restoreSettings(TCSAFLUSH)
        handlers.restore()
    }

    private static func restoreSettings(_ when: CInt) {
        isOff.store(false, ordering: .sequentiallyConsistent)
        guard let silenced = unsafe silenced else { return }
        unsafe tcsetattr(silenced.terminal, when, silenced.settings)
    }
}
