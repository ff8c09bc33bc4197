public import CofferBase
public import CofferCrypto
import CofferEngine
public import CofferVault

extension KeyPairStore {
    /// Returns the private key and the certificates of an exportable key pair as a file that other programs
    /// read, encrypted with AES-256 under a passphrase, whose key is derived with 600 000 rounds.
    ///
    /// Anyone who obtains the file can try passphrases without limit, so choose a long, random passphrase.
    ///
    /// - Parameters:
    ///   - alias: The key pair's alias.
    ///   - form: The form of the file. PKCS #8 in DER has no room for certificates.
    ///   - passphrase: The file's passphrase, at least 12 bytes of UTF-8.
    ///   - confirm: A closure that asks a person whether to export the key, for a key pair that requires it.
    /// - Returns: The contents of the file.
    /// - Throws: `absent` if there is no such key pair; `refused` if it is not exportable, is in a
    ///   ThisDeviceOnly class, was not confirmed, or if the passphrase is too short or the administrator's
    ///   policy allows no export; `invalidInput` if the passphrase is not UTF-8; `locked`, `corrupt`,
    ///   `policyInvalid` or `wiped`.
    public func export(
        _ alias: String, as form: KeyBundle.Form, passphrase: Passcode,
        confirm: @escaping @Sendable (KeyPair) -> Bool = { _ in false }
    ) async throws(CofferError) -> [UInt8] {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try core.managed.policy().require(.allowExport, toAllow: "exporting private keys")
            guard let record = try contents().record(alias) else { throw Self.absent }
            let pair = record.pair
            try Self.requireExportable(pair)
            _ = try core.keys.key(pair.protection)
            guard !pair.confirmsEachUse || confirm(pair) else {
                throw CofferError(.refused, "The export of the key pair \(pair.alias) was not confirmed.")
            }
            // The private key opens only with the description that it was stored with.
            let key = try open(record)
            return try KeyBundle.file(
                of: key, pair.chain, name: pair.alias, as: form, passphrase: passphrase.secret)
        }
    }

    private static func requireExportable(_ pair: KeyPair) throws(CofferError) {
        guard pair.isExportable else {
            throw CofferError(
                .refused,
                "The key pair \(pair.alias) is not exportable: this was decided when it was stored, and "
                    + "cannot be changed.")
        }
        guard pair.protection.isExportable else {
            throw CofferError(
                .refused, "The key pair \(pair.alias) is in a class whose items stay on this device.")
        }
    }
}
