package import CofferBase
import Synchronization

/// Faults that a test injects when a vault reads or changes its token storage. There are none by default.
package final class KeyringFaults: Sendable {
    /// A point in a storage operation at which a test can inject a fault.
    package enum Step: Sendable {
        case reading, changing
        /// The change was made, but its caller is not told.
        case changed
    }

    private typealias Chooser = @Sendable (Step) -> CofferError?

    private let hasChooser = Atomic(false)
    private let chooser = Mutex<Chooser?>(nil)

    package init() {}

    /// Makes each later step throw the error that `choose` returns for it, if any.
    package func set(_ choose: @escaping @Sendable (Step) -> CofferError?) {
        chooser.withLock { $0 = choose }
        hasChooser.store(true, ordering: .releasing)
    }

    /// Whether a test has set a chooser.
    package var isSet: Bool { hasChooser.load(ordering: .acquiring) }

    package func check(_ step: Step) throws(CofferError) {
        guard isSet, let choose = chooser.withLock({ $0 }) else { return }
        if let error = choose(step) { throw error }
    }
}
