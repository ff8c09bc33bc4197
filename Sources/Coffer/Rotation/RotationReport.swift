import CofferBase
import CofferVault

/// A report on a rotation of a vault's keys.
public struct RotationReport: Sendable, Equatable {
    /// The classes whose keys were replaced.
    public internal(set) var classes: [ProtectionClass] = []
    /// The number of tokens whose keys were rewrapped, including the keys of databases.
    public internal(set) var tokens = 0
    /// The number of pending tokens that were sealed to the new keys.
    public internal(set) var pendingTokens = 0
    /// The number of files whose keys were rewrapped.
    public internal(set) var files = 0
    /// The number of key pairs whose keys were rewrapped. The private keys themselves stay the same.
    public internal(set) var keyPairs = 0
    /// The databases, as `SCOPE/NAME`, that an older copy of the vault still opens, because only the wrapping
    /// of their keys changed. `Vault.rotateDatabaseKeys` in `CofferDatabase` replaces the keys themselves.
    public internal(set) var databases: [String] = []
    /// The number of tokens that could not be read.
    public internal(set) var unreadableTokens = 0
    /// The number of key pairs that could not be read; 1 if the file of all key pairs cannot be read.
    public internal(set) var unreadableKeyPairs = 0
    /// The files that could not be read.
    public internal(set) var unreadableFiles: [FileID] = []
    /// Whether the replaced keys were destroyed. They are kept while items that they may open cannot be read.
    public internal(set) var isComplete = false

    /// Creates an empty report.
    package init() {}
}
