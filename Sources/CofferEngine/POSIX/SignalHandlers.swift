import Glibc
import CLinux

/// Handlers that replace the actions of signals until ``restore()`` is called. Signals that this process
/// ignores remain ignored, unless the caller chooses otherwise.
struct SignalHandlers {
    typealias Handler =
        @convention(c) (
            _ number: Int32, _ info: UnsafeMutablePointer<siginfo_t>?, _ context: UnsafeMutableRawPointer?
        ) -> Void

    private var former: [(number: Int32, action: sigaction)] = []

    /// Installs `handler`, which may call only functions that are safe in a signal handler, for the given
    /// signals, or, unless `evenIfIgnored` is set, for those of them that this process does not ignore.
    static func install(
        _ numbers: [Int32], evenIfIgnored: Bool = false, _ handler: Handler
    ) -> SignalHandlers {
        var handlers = SignalHandlers()
        for number in numbers where evenIfIgnored || clinux_is_ignored(number) == 0 {
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

    /// Restores the signals' previous actions.
    func restore() {
        for entry in former {
            var action = entry.action
            unsafe sigaction(entry.number, &action, nil)
        }
    }
}
