public import CofferBase
public import CofferCrypto
import CofferEngine
public import CofferVault
import FoundationEssentials

/// A vault's key pairs: private keys that sign and are not handed out.
///
/// A private key is sealed under its own key, and that key under its protection class's key. No call, command
/// or protocol returns it, except ``export(_:as:passphrase:confirm:)`` those that were stored as exportable.
/// While the vault is locked, key pairs can be listed, and their public keys read; signing requires that the
/// key pair's class is unlocked.
///
/// While a signature is made, the private key is in this process's memory, where a debugger of the same user
/// can find it.
public final class KeyPairStore: Sendable {
    let core: VaultCore
    var file: KeyPairFile { KeyPairFile(device: core.device) }

    init(core: VaultCore) { self.core = core }

    // MARK: Reading

    /// Returns the key pairs, sorted by the bytes of the alias. You can call this method while the vault is
    /// locked.
    ///
    /// - Parameter includesRotations: Whether to include the new and the former key pairs of rotations. Those
    ///   with one alias follow each other, the one with the highest generation first.
    /// - Returns: The key pairs.
    /// - Throws: `corrupt`, `unsupportedVersion`, `foreign` or `wiped`.
    public func list(includingRotations includesRotations: Bool = false) async throws(CofferError)
        -> [KeyPair]
    {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try contents().sortedPairs.filter { includesRotations || $0.role == .current }
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
            return try file.read(in: vault).sortedPairs.filter { $0.role == .current }.map(\.alias)
        } catch {
            guard KeyPairFile.isUnreadable(error) else { throw error }
            return nil
        }
    }

    func contents() throws(CofferError) -> KeyPairFile.Contents {
        let vault = try core.home.openVault()
        return try core.home.mappingMissingFiles { () throws(CofferError) in try file.read(in: vault) }
    }

    // MARK: Changing

    /// Gives a key pair another alias. The key pairs of its rotations get it, too.
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
                guard contents.record(alias) != nil else { return missing = true }
                guard contents.all(newAlias).isEmpty else { throw Self.isTaken }
                for old in contents.all(alias) {
                    contents.replace(try resealed(old, as: old.pair.with(alias: newAlias)))
                }
                try file.write(contents, in: vault)
            }
            if missing { throw Self.absent }
        }
    }

    /// Removes a key pair, with those of its rotations, and overwrites the file in which it was stored. You
    /// can call this method while the vault is locked.
    ///
    /// - Parameter alias: The alias.
    /// - Returns: The removed current key pair; `nil` if there was none with this alias.
    /// - Throws: `busy`, `noSpace`, `readOnly`, `corrupt` or `wiped`.
    @discardableResult
    public func remove(_ alias: String) async throws(CofferError) -> KeyPair? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) -> KeyPair? in
            try core.home.withExclusiveVault { (vault) throws(CofferError) -> KeyPair? in
                var contents = try file.read(in: vault)
                guard let old = contents.record(alias) else { return nil }
                contents.records.removeAll { $0.pair.alias.hasSameBytes(as: alias) }
                try file.write(contents, in: vault, overwriting: true)
                return old.pair
            }
        }
    }

    /// Returns a key pair's record with another description of the same class. The private key is sealed
    /// again, because the description is bound to it.
    func resealed(_ record: KeyPairRecord, as pair: KeyPair) throws(CofferError) -> KeyPairRecord {
        let key = try core.keyForStoring(pair.protection)
        return try record.changed(to: pair, from: key, to: key, vaultID: core.device.vaultID)
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
                to: old.pair.with(protection), from: core.keys.key(former),
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
            let found = try contents().records.first {
                $0.pair.publicKey == publicKey && $0.pair.role != .next
            }
            guard let record = found else { return nil }
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

    func open(_ record: KeyPairRecord) throws(CofferError) -> SigningPrivateKey {
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
