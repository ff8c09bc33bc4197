package import CofferBase
package import CofferCrypto

/// Signatures for programs that compute the digest of the message themselves.
extension KeyPairStore {
    /// Returns a signature, by the key pair with a public key, of the message with a digest; `nil` if the
    /// vault has no such key pair.
    ///
    /// - Parameters:
    ///   - digest: The digest of the message.
    ///   - publicKey: The public key.
    ///   - uses: The uses of which the key pair must have one: a digest does not show what is signed.
    ///   - scheme: The scheme.
    ///   - confirm: A closure that asks a person whether to sign, for a key pair that requires it.
    /// - Returns: The signature; `nil` without the key pair.
    /// - Throws: `refused` if the key pair has none of the uses, or if the signature was not confirmed;
    ///   `invalidInput` for a digest or a scheme that does not suit the key; `locked`, `corrupt` or `wiped`.
    package func sign(
        digest: [UInt8], withKey publicKey: SigningPublicKey, forOneOf uses: KeyPairUses,
        scheme: DigestScheme, confirm: @escaping @Sendable (KeyPair) -> Bool
    ) async throws(CofferError) -> [UInt8]? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) -> [UInt8]? in
            guard let key = try privateKey(with: publicKey, forOneOf: uses, confirm) else { return nil }
            return try key.sign(digest: digest.span, scheme: scheme)
        }
    }

    /// Returns a signature of a message, as ``sign(digest:withKey:forOneOf:scheme:confirm:)`` does.
    package func sign(
        _ message: [UInt8], withKey publicKey: SigningPublicKey, forOneOf uses: KeyPairUses,
        scheme: SigningScheme, confirm: @escaping @Sendable (KeyPair) -> Bool
    ) async throws(CofferError) -> [UInt8]? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) -> [UInt8]? in
            guard let key = try privateKey(with: publicKey, forOneOf: uses, confirm) else { return nil }
            return try key.sign(message.span, scheme: scheme)
        }
    }

    /// Returns the private key with a public key; `nil` without the key pair, and for a new one of a rotation
    /// that is not in use yet.
    private func privateKey(
        with publicKey: SigningPublicKey, forOneOf uses: KeyPairUses, _ confirm: (KeyPair) -> Bool
    ) throws(CofferError) -> SigningPrivateKey? {
        let found = try contents().records.first {
            $0.pair.publicKey == publicKey && $0.pair.role != .next
        }
        guard let record = found else { return nil }
        let present = record.pair.uses.intersection(uses)
        // All of them, which are then refused, if it has none.
        return try privateKey(of: record, for: present.isEmpty ? uses : present, confirm)
    }
}
