public import CofferCrypto

/// The cipher for a container's outer layer. The inner layer always uses AES-256-GCM.
public enum ContainerCipherSuite: UInt8, Sendable, CaseIterable {
    /// AES-256-GCM, for environments with FIPS requirements.
    case aes256GCM = 1
    /// ChaCha20-Poly1305, the default. It is a different primitive from the inner layer's cipher.
    case chaCha20Poly1305 = 2

    /// This suite's AEAD algorithm.
    public var algorithm: AEAD.Algorithm { self == .aes256GCM ? .aes256GCM : .chaCha20Poly1305 }
}
