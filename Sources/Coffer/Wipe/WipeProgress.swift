/// How far a wipe is.
public struct WipeProgress: Sendable, Equatable {
    /// The steps of a wipe, in their order. Each may be repeated: already gone is success.
    public enum Step: String, Sendable, CaseIterable {
        /// The mark on the disk after which there is no way back.
        case tombstone
        /// Keys and tokens in the memory of this process and in the kernel keyring.
        case memory
        /// What opens everything else: after this step the rest is noise.
        case keys
        /// View copies, files, tokens, databases, namespaces, items of the desktop's keyring.
        case data
        /// A look that they are gone, and the receipt.
        case proof
    }

    /// The step.
    public let step: Step
    /// How much of it is done.
    public let completed: Int
    /// How much there is to do in it.
    public let total: Int

    init(_ step: Step, _ completed: Int = 1, of total: Int = 1) {
        self.step = step
        self.completed = completed
        self.total = total
    }
}
