public import CofferBase
public import CofferCrypto
public import CofferVault
public import FoundationEssentials
import SystemPackage

/// Variants of the export and import functions for paths that are given as strings or as file URLs.
extension TokenStore {
    /// Exports tokens to a new file at a path that is given as a string.
    ///
    /// - Parameters:
    ///   - path: The destination. An existing file is not replaced.
    ///   - passphrase: The passphrase for the export, at least 12 bytes.
    ///   - only: The tokens to export; `nil` for every exportable token.
    ///   - cost: The cost of deriving a key from the passphrase.
    /// - Returns: The number of tokens that were written, the number that are not exportable, and the tokens
    ///   that are damaged.
    /// - Throws: `invalidInput` if the path contains a NUL byte; otherwise the same errors as for a
    ///   `FilePath`.
    @discardableResult
    public func export(
        to path: String, passphrase: Passcode, only: [TokenID]? = nil, cost: Argon2id.Cost = .standard
    ) async throws(CofferError) -> TokenExportReport {
        try await export(to: FilePath(text: path), passphrase: passphrase, only: only, cost: cost)
    }

    /// Exports tokens to a new file at a file URL.
    ///
    /// - Parameters:
    ///   - url: The destination. An existing file is not replaced.
    ///   - passphrase: The passphrase for the export, at least 12 bytes.
    ///   - only: The tokens to export; `nil` for every exportable token.
    ///   - cost: The cost of deriving a key from the passphrase.
    /// - Returns: The number of tokens that were written, the number that are not exportable, and the tokens
    ///   that are damaged.
    /// - Throws: `invalidInput` if the URL does not refer to a file on this machine; otherwise the same
    ///   errors as for a `FilePath`.
    @discardableResult
    public func export(
        to url: URL, passphrase: Passcode, only: [TokenID]? = nil, cost: Argon2id.Cost = .standard
    ) async throws(CofferError) -> TokenExportReport {
        try await export(to: FilePath(fileURL: url), passphrase: passphrase, only: only, cost: cost)
    }

    /// Imports the tokens from an export at a path that is given as a string.
    ///
    /// - Parameters:
    ///   - path: A file that `export` wrote.
    ///   - passphrase: The export's passphrase.
    ///   - replacing: Whether an exported token replaces a stored token with different contents.
    ///   - allowingExpensive: Whether the file may request an expensive key derivation.
    /// - Returns: The number of tokens that were added, the number that were replaced, the number that were
    ///   already present, and the names of those that were left unchanged.
    /// - Throws: `invalidInput` if the path contains a NUL byte; otherwise the same errors as for a
    ///   `FilePath`.
    @discardableResult
    public func importTokens(
        from path: String, passphrase: Passcode, replacing: Bool = false, allowingExpensive: Bool = false
    ) async throws(CofferError) -> TokenImportReport {
        try await importTokens(
            from: FilePath(text: path), passphrase: passphrase, replacing: replacing,
            allowingExpensive: allowingExpensive)
    }

    /// Imports the tokens from an export at a file URL.
    ///
    /// - Parameters:
    ///   - url: A file that `export` wrote.
    ///   - passphrase: The export's passphrase.
    ///   - replacing: Whether an exported token replaces a stored token with different contents.
    ///   - allowingExpensive: Whether the file may request an expensive key derivation.
    /// - Returns: The number of tokens that were added, the number that were replaced, the number that were
    ///   already present, and the names of those that were left unchanged.
    /// - Throws: `invalidInput` if the URL does not refer to a file on this machine; otherwise the same
    ///   errors as for a `FilePath`.
    @discardableResult
    public func importTokens(
        from url: URL, passphrase: Passcode, replacing: Bool = false, allowingExpensive: Bool = false
    ) async throws(CofferError) -> TokenImportReport {
        try await importTokens(
            from: FilePath(fileURL: url), passphrase: passphrase, replacing: replacing,
            allowingExpensive: allowingExpensive)
    }
}
