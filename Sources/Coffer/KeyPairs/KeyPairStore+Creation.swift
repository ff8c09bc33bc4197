public import CofferBase
public import CofferCrypto
import CofferEngine
public import CofferVault
import FoundationEssentials

/// The creation of key pairs.
extension KeyPairStore {
    /// Creates a key pair. Its private key never leaves the vault, unless it is exportable.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm; RSA keys can only be imported.
    ///   - alias: The key pair's name, 1 to 64 bytes without control characters.
    ///   - protection: The class that decides when the private key can be used.
    ///   - uses: What the key pair may be used for.
    ///   - confirmsEachUse: Whether a person must confirm each use.
    ///   - isExportable: Whether ``export(_:as:passphrase:confirm:)`` may return the private key. This cannot
    ///     be changed later, and requires a class whose items may leave the device.
    /// - Returns: The new key pair.
    /// - Throws: `alreadyExists` if the alias is taken; `invalidInput` for an invalid alias, no uses, or an
    ///   exportable key pair in a ThisDeviceOnly class; `unsupported` for RSA; `locked`, `refused`, `busy`,
    ///   `noSpace`, `readOnly` or `wiped`.
    public func generate(
        _ algorithm: SigningAlgorithm, alias: String,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        uses: KeyPairUses = [.ssh, .sign], confirmsEachUse: Bool = false, isExportable: Bool = false
    ) async throws(CofferError) -> KeyPair {
        let options = Options(alias, protection, uses, confirmsEachUse, isExportable)
        return try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try options.check()
            let key = HeldPrivateKey(try SigningPrivateKey.generate(algorithm))
            return try store(key, try options.pair(key.key.publicKey, core))
        }
    }

    /// Stores a private key that another program had, reads it back, and verifies a signature with it.
    ///
    /// - Throws: `alreadyExists` if the alias is taken, or if the vault has this key already; `refused` if
    ///   the administrator's policy allows no import; `policyInvalid`; the errors that
    ///   ``generate(_:alias:class:uses:confirmsEachUse:isExportable:)`` throws.
    package func importing(
        _ key: HeldPrivateKey, alias: String, class protection: ProtectionClass,
        uses: KeyPairUses, confirmsEachUse: Bool, isExportable: Bool = false
    ) async throws(CofferError) -> KeyPair {
        let options = Options(alias, protection, uses, confirmsEachUse, isExportable)
        return try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.managed.policy().require(.allowImport, toAllow: "importing private keys")
            try options.check()
            return try store(key, try options.pair(key.key.publicKey, core))
        }
    }

    /// Stores the private key of a file with its certificates, in one change, reads it back, and verifies a
    /// signature with it.
    ///
    /// - Parameters:
    ///   - bundle: The key and its certificates, as `KeyBundle.reading(_:as:passphrase:)` reads them.
    ///   - alias: The key pair's name, 1 to 64 bytes without control characters.
    ///   - protection: The class that decides when the private key can be used.
    ///   - uses: What the key pair may be used for; `nil` for a client's authentication in TLS and
    ///     signatures with a certificate, and for SSH and signatures without one.
    ///   - confirmsEachUse: Whether a person must confirm each use.
    ///   - isExportable: Whether ``export(_:as:passphrase:confirm:)`` may return the private key again.
    ///   - allowsExpired: Whether certificates may have expired.
    /// - Returns: The new key pair.
    /// - Throws: `alreadyExists` if the alias is taken, or if the vault has this key already; `refused` if
    ///   the administrator's policy allows no import; the errors that
    ///   `CertificateChain.check(for:at:allowsExpired:)` and
    ///   ``generate(_:alias:class:uses:confirmsEachUse:isExportable:)`` throw. Then nothing is stored.
    public func importing(
        _ bundle: KeyBundle, alias: String, class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        uses: KeyPairUses? = nil, confirmsEachUse: Bool = false, isExportable: Bool = false,
        allowsExpired: Bool = false
    ) async throws(CofferError) -> KeyPair {
        let uses = uses ?? (bundle.chain == nil ? [.ssh, .sign] : [.tlsClient, .sign])
        let options = Options(alias, protection, uses, confirmsEachUse, isExportable)
        return try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.managed.policy().require(.allowImport, toAllow: "importing private keys")
            try options.check()
            let now = core.clock.wallClock().components.seconds
            try bundle.chain?.check(for: bundle.publicKey, at: now, allowsExpired: allowsExpired)
            var pair = try options.pair(bundle.publicKey, core)
            pair.chain = bundle.chain
            return try store(bundle.held, pair)
        }
    }

    /// The properties of a new key pair that its owner chooses.
    private struct Options: Sendable {
        let alias: String
        let protection: ProtectionClass
        let uses: KeyPairUses
        let confirms: Bool
        let isExportable: Bool

        init(
            _ alias: String, _ protection: ProtectionClass, _ uses: KeyPairUses, _ confirms: Bool,
            _ isExportable: Bool
        ) {
            (self.alias, self.protection, self.uses) = (alias, protection, uses)
            (self.confirms, self.isExportable) = (confirms, isExportable)
        }

        func check() throws(CofferError) {
            try KeyPairStore.checkAlias(alias)
            guard !uses.isEmpty, uses.isSubset(of: .known) else {
                throw CofferError(
                    .invalidInput, "A key pair needs at least one use that this release knows.")
            }
            guard !isExportable || protection.isExportable else {
                throw CofferError(
                    .invalidInput,
                    "An exportable key pair must be in a class whose items may leave this device, such as "
                        + "whenUnlocked.")
            }
        }

        func pair(_ publicKey: SigningPublicKey, _ core: VaultCore) throws(CofferError) -> KeyPair {
            KeyPair(
                id: try .secureRandom(), alias: alias, publicKey: publicKey, protection: protection,
                uses: uses, confirmsEachUse: confirms, created: KeyPairStore.now(core), generation: 1,
                isExportable: isExportable)
        }
    }

    /// The time to the second, as records have it.
    static func now(_ core: VaultCore) -> Date {
        Date(timeIntervalSince1970: Double(core.clock.wallClock().components.seconds))
    }

    private func store(_ owner: HeldPrivateKey, _ pair: KeyPair) throws(CofferError) -> KeyPair {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            let classKey = try core.keyForStoring(pair.protection)
            var contents = try file.read(in: vault)
            guard contents.all(pair.alias).isEmpty else { throw Self.isTaken }
            if let same = contents.records.first(where: { $0.pair.publicKey == pair.publicKey }) {
                throw CofferError(
                    .alreadyExists,
                    "The vault has this key already, under the alias \(same.pair.alias).")
            }
            contents.records.append(
                try KeyPairRecord.seal(owner.key, pair, under: classKey, vaultID: core.device.vaultID))
            try core.mark(.keyPairs, in: vault)
            try file.write(contents, in: vault)
            try verify(pair, in: vault)
            return pair
        }
    }

    /// Reads a key pair back and verifies a signature by it.
    func verify(_ pair: KeyPair, in vault: borrowing Descriptor) throws(CofferError) {
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

    static var isTaken: CofferError {
        CofferError(
            .alreadyExists, "There is already a key pair with this alias. Choose another alias.")
    }

    static func checkAlias(_ alias: String) throws(CofferError) {
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
}
