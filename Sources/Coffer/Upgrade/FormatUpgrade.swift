/// A part of a vault that is in the format of an earlier release, and that an upgrade brings to that of this
/// release.
public enum FormatUpgrade: String, Sendable, CaseIterable {
    /// The keybag gets the class keys, the public keys and the passcode's tag that it lacks. Without them,
    /// items cannot be stored in some classes, tokens cannot be stored while the vault is locked, an unlock
    /// cannot be kept for later processes, and there is no recovery key and no rotation.
    case keybag
    /// The keybag is marked as that of a vault with key pairs, so that a release that knows none refuses it
    /// instead of losing them.
    case keyPairs
    /// The list of files gets an index, or one whose length is authenticated, and the record of file keys
    /// says so. Without it, a container that was lost or put back is not always noticed.
    case fileIndex

    /// The change in a few words.
    public var summary: String {
        switch self {
        case .keybag: "the keybag gets the keys that it lacks"
        case .keyPairs: "the keybag says that there are key pairs"
        case .fileIndex: "the files get an index that shows what is missing"
        }
    }
}
