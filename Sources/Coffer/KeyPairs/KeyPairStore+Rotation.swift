public import CofferBase
public import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials

/// The rotation of key pairs: a new one takes over an alias, and the old one stays until it is retired.
extension KeyPairStore {
    /// Creates a new key pair beside the current one of an alias, with the next generation and the same
    /// class, uses, confirmation and exportability.
    ///
    /// If the current key pair has or awaits a certificate, it stays in use until the new one has one:
    /// ``csr(for:subject:names:purpose:confirm:)`` and
    /// ``selfSign(_:subject:names:purpose:days:replacing:confirm:)`` are then for the new one, and it becomes
    /// the current one when its certificate is installed. Until then, a certificate that was requested for
    /// the present one can be installed, too. Otherwise, the new key pair becomes the current one at once.
    /// The old key pair signs through an SSH agent until ``retire(_:)`` destroys it.
    ///
    /// - Parameters:
    ///   - alias: The alias.
    ///   - algorithm: The new key pair's algorithm; `nil` for that of the current one, which must not be RSA.
    /// - Returns: The new key pair.
    /// - Throws: `absent` if there is no such key pair; `alreadyExists` if a new key pair awaits its
    ///   certificate; `unsupported` for RSA; `conflict` if the key pair was changed meanwhile; `locked`,
    ///   `refused`, `busy`, `corrupt`, `noSpace`, `readOnly` or `wiped`.
    @discardableResult
    public func rotate(
        _ alias: String, algorithm: SigningAlgorithm? = nil
    ) async throws(CofferError) -> KeyPair {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            guard let known = try contents().record(alias)?.pair else { throw Self.absent }
            let key = HeldPrivateKey(try SigningPrivateKey.generate(algorithm ?? known.algorithm))
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                var contents = try file.read(in: vault)
                let all = contents.all(alias)
                // It may have got a certificate, another alias or another class since.
                guard let old = contents.record(alias), old.pair == known else { throw Self.wasChanged }
                guard !all.contains(where: { $0.pair.role == .next }) else { throw Self.isRotating }
                let pair = try Self.successor(of: old.pair, all, key.key.publicKey, Self.now(core))
                if pair.role == .current {
                    contents.replace(try resealed(old, as: old.pair.with(.former)))
                }
                let classKey = try core.keyForStoring(pair.protection)
                contents.records.append(
                    try KeyPairRecord.seal(key.key, pair, under: classKey, vaultID: core.device.vaultID))
                try file.write(contents, in: vault)
                try verify(pair, in: vault)
                return pair
            }
        }
    }

    /// Returns the description of the key pair that follows the current one.
    private static func successor(
        of old: KeyPair, _ all: [KeyPairRecord], _ publicKey: SigningPublicKey, _ now: Date
    ) throws(CofferError) -> KeyPair {
        let (generation, isTooLarge) = (all.map(\.pair.generation).max() ?? 0).addingReportingOverflow(1)
        guard !isTooLarge else {
            throw CofferError(.refused, "The key pair was rotated too often. Create another one.")
        }
        return KeyPair(
            id: try .secureRandom(), alias: old.alias, publicKey: publicKey, protection: old.protection,
            uses: old.uses, confirmsEachUse: old.confirmsEachUse, created: now, generation: generation,
            isExportable: old.isExportable,
            // The certificate that was requested for the old one could not be installed any more.
            role: old.chain == nil && !old.isAwaitingCertificate ? .current : .next)
    }

    /// Destroys the former key pairs of an alias, and overwrites the file in which they were stored. You can
    /// call this method while the vault is locked.
    ///
    /// - Parameter alias: The alias.
    /// - Returns: The destroyed key pairs, the newest first; empty if there were none.
    /// - Throws: `absent` if there is no such key pair; `busy`, `noSpace`, `readOnly`, `corrupt` or `wiped`.
    @discardableResult
    public func retire(_ alias: String) async throws(CofferError) -> [KeyPair] {
        try await destroy(.former, of: alias)
    }

    /// Destroys the new key pair of an alias that awaits its certificate, so that the current one stays. You
    /// can call this method while the vault is locked.
    ///
    /// - Parameter alias: The alias.
    /// - Returns: The destroyed key pair; `nil` if there was none.
    /// - Throws: `absent` if there is no such key pair; `busy`, `noSpace`, `readOnly`, `corrupt` or `wiped`.
    @discardableResult
    public func cancelRotation(of alias: String) async throws(CofferError) -> KeyPair? {
        try await destroy(.next, of: alias).first
    }

    private func destroy(_ role: KeyPairRole, of alias: String) async throws(CofferError) -> [KeyPair] {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let removed = try core.home.withExclusiveVault { (vault) throws(CofferError) -> [KeyPair]? in
                var contents = try file.read(in: vault)
                guard contents.record(alias) != nil else { return nil }
                let removed = contents.sortedPairs.filter {
                    $0.role == role && $0.alias.hasSameBytes(as: alias)
                }
                guard !removed.isEmpty else { return removed }
                let identifiers = Set(removed.map(\.id))
                contents.records.removeAll { identifiers.contains($0.pair.id) }
                try file.write(contents, in: vault, overwriting: true)
                return removed
            }
            guard let removed else { throw Self.absent }
            return removed
        }
    }

    private static var isRotating: CofferError {
        CofferError(
            .alreadyExists,
            "A new key pair of this alias awaits its certificate already. Install the certificate, or cancel "
                + "the rotation first.")
    }

    private static var wasChanged: CofferError {
        CofferError(.conflict, "The key pair was changed meanwhile. Try again.")
    }
}
