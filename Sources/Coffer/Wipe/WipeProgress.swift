/// The progress of a wipe.
public struct WipeProgress: Sendable, Equatable {
    /// The steps of a wipe, in order. Each may be repeated; an item that is already gone is success.
    public enum Step: String, Sendable, CaseIterable {
        /// Writes the mark on the disk that makes the wipe irrevocable.
        case tombstone
        /// Removes keys and tokens from the memory of this process and from the kernel keyring.
        case memory
        /// Destroys the keys that open everything else; after this step the rest is unreadable.
        case keys
        /// Removes view copies, files, tokens, databases, namespaces and items of the desktop keyring.
        case data
        /// Checks that all of it is gone, and writes the receipt.
        case proof
    }

    /// The step.
    public let step: Step
    /// How many items of this step are done.
    public let completed: Int
    /// The number of items in this step.
    public let total: Int

    init(_ step: Step, _ completed: Int = 1, of total: Int = 1) {
        self.step = step
        self.completed = completed
        self.total = total
    }
}
