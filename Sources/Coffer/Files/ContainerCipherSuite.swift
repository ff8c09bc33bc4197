public import CofferCrypto

/// The cipher of a container's outer layer. The inner one is always AES-256-GCM.
public enum ContainerCipherSuite: UInt8, Sendable, CaseIterable {
    /// AES-256-GCM: where FIPS rules hold.
    case aes256GCM = 1
    /// ChaCha20-Poly1305: another primitive than the inner layer's. The default.
    case chaCha20Poly1305 = 2

    /// The algorithm.
    public var algorithm: AEAD.Algorithm { self == .aes256GCM ? .aes256GCM : .chaCha20Poly1305 }
}
