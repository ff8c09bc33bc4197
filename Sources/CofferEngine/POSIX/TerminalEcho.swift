import Glibc
import CLinux

/// A terminal that does not show what is typed, until it is told to again: also when a signal ends the
/// process meanwhile.
struct TerminalEcho {
    /// The terminal that a signal handler has to restore; there is at most one.
    // nonisolated(unsafe): written before the handlers that read it are in place, by the one thread that asks
    // for a passcode; a handler can wait for no lock.
    nonisolated(unsafe) private static var silenced: (terminal: CInt, settings: termios) = (-1, termios())

    private let handlers: SignalHandlers

    /// Switches the echo of `descriptor` off; `nil` when it is no terminal. Newlines are shown. Suspending is
    /// off, too: whoever comes back would type with echo.
    static func off(_ descriptor: borrowing Descriptor) -> TerminalEcho? {
        var settings = termios()
        guard descriptor.isTerminal, unsafe tcgetattr(descriptor.raw, &settings) == 0 else { return nil }
        unsafe silenced = (descriptor.raw, settings)
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
        unsafe tcsetattr(silenced.terminal, TCSANOW, &silenced.settings)
        clinux_default_signal(number)
        kill(getpid(), number)
    }

    /// Makes the terminal what it was.
    func restore() {
        unsafe tcsetattr(Self.silenced.terminal, TCSAFLUSH, &Self.silenced.settings)
        handlers.restore()
    }
}
