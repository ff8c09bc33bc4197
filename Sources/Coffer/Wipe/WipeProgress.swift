/// The progress of a wipe, as reported while it runs.
public struct WipeProgress: Sendable, Equatable {
    /// A step of a wipe. Steps run in the order of their declaration and may be repeated; a missing item
    /// counts as removed.
    public enum Step: String, Sendable, CaseIterable {
        /// Writes to the disk the mark that makes the wipe irrevocable.
        case tombstone
        /// Removes keys and tokens from this process's memory and from the kernel keyring.
        case memory
        /// Destroys the keys that open everything else; after this step, the rest is unreadable.
        case keys
        /// Removes view copies, files, tokens, databases and namespaces.
        case data
        /// Removes the vault's items from the desktop keyring, checks that no key is left, and writes the
        /// receipt.
        case proof
    }

    /// The current step.
    public let step: Step
    /// The number of items that this step has processed.
    public let completed: Int
    /// The number of items in this step.
    public let total: Int

    init(_ step: Step, _ completed: Int = 1, of total: Int = 1) {
        self.step = step
        self.completed = completed
        self.total = total
    }
}
