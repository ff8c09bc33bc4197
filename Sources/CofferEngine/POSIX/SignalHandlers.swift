import Glibc
import CLinux

/// Handlers in the place of signals' actions until they are given back. Signals that this process was told to
/// ignore stay ignored.
struct SignalHandlers {
    typealias Handler =
        @convention(c) (
            _ number: Int32, _ info: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeMutableRawPointer?
        ) -> Void

    private var former: [(number: Int32, action: sigaction)] = []

    /// Puts `handler`, which may call only what is safe in a signal handler, in the place of what was there.
    static func install(_ numbers: [Int32], _ handler: Handler) -> SignalHandlers {
        var handlers = SignalHandlers()
        for number in numbers where clinux_is_ignored(number) == 0 {
            var action = sigaction()
            unsafe action.__sigaction_handler.sa_sigaction = handler
            action.sa_flags = SA_SIGINFO | SA_RESTART
            var former = sigaction()
            if unsafe sigaction(number, &action, &former) == 0 {
                handlers.former.append((number, former))
            }
        }
        return handlers
    }

    /// Puts the former actions back.
    func restore() {
        for entry in former {
            var action = entry.action
            unsafe sigaction(entry.number, &action, nil)
        }
    }
}
