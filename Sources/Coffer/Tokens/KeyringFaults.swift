package import CofferBase
import Synchronization

/// What a test lets fail when a vault reads or changes its keyring. Nothing, unless a test says so.
package final class KeyringFaults: Sendable {
    /// A step on the way to or from a keyring.
    package enum Step: Sendable {
        case reading, changing
        /// The change was made, and whoever asked for it does not learn so.
        case changed
    }

    private typealias Chooser = @Sendable (Step) -> CofferError?

    private let hasChooser = Atomic(false)
    private let chooser = Mutex<Chooser?>(nil)

    init() {}

    /// From here on each step fails with what `choose` gives for it.
    package func set(_ choose: @escaping @Sendable (Step) -> CofferError?) {
        chooser.withLock { $0 = choose }
        hasChooser.store(true, ordering: .releasing)
    }

    /// Whether a test has said anything.
    var isSet: Bool { hasChooser.load(ordering: .acquiring) }

    func check(_ step: Step) throws(CofferError) {
        guard isSet, let choose = chooser.withLock({ $0 }) else { return }
        if let error = choose(step) { throw error }
    }
}
