public import CofferBase
public import CofferCrypto
import CofferEngine
public import CofferVault
import FoundationEssentials

/// A vault's key pairs: private keys that sign and are never handed out.
///
/// A private key is sealed under its own key, and that key under its protection class's key. No call, command
/// or protocol returns it, and no export contains it. While the vault is locked, key pairs can be listed, and
/// their public keys read; signing requires that the key pair's class is unlocked.
///
/// While a signature is made, the private key is in this process's memory, where a debugger of the same user
/// can find it.
public final class KeyPairStore: Sendable {
    let core: VaultCore
    var file: KeyPairFile { KeyPairFile(device: core.device) }

    init(core: VaultCore) { self.core = core }

    // MARK: Reading

    /// Returns all key pairs, sorted by the bytes of the alias. You can call this method while the vault is
    /// locked.
    ///
    /// - Throws: `corrupt`, `unsupportedVersion`, `foreign` or `wiped`.
    public func list() async throws(CofferError) -> [KeyPair] {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try contents().records.map(\.pair).sorted {
                $0.alias.utf8.lexicographicallyPrecedes($1.alias.utf8)
            }
        }
    }

    /// Returns the key pair with an alias; `nil` if there is none. You can call this method while the vault
    /// is locked.
    ///
    /// - Parameter alias: The alias, compared as bytes.
    /// - Returns: The key pair; `nil` if there is none.
    /// - Throws: `corrupt`, `unsupportedVersion`, `foreign` or `wiped`.
    public func keyPair(_ alias: String) async throws(CofferError) -> KeyPair? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in try contents().record(alias)?.pair }
    }

    /// Returns the aliases, sorted by their bytes; `nil` if the file cannot be read as this vault's.
    func aliases(in vault: borrowing Descriptor) throws(CofferError) -> [String]? {
        do throws(CofferError) {
            return try file.read(in: vault).records.map(\.pair.alias).sorted {
                $0.utf8.lexicographicallyPrecedes($1.utf8)
            }
        } catch {
            guard KeyPairFile.isUnreadable(error) else { throw error }
            return nil
        }
    }

    func contents() throws(CofferError) -> KeyPairFile.Contents {
        let vault = try core.home.openVault()
        return try core.home.mappingMissingFiles { () throws(CofferError) in try file.read(in: vault) }
    }

    // MARK: Creating

    /// Creates a key pair. Its private key never leaves the vault.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm; RSA keys can only be imported.
    ///   - alias: The key pair's name, 1 to 64 bytes without control characters.
    ///   - protection: The class that decides when the private key can be used.
    ///   - uses: What the key pair may be used for.
    ///   - confirmsEachUse: Whether a person must confirm each use.
    /// - Returns: The new key pair.
    /// - Throws: `alreadyExists` if the alias is taken; `invalidInput` for an invalid alias or no uses;
    ///   `unsupported` for RSA; `locked`, `refused`, `busy`, `noSpace`, `readOnly` or `wiped`.
    public func generate(
        _ algorithm: SigningAlgorithm, alias: String,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        uses: KeyPairUses = [.ssh, .sign], confirmsEachUse: Bool = false
    ) async throws(CofferError) -> KeyPair {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try Self.check(alias, uses)
            let key = try SigningPrivateKey.generate(algorithm)
            return try store(key, alias, protection, uses, confirmsEachUse)
        }
    }

    /// Stores a private key that another program had, reads it back, and verifies a signature with it.
    ///
    /// - Throws: `alreadyExists` if the alias is taken, or if the vault has this key under another alias;
    ///   `refused` if the administrator's policy allows no import; `policyInvalid`; the errors that
    ///   ``generate(_:alias:class:uses:confirmsEachUse:)`` throws.
    package func importing(
        _ key: HeldPrivateKey, alias: String, class protection: ProtectionClass,
        uses: KeyPairUses, confirmsEachUse: Bool
    ) async throws(CofferError) -> KeyPair {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.managed.policy().require(.allowImport, toAllow: "importing private keys")
            try Self.check(alias, uses)
            return try store(key.key, alias, protection, uses, confirmsEachUse)
        }
    }

    private func store(
        _ key: borrowing SigningPrivateKey, _ alias: String, _ protection: ProtectionClass,
        _ uses: KeyPairUses, _ confirms: Bool
    ) throws(CofferError) -> KeyPair {
        let publicKey = key.publicKey
        let pair = KeyPair(
            id: try .secureRandom(), alias: alias, publicKey: publicKey, protection: protection, uses: uses,
            confirmsEachUse: confirms,
            created: Date(timeIntervalSince1970: Double(core.clock.wallClock().components.seconds)),
            generation: 1)
        // A borrowed key cannot enter a closure, so the record is made first, under the class's current key.
        let classKey = try core.keyForStoring(protection)
        let record = try KeyPairRecord.seal(key, pair, under: classKey, vaultID: core.device.vaultID)
        return try core.home.withExclusiveVault { (vault) throws(CofferError) in
            // Another process may have replaced the class key since.
            guard try core.keyForStoring(protection).id == classKey.id else { throw CofferError.keysReplaced }
            var contents = try file.read(in: vault)
            guard contents.record(alias) == nil else { throw Self.isTaken }
            if let same = contents.records.first(where: { $0.pair.publicKey == publicKey }) {
                throw CofferError(
                    .alreadyExists,
                    "The vault has this key already, under the alias \(same.pair.alias).")
            }
            contents.records.append(record)
            try core.mark(.keyPairs, in: vault)
            try file.write(contents, in: vault)
            try verify(pair, in: vault)
            return pair
        }
    }

    /// Reads a key pair back and verifies a signature by it.
    private func verify(_ pair: KeyPair, in vault: borrowing Descriptor) throws(CofferError) {
        let message: [UInt8] = Array("coffer".utf8)
        let scheme = SigningScheme.standard(for: pair.algorithm)
        guard let record = try file.read(in: vault).records.first(where: { $0.pair == pair }) else {
            throw CofferError(.inputOutput, "The key pair could not be read back from the disk.")
        }
        let key = try record.open(under: core.keys.key(pair.protection), vaultID: core.device.vaultID)
        let signature = try key.sign(message.span, scheme: scheme)
        guard try pair.publicKey.isValid(signature: signature.span, for: message.span, scheme: scheme) else {
            throw CofferError(.corrupt, "The key pair that was read back signs wrongly.")
        }
    }

    private static var isTaken: CofferError {
        CofferError(
            .alreadyExists, "There is already a key pair with this alias. Choose another alias.")
    }

    private static func check(_ alias: String, _ uses: KeyPairUses) throws(CofferError) {
        try checkAlias(alias)
        guard !uses.isEmpty, uses.isSubset(of: .known) else {
            throw CofferError(.invalidInput, "A key pair needs at least one use that this release knows.")
        }
    }

    private static func checkAlias(_ alias: String) throws(CofferError) {
        // Not bytes: a terminal that prints the alias understands characters, too.
        let isPlain = !alias.unicodeScalars.contains {
            [.control, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
        }
        guard 1...KeyPairRecord.longestAlias ~= alias.utf8.count, isPlain else {
            throw CofferError(
                .invalidInput,
                "An alias must have 1 to \(KeyPairRecord.longestAlias) bytes and no control characters.")
        }
    }

    // MARK: Changing

    /// Gives a key pair another alias.
    ///
    /// - Parameters:
    ///   - alias: The present alias.
    ///   - newAlias: The new alias.
    /// - Throws: `absent` if there is no such key pair; `alreadyExists` if the new alias is taken;
    ///   `invalidInput`; `locked` unless the key pair's class is unlocked, because the alias is bound to the
    ///   private key.
    public func rename(_ alias: String, to newAlias: String) async throws(CofferError) {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try Self.checkAlias(newAlias)
            var missing = false
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                var contents = try file.read(in: vault)
                guard let old = contents.record(alias) else { return missing = true }
                guard contents.record(newAlias) == nil else { throw Self.isTaken }
                let key = try core.keyForStoring(old.pair.protection)
                let pair = old.pair.with(alias: newAlias, old.pair.protection)
                contents.replace(
                    try old.changed(to: pair, from: key, to: key, vaultID: core.device.vaultID))
                try file.write(contents, in: vault)
            }
            if missing { throw Self.absent }
        }
    }

    /// Removes a key pair and overwrites the file in which it was stored. You can call this method while the
    /// vault is locked.
    ///
    /// - Parameter alias: The alias.
    /// - Returns: The removed key pair; `nil` if there was none with this alias.
    /// - Throws: `busy`, `noSpace`, `readOnly`, `corrupt` or `wiped`.
    @discardableResult
    public func remove(_ alias: String) async throws(CofferError) -> KeyPair? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) -> KeyPair? in
            try core.home.withExclusiveVault { (vault) throws(CofferError) -> KeyPair? in
                var contents = try file.read(in: vault)
                guard let old = contents.record(alias) else { return nil }
                contents.records.removeAll { $0.pair.id == old.pair.id }
                try file.write(contents, in: vault, overwriting: true)
                return old.pair
            }
        }
    }

    /// Gives key pairs another protection class.
    ///
    /// - Parameters:
    ///   - aliases: The aliases; `nil` for all key pairs.
    ///   - protection: The new class.
    ///   - passcode: The vault's passcode, which a class that protects less requires, if one is set. It
    ///     counts as an attempt to unlock.
    /// - Returns: The numbers of key pairs that changed and that already had the class, and the key pairs
    ///   that kept another class.
    /// - Throws: `absent` if one of `aliases` does not exist, in which case nothing changes; `locked` unless
    ///   all classes concerned are unlocked, or if the passcode is required and was not passed; the errors
    ///   that ``Vault/unlock(with:)`` throws.
    public func reclassify(
        _ aliases: [String]? = nil, to protection: ProtectionClass, passcode: Passcode? = nil
    ) async throws(CofferError) -> Reclassification<String> {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            var isMissing = false
            let report = try core.verifyingIfWeaker(passcode) {
                (vault, isVerified) throws(CofferError) -> Reclassification<String>? in
                let contents = try file.read(in: vault)
                isMissing = aliases?.contains { contents.record($0) == nil } ?? false
                guard !isMissing else { return Reclassification() }
                let chosen = contents.records.filter { record in
                    aliases?.contains { record.pair.alias.hasSameBytes(as: $0) } ?? true
                }
                return try reclassify(chosen, to: protection, contents, isVerified: isVerified, in: vault)
            }
            if isMissing { throw Self.absent }
            return report
        }
    }

    private func reclassify(
        _ chosen: [KeyPairRecord], to protection: ProtectionClass, _ contents: KeyPairFile.Contents,
        isVerified: Bool, in vault: borrowing Descriptor
    ) throws(CofferError) -> Reclassification<String>? {
        var report = Reclassification<String>()
        var contents = contents
        for old in chosen {
            let former = old.pair.protection
            guard former != protection else {
                report.unchanged += 1
                continue
            }
            guard !former.requiresPasscode else {
                report.keep(old.pair.alias, .passcodeDependent)
                continue
            }
            guard isVerified || !protection.isWeaker(than: former) else { return nil }
            let new = try old.changed(
                to: old.pair.with(alias: old.pair.alias, protection), from: core.keys.key(former),
                to: core.keyForStoring(protection), vaultID: core.device.vaultID)
            contents.replace(new)
            report.changed += 1
        }
        if report.changed > 0 { try file.write(contents, in: vault, overwriting: true) }
        return report
    }

    // MARK: Signing

    /// Returns a signature of a message by a key pair whose uses include ``KeyPairUses/sign``.
    ///
    /// - Parameters:
    ///   - message: The message itself, not its digest.
    ///   - alias: The key pair's alias.
    ///   - scheme: The scheme; `nil` for the standard one of the key pair's algorithm.
    ///   - confirm: A closure that asks a person whether to sign, for a key pair that requires it.
    /// - Returns: The signature, in the form that `SigningScheme` describes.
    /// - Throws: `absent` if there is no such key pair; `refused` if its uses do not allow the signature, or
    ///   if it was not confirmed; `invalidInput` if the scheme is another algorithm's; `locked`, `corrupt` or
    ///   `wiped`.
    public func sign(
        _ message: [UInt8], with alias: String, scheme: SigningScheme? = nil,
        confirm: @escaping @Sendable (KeyPair) -> Bool = { _ in false }
    ) async throws(CofferError) -> [UInt8] {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            guard let record = try contents().record(alias) else { throw Self.absent }
            return try sign(message, with: record, for: .sign, scheme, confirm)
        }
    }

    /// Returns a signature by the key pair with a public key, for one of its uses; `nil` if the vault has no
    /// such key pair.
    package func sign(
        _ message: [UInt8], withKey publicKey: SigningPublicKey, for use: KeyPairUses, scheme: SigningScheme,
        confirm: @escaping @Sendable (KeyPair) -> Bool
    ) async throws(CofferError) -> [UInt8]? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) -> [UInt8]? in
            guard let record = try contents().records.first(where: { $0.pair.publicKey == publicKey }) else {
                return nil
            }
            return try sign(message, with: record, for: use, scheme, confirm)
        }
    }

    private func sign(
        _ message: [UInt8], with record: KeyPairRecord, for use: KeyPairUses, _ scheme: SigningScheme?,
        _ confirm: (KeyPair) -> Bool
    ) throws(CofferError) -> [UInt8] {
        let key = try privateKey(of: record, for: use, confirm)
        return try key.sign(message.span, scheme: scheme ?? .standard(for: record.pair.algorithm))
    }

    /// Returns the private key for one of the key pair's uses, confirmed by a person if it requires that.
    func privateKey(
        of record: KeyPairRecord, for use: KeyPairUses, _ confirm: (KeyPair) -> Bool
    ) throws(CofferError) -> SigningPrivateKey {
        let pair = record.pair
        guard pair.uses.isSuperset(of: use) else {
            throw CofferError(
                .refused, "The key pair \(pair.alias) may not be used for this kind of signature.")
        }
        // Before anybody is asked: a locked vault cannot sign.
        _ = try core.keys.key(pair.protection)
        guard !pair.confirmsEachUse || confirm(pair) else {
            throw CofferError(.refused, "The use of the key pair \(pair.alias) was not confirmed.")
        }
        return try open(record)
    }

    private func open(_ record: KeyPairRecord) throws(CofferError) -> SigningPrivateKey {
        let vaultID = core.device.vaultID
        do throws(CofferError) {
            return try record.open(under: core.keys.key(record.pair.protection), vaultID: vaultID)
        } catch {
            // Another process may have replaced the class keys since the record was read. The record that is
            // there now must have the same description.
            guard error.code == .corrupt else { throw error }
            _ = try core.refreshKeys()
            guard let now = try contents().records.first(where: { $0.pair == record.pair }) else {
                throw error
            }
            return try now.open(under: core.keys.key(now.pair.protection), vaultID: vaultID)
        }
    }

    static var absent: CofferError {
        CofferError(.absent, "There is no key pair with this alias.")
    }
}
