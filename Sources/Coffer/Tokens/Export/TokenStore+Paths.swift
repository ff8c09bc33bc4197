public import CofferBase
public import CofferCrypto
public import CofferVault
public import FoundationEssentials
import SystemPackage

/// Exports and imports with paths that are given as text or as file URLs.
extension TokenStore {
    /// Writes tokens to a new file at a path that is given as text.
    ///
    /// - Parameters:
    ///   - path: The destination; an existing file is not replaced.
    ///   - passphrase: The passphrase for the export, at least 12 bytes.
    ///   - only: The tokens to export; `nil` for every exportable token.
    ///   - cost: The cost of deriving a key from the passphrase.
    /// - Returns: How many tokens were written, how many are not exportable, and which are damaged.
    /// - Throws: `invalidInput` for a path with a NUL; otherwise the same errors as for a `FilePath`.
    @discardableResult
    public func export(
        to path: String, passphrase: Passcode, only: [TokenID]? = nil, cost: Argon2id.Cost = .standard
    ) async throws(CofferError) -> TokenExportReport {
        try await export(to: FilePath(text: path), passphrase: passphrase, only: only, cost: cost)
    }

    /// Writes tokens to a new file at a file URL.
    ///
    /// - Parameters:
    ///   - url: The destination; an existing file is not replaced.
    ///   - passphrase: The passphrase for the export, at least 12 bytes.
    ///   - only: The tokens to export; `nil` for every exportable token.
    ///   - cost: The cost of deriving a key from the passphrase.
    /// - Returns: How many tokens were written, how many are not exportable, and which are damaged.
    /// - Throws: `invalidInput` for a URL that is not a file URL of this machine; otherwise the same errors
    ///   as for a `FilePath`.
    @discardableResult
    public func export(
        to url: URL, passphrase: Passcode, only: [TokenID]? = nil, cost: Argon2id.Cost = .standard
    ) async throws(CofferError) -> TokenExportReport {
        try await export(to: FilePath(fileURL: url), passphrase: passphrase, only: only, cost: cost)
    }

    /// Imports the tokens from an export at a path that is given as text.
    ///
    /// - Parameters:
    ///   - path: A file that `export` wrote.
    ///   - passphrase: The export's passphrase.
    ///   - replacing: Whether an exported value replaces a different stored one.
    ///   - allowingExpensive: Whether the file may request an expensive key derivation.
    /// - Returns: How many tokens were added, replaced or already present, and which were left unchanged.
    /// - Throws: `invalidInput` for a path with a NUL; otherwise the same errors as for a `FilePath`.
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
    ///   - replacing: Whether an exported value replaces a different stored one.
    ///   - allowingExpensive: Whether the file may request an expensive key derivation.
    /// - Returns: How many tokens were added, replaced or already present, and which were left unchanged.
    /// - Throws: `invalidInput` for a URL that is not a file URL of this machine; otherwise the same errors
    ///   as for a `FilePath`.
    @discardableResult
    public func importTokens(
        from url: URL, passphrase: Passcode, replacing: Bool = false, allowingExpensive: Bool = false
    ) async throws(CofferError) -> TokenImportReport {
        try await importTokens(
            from: FilePath(fileURL: url), passphrase: passphrase, replacing: replacing,
            allowingExpensive: allowingExpensive)
    }
}
