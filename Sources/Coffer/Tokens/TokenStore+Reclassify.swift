public import CofferBase
import CofferCrypto
import CofferEngine
public import CofferVault

/// Methods that give stored tokens another protection class.
extension TokenStore {
    /// Gives tokens another protection class.
    ///
    /// The value, version, dates, scopes, attributes and marks stay the same. With ``KeyringBackend/file``,
    /// all tokens change in one step; with the Secret Service, each token changes in one step, and a call
    /// that was interrupted can be repeated. A copy of the vault that was made earlier still contains the
    /// tokens in their former classes.
    ///
    /// A class protects less than another if its items may leave the device, or can be read while the vault
    /// is locked, and those of the other may or can not. Such a change requires the passcode, if one is set.
    ///
    /// - Parameters:
    ///   - ids: The tokens' names; `nil` for all tokens.
    ///   - protection: The new class.
    ///   - passcode: The vault's passcode, if the change requires it. It counts as an attempt to unlock.
    /// - Returns: The numbers of tokens that changed and that already had the class, and the tokens that kept
    ///   another class.
    /// - Throws: `absent` if one of `ids` does not exist, in which case nothing changes; `locked` unless all
    ///   classes concerned are unlocked, or if the passcode is required and was not passed; `refused` if the
    ///   new class requires a passcode and none is set; `wrongPasscode` and `attemptDelayed`; `busy` if
    ///   another process holds the vault's lock for too long; `wiped`, `noSpace`, `readOnly` or `corrupt`.
    public func reclassify(
        _ ids: [TokenID]? = nil, to protection: ProtectionClass, passcode: Passcode? = nil
    ) async throws(CofferError) -> Reclassification<TokenID> {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let names = try ids?.map { (id) throws(CofferError) in (name: try name(of: id), id: id) }
            let outcome = try core.verifyingIfWeaker(passcode) {
                (vault, isVerified) throws(CofferError) -> TokenReclassification.Outcome? in
                try core.drainPendingTokens(in: vault)
                var change = TokenReclassification(core, to: protection, isVerified: isVerified)
                if let names {
                    for one in names {
                        guard let found = try findEnvelope(one.name) else { return .absent(one.id) }
                        try change.add(found, name: one.name)
                    }
                } else {
                    let databases = try DatabaseKeyNaming.names(in: vault, device: core.device)
                    try change.addAll(from: storage, except: databases)
                    for (name, bytes) in try core.ephemeralTokens.envelopes() {
                        try change.add(StoredEnvelope(bytes: bytes, isEphemeral: true), name: name)
                    }
                }
                return try change.finish(in: self)
            }
            return try outcome.report()
        }
    }

    /// Gives the keys of all databases another class, and returns their file names.
    package func reclassifyDatabaseKeys(
        to protection: ProtectionClass, passcode: Passcode?
    ) async throws(CofferError) -> Reclassification<String> {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            var files: [[UInt8]: String] = [:]
            let outcome = try core.verifyingIfWeaker(passcode) {
                (vault, isVerified) throws(CofferError) -> TokenReclassification.Outcome? in
                files = try DatabaseKeyNaming.files(in: vault, device: core.device)
                var change = TokenReclassification(core, to: protection, isVerified: isVerified)
                for name in files.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                    guard let bytes = try storage.envelope(name) else { continue }
                    try change.add(
                        StoredEnvelope(bytes: bytes, isEphemeral: false), name: name, isDatabase: true)
                }
                return try change.finish(in: self)
            }
            return try outcome.report().map { id in id.account }
        }
    }
}

/// A change of the classes of several tokens, under the vault directory's lock.
private struct TokenReclassification {
    /// The outcome. An error in the change itself would be mistaken for a missing file of the vault.
    enum Outcome {
        case done(Reclassification<TokenID>)
        case absent(TokenID)

        func report() throws(CofferError) -> Reclassification<TokenID> {
            switch self {
            case .done(let report): return report
            case .absent(let id):
                throw CofferError(
                    .absent, "There is no \(id.kind) token for this service and account. Nothing was changed."
                )
            }
        }
    }

    private let core: VaultCore
    private let protection: ProtectionClass
    private let isVerified: Bool
    private var changes: [[UInt8]: StorageChange] = [:]
    private var sealed: [(name: [UInt8], envelope: TokenEnvelope, isMarked: Bool)] = []
    private var report = Reclassification<TokenID>()
    /// Whether a change was left out because it requires the passcode.
    private var needsPasscode = false

    init(_ core: VaultCore, to protection: ProtectionClass, isVerified: Bool) {
        (self.core, self.protection, self.isVerified) = (core, protection, isVerified)
    }

    mutating func addAll(
        from storage: any ItemStorage, except databases: Set<[UInt8]>
    ) throws(CofferError) {
        for (name, bytes) in try storage.envelopes() where !databases.contains(name) {
            try add(TokenStore.StoredEnvelope(bytes: bytes, isEphemeral: false), name: name)
        }
    }

    /// Adds one token to the change, or to the report if it keeps its class.
    mutating func add(
        _ found: TokenStore.StoredEnvelope, name: [UInt8], isDatabase: Bool = false
    ) throws(CofferError) {
        guard changes[name] == nil else { return }
        let old = try TokenEnvelope.decode(found.bytes)
        let oldKey = try core.keys.key(old.protection)
        let vaultID = core.device.vaultID
        let info = try old.open(name: name, under: oldKey, vaultID: vaultID, withValue: false).info
        guard old.protection != protection else { return report.unchanged += 1 }
        if let reason = reason(info, found, isDatabase: isDatabase) { return report.keep(info.id, reason) }
        guard isVerified || !protection.isWeaker(than: old.protection) else { return needsPasscode = true }
        let new = try old.reclassified(
            to: protection, name: name, from: oldKey, to: core.keyForStoring(protection), vaultID: vaultID)
        changes[name] = .put(new.encoded)
        sealed.append((name, new, info.isStoredWhileLocked))
        report.changed += 1
    }

    private func reason(
        _ info: TokenInfo, _ found: TokenStore.StoredEnvelope, isDatabase: Bool
    ) -> KeptClassReason? {
        if found.isEphemeral { return .sessionOnly }
        if info.protection.requiresPasscode { return .passcodeDependent }
        return isDatabase || ReservedServices.isWritable(info.id) ? nil : .reserved
    }

    /// Stores the changed tokens; returns `nil`, without a change, if that requires the passcode.
    func finish(in store: TokenStore) throws(CofferError) -> Outcome? {
        guard !needsPasscode else { return nil }
        if !changes.isEmpty { try core.storage.apply(changes) }
        for one in sealed { store.noteTicket(of: one.envelope, one.name, isMarked: one.isMarked) }
        return .done(report)
    }
}

extension TokenEnvelope {
    /// Returns this token sealed in another class. The token key stays the same, so a program that has read
    /// the value can still prove that a value that it stores while the vault is locked continues this one.
    func reclassified(
        to protection: ProtectionClass, name: [UInt8], from oldKey: ClassKey, to newKey: ClassKey,
        vaultID: VaultID
    ) throws(CofferError) -> TokenEnvelope {
        let (info, token) = try open(name: name, under: oldKey, vaultID: vaultID, withValue: true)
        guard let token else { throw CofferError(.internalFailure, "A token was opened without its value.") }
        var changed = TokenInfo(
            id: info.id, version: info.version, protection: protection, stored: info.stored,
            expires: info.expires, scopes: info.scopes, attributes: info.attributes)
        changed.isStoredWhileLocked = info.isStoredWhileLocked
        let key = try tokenKey(name: name, under: oldKey, vaultID: vaultID)
        return try Self.seal(token, info: changed, name: name, key: key, under: newKey, vaultID: vaultID)
    }
}
