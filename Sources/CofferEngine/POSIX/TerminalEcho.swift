import CLinux
import Glibc

/// Switches off a terminal's echo until ``restore()`` is called. If a signal ends the process before that,
/// the signal handler restores the echo.
struct TerminalEcho {
    private typealias Silenced = (terminal: CInt, settings: UnsafeMutablePointer<termios>)

    /// The terminal that a signal handler has to restore; there is at most one.
    // nonisolated(unsafe): written before the handlers that read it are installed, by the only thread that
    // asks for a passcode; a handler cannot wait for a lock.
    //
    // The settings are on the heap: for a static tuple with a termios, Swift 6.3 reserves three bytes too
    // few, as the address sanitizer shows.
    nonisolated(unsafe) private static var silenced: Silenced?

    private let handlers: SignalHandlers

    /// Switches off the echo of `descriptor`; returns `nil` if it is not a terminal. Newlines remain visible.
    /// Also disables suspending, because a user who resumed the process would type with echo.
    static func off(_ descriptor: borrowing Descriptor) -> TerminalEcho? {
        var settings = termios()
        guard descriptor.isTerminal, unsafe tcgetattr(descriptor.raw, &settings) == 0 else { return nil }
        let saved = unsafe silenced?.settings ?? .allocate(capacity: 1)
        unsafe saved.initialize(to: settings)
        unsafe silenced = (descriptor.raw, saved)
        let handlers = unsafe SignalHandlers.install([SIGHUP, SIGINT, SIGQUIT, SIGTERM]) { number, _, _ in
            TerminalEcho.end(by: number)
        }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        silent.c_lflag |= tcflag_t(ECHONL)
        unsafe clinux_disable_suspend(&silent)
        unsafe tcsetattr(descriptor.raw, TCSAFLUSH, &silent)
        return TerminalEcho(handlers: handlers)
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
        guard let silenced = unsafe silenced else { return }
        unsafe tcsetattr(silenced.terminal, when, silenced.settings)
    }
}
