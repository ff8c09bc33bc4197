package import CofferBase
package import CofferEngine
import CofferVault
package import SystemPackage

/// The contents of a vault at one moment. Descriptions and contents are sealed, except for the classes.
package struct VaultSnapshot: Sendable {
    /// The moment, in nanoseconds since 1970 by the vault's clock.
    package let time: Int64
    package let tokens: TokenSnapshot
    package let files: [FileSnapshot]
    /// The file names of the databases, in their order.
    package let databases: [String]
    /// The aliases of the key pairs, whose private keys never leave the vault; `nil` if their file is
    /// damaged.
    package let keyPairs: [String]?
    /// The number of tokens that wait for an unlock or a decision.
    package let pending: Int
}

extension Vault {
    /// Returns what the vault contains at one moment, at which no other process changes it. Blocks.
    ///
    /// - Throws: `locked` while tokens are pending that an unlock would store; `corrupt` if the file index is
    ///   damaged; `busy`, `wiped`.
    package func snapshot() throws(CofferError) -> VaultSnapshot {
        let core = core
        return try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try core.drainPendingTokens(in: vault)
            let databases = try DatabaseKeyNaming.files(in: vault, device: core.device)
            return VaultSnapshot(
                time: core.clock.wallClock().nanoseconds, tokens: try tokens.snapshot(in: vault),
                files: try files.snapshot(in: vault),
                databases: databases.values.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) },
                keyPairs: try keyPairs.aliases(in: vault),
                pending: try core.pendingTokens.entries().count)
        }
    }

    /// Creates a file outside the vault's directory that appears complete or not at all.
    ///
    /// - Parameters:
    ///   - path: The file's path.
    ///   - replacing: Whether an existing regular file is replaced.
    ///   - fill: A function that writes the file.
    /// - Returns: What `fill` returns.
    /// - Throws: `alreadyExists`; `refused` if the path is in the vault's directory; the error of `fill` or
    ///   of the file system.
    package func createFile<Result>(
        at path: FilePath, replacing: Bool,
        _ fill: (borrowing Descriptor) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        try AtomicFile.create(at: path, replacing: replacing, outside: core.home, fill)
    }
}
