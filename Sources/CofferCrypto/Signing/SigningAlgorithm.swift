/// The algorithm of a key pair.
public enum SigningAlgorithm: UInt8, Sendable, Hashable, CaseIterable {
    /// Ed25519 (RFC 8032).
    case ed25519 = 1
    /// ECDSA over P-256 with SHA-256 (FIPS 186-5).
    case p256 = 2
    /// ECDSA over P-384 with SHA-384 (FIPS 186-5).
    case p384 = 3
    /// RSA with 2048 to 4096 bits (RFC 8017). Such keys are imported and never generated: the other
    /// algorithms are faster and no weaker.
    case rsa = 4

    /// The algorithm's name in commands and JSON documents.
    public var name: String {
        switch self {
        case .ed25519: "ed25519"
        case .p256: "p256"
        case .p384: "p384"
        case .rsa: "rsa"
        }
    }
}
