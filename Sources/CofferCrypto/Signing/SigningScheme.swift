/// The scheme of one signature.
public enum SigningScheme: Sendable, Hashable, CaseIterable {
    /// Ed25519; the only scheme of such keys.
    case ed25519
    /// ECDSA with the hash function of the key's curve; the only scheme of such keys. The signature is the
    /// numbers r and s with a fixed size each.
    case ecdsa
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rsaSHA256
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    case rsaSHA512
    /// RSASSA-PSS with SHA-256 and a salt of 32 bytes.
    case rsaPSSSHA256

    /// Returns the scheme to use with a key if none is asked for.
    ///
    /// - Parameter algorithm: The key's algorithm.
    /// - Returns: The scheme.
    public static func standard(for algorithm: SigningAlgorithm) -> SigningScheme {
        switch algorithm {
        case .ed25519: .ed25519
        case .p256, .p384: .ecdsa
        case .rsa: .rsaPSSSHA256
        }
    }
}
