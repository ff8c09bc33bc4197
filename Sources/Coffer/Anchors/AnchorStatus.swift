public import CofferBase

/// A place outside of the vault directory that shows whether the directory is an older copy.
public struct AnchorStatus: Sendable {
    /// The kinds of anchors, the strongest one first.
    public enum Kind: String, Sendable, CaseIterable {
        /// A file in another place. It notices an older copy until somebody restores both.
        case file
        /// The attempt counter's generation in the Secret Service, for a vault whose device key is there. It
        /// notices an older copy when a passcode is tried, until somebody restores both.
        case secretService
        /// The kernel's user keyring. It notices an older copy until the next reboot.
        case kernelKeyring
        /// A receipt that is kept elsewhere. It notices an older copy when somebody checks it.
        case receipt
    }

    /// The kind of anchor.
    public let kind: Kind
    /// The path of the anchor's file; `nil` for the other kinds.
    public let path: String?
    /// The reason why the vault counts as an older copy (`rolledBack`), or why the anchor cannot be read
    /// (`anchorLost`); `nil` if there is no such reason.
    public let problem: CofferError?

    init(_ kind: Kind, path: String? = nil, problem: CofferError? = nil) {
        (self.kind, self.path, self.problem) = (kind, path, problem)
    }
}
