public import CofferBase
public import CofferCrypto
import CofferEngine
import CofferVault
public import SystemPackage

extension TokenStore {
    /// Writes the tokens in exportable classes, with their descriptions, to a new file that is sealed under a
    /// passphrase and that another vault can import.
    ///
    /// The file appears either completely or not at all, and only this user can read it. Anyone who obtains
    /// the file can try passphrases without limit, so choose a long, random passphrase. The file contains no
    /// ephemeral tokens, databases or files.
    ///
    /// - Parameters:
    ///   - path: The destination. An existing file is not replaced.
    ///   - passphrase: The passphrase for the export, at least 12 bytes.
    ///   - only: The tokens to export; `nil` for every exportable token.
    ///   - cost: The cost of deriving a key from the passphrase.
    /// - Returns: The number of tokens that were written, the number that are not exportable, and the tokens
    ///   that are damaged. Damaged tokens do not prevent the others from being written.
    /// - Throws: `refused` if the passphrase is too short, if a token in `only` is not exportable, if there
    ///   is no exportable token, or if the path is inside the vault directory; `absent` if a token in `only`
    ///   does not exist; `corrupt` if a token in `only` is damaged; `alreadyExists` if there is already a
    ///   file at the path; `locked`, `wiped` or `noSpace`.
    @discardableResult
    public func export(
        to path: FilePath, passphrase: Passcode, only: [TokenID]? = nil, cost: Argon2id.Cost = .standard
    ) async throws(CofferError) -> TokenExportReport {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try core.managed.policy().require(.allowExport, toAllow: "exporting tokens")
            guard passphrase.secret.count >= TokenExport.shortestPassphrase else {
                throw CofferError(
                    .refused,
                    "An export's passphrase must be at least "
                        + "\(TokenExport.shortestPassphrase) bytes long.")
            }
            try core.drainPendingTokens()
            var (names, staying, corrupt) = try exportable(only)
            return try AtomicFile.create(at: path, outside: core.home) { (file) throws(CofferError) in
                var writer = try TokenExport.Writer.begin(in: file, passphrase: passphrase, cost: cost)
                var exported = 0
                for (name, envelope) in names {
                    try cancellation.check()
                    let found = StoredEnvelope(bytes: envelope, isEphemeral: false)
                    guard
                        let (info, token) = try readable(
                            name, into: &corrupt, unless: only != nil,
                            { () throws(CofferError) in try open(found, name: name, withValue: true) })
                    else { continue }
                    // A database key is useless without its database; OAuth profiles belong to this vault.
                    guard let token, !ReservedServices.contains(info.id.service) else { continue }
                    try writer.add(info, token, to: file)
                    exported += 1
                }
                try writer.finish(in: file)
                return TokenExportReport(exported: exported, thisDeviceOnly: staying, corrupt: corrupt)
            }
        }
    }

    /// Returns the value that `body` returns. For a damaged token, adds the token to `corrupt` and returns
    /// `nil` or, if `isAsked` is set, throws the error instead.
    private func readable<Result>(
        _ name: [UInt8], into corrupt: inout [UnreadableToken], unless isAsked: Bool,
        _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result? {
        do throws(CofferError) {
            return try body()
        } catch {
            guard !isAsked, error.code == .corrupt || error.code == .unsupportedVersion else { throw error }
            let hex = HexText.encode(name)
            corrupt.append(UnreadableToken(name: hex, code: error.code))
            return nil
        }
    }

    private typealias Exportable = (
        moving: [(name: [UInt8], envelope: [UInt8])], staying: Int, corrupt: [UnreadableToken]
    )

    /// Returns the exportable envelopes, the number of envelopes that are not exportable, and the unreadable
    /// tokens.
    private func exportable(_ only: [TokenID]?) throws(CofferError) -> Exportable {
        let stored = try storage.readableEnvelopes()
        var wanted = stored.envelopes
        var corrupt = stored.damaged.map { UnreadableToken(name: $0, code: .corrupt) }
        if let only {
            var chosen: [[UInt8]: [UInt8]] = [:]
            for id in only {
                let name = try name(of: id)
                guard let envelope = wanted[name] else {
                    throw CofferError(.absent, "No matching token is stored for the service \(id.service).")
                }
                chosen[name] = envelope
            }
            wanted = chosen
            corrupt = []
        }
        var moving: [(name: [UInt8], envelope: [UInt8])] = []
        var staying = 0
        for (name, envelope) in wanted {
            let protection = try readable(name, into: &corrupt, unless: only != nil) {
                () throws(CofferError) in try TokenEnvelope.decode(envelope).protection
            }
            guard let protection else { continue }
            if protection.isExportable { moving.append((name, envelope)) } else { staying += 1 }
        }
        guard !moving.isEmpty, only == nil || staying == 0 else {
            throw CofferError(
                .refused,
                staying == 0
                    ? "The vault contains no tokens that can be exported."
                    : "Tokens in ThisDeviceOnly classes cannot be exported (\(staying) found).")
        }
        return (moving.sorted { $0.name.lexicographicallyPrecedes($1.name) }, staying, corrupt)
    }

    /// Imports the tokens from an export, with their classes, expiry dates, scopes and attributes.
    ///
    /// The whole file is verified before any token is stored. If the vault already has a token with the same
    /// name but different contents, that token is left unchanged and reported, unless `replacing` is set; a
    /// damaged token is always left unchanged. The embedded keyring stores all tokens in one step, whereas
    /// the Secret Service stores them one after the other. To complete an import that failed, repeat it.
    ///
    /// - Parameters:
    ///   - path: A file written by ``export(to:passphrase:only:cost:)-(FilePath,_,_,_)``.
    ///   - passphrase: The export's passphrase.
    ///   - replacing: Whether an exported token replaces a stored token with different contents.
    ///   - allowingExpensive: Whether the file may request a key derivation that uses more than 1 GiB of
    ///     memory, up to 4 GiB, or that processes more than 4 GiB over all passes. The request is read before
    ///     any of the file can be authenticated.
    /// - Returns: The number of tokens that were added, the number that were replaced, the number that were
    ///   already present, and the names of those that were left unchanged.
    /// - Throws: `refused` if the file requests a more expensive key derivation than is allowed;
    ///   `wrongPasscode` if the passphrase is wrong; `corrupt` if the file is damaged or incomplete;
    ///   `unsupportedVersion` if a newer release wrote the file; `busy` if another process holds the vault's
    ///   lock for too long; `locked`, `wiped` or `noSpace`. After an error, nothing has changed, except that
    ///   the Secret Service may have stored some of the tokens.
    @discardableResult
    public func importTokens(
        from path: FilePath, passphrase: Passcode, replacing: Bool = false, allowingExpensive: Bool = false
    ) async throws(CofferError) -> TokenImportReport {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try core.managed.policy().require(.allowImport, toAllow: "importing tokens")
            let file = try Descriptor.open(path, [.read, .nonBlocking])
            guard try file.status().kind == .regular else {
                throw CofferError(.invalidInput, "\(path) must be a regular file.")
            }
            let export = try TokenExport(
                file.readAll(limit: TokenExport.sizeLimit), passphrase: passphrase,
                allowingExpensive: allowingExpensive)
            try export.forEachToken { (_, _) throws(CofferError) in try cancellation.check() }
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try core.drainPendingTokens(in: vault)
                return try merge(export, replacing: replacing, in: vault)
            }
        }
    }

    /// Stores the tokens from `export`, under the vault directory's lock.
    private func merge(
        _ export: TokenExport, replacing: Bool, in vault: borrowing Descriptor
    ) throws(CofferError) -> TokenImportReport {
        var report = TokenImportReport()
        var changes: [[UInt8]: StorageChange] = [:]
        var corrupt: [UnreadableToken] = []
        let waiting = try core.pendingTokens.entries().contains { $0.state == .pending }
        // An older pending value would later replace the imported one.
        guard !waiting else { throw CofferError.locked }
        try export.forEachToken { (info, token) throws(CofferError) in
            let key = try core.keyForStoring(info.protection)
            let name = try name(of: info.id)
            var version: UInt64 = 0
            if let found = try findEnvelope(name) {
                guard
                    let (old, oldToken) = try readable(
                        name, into: &corrupt, unless: false,
                        { () throws(CofferError) in try open(found, name: name, withValue: true) })
                else { return report.conflicts.append(info.id) }
                if let oldToken, !old.isEphemeral, try core.describesTheSame(old, as: info),
                    oldToken.secret.isEqual(to: token.secret)
                {
                    return report.same += 1
                }
                guard replacing else { return report.conflicts.append(info.id) }
                version = old.number
                report.replaced += 1
            } else {
                report.imported += 1
            }
            let stored = TokenInfo(
                id: info.id, version: version + 1, protection: info.protection, stored: info.stored,
                expires: try core.expiry(info.expires), scopes: info.scopes, attributes: info.attributes)
            let envelope = try TokenEnvelope.seal(
                token, info: stored, name: name, under: key, vaultID: core.device.vaultID)
            changes[name] = .put(envelope.encoded)
        }
        guard !changes.isEmpty else { return report }
        try storage.apply(changes)
        try core.ephemeralTokens.apply(changes.mapValues { _ in .remove })
        return report
    }
}
