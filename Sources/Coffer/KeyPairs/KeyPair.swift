public import CofferCrypto
public import CofferVault
public import FoundationEssentials

/// The description of a key pair in a vault. It contains the public key and never the private one.
///
/// A description can be read while the vault is locked. What it says about the uses is only then certain when
/// the private key is used: the private key opens only together with the description with which it was
/// stored.
public struct KeyPair: Sendable, Hashable {
    /// A random identifier, which stays the same when the key pair gets another alias.
    public let id: UUID
    /// The name that the owner gave, 1 to 64 bytes; no other key pair of the vault has it.
    public let alias: String
    /// The public key.
    public let publicKey: SigningPublicKey
    /// The class that decides when the private key can be used.
    public let protection: ProtectionClass
    /// The purposes for which the key pair may be used.
    public let uses: KeyPairUses
    /// Whether a person must confirm each use.
    public let confirmsEachUse: Bool
    /// When the key pair was stored in the vault.
    public let created: Date
    /// The number of the key pair under this alias, from 1.
    public let generation: UInt32
    /// The key pair's certificate and those of the authorities above it; `nil` without a certificate. It is
    /// bound to the private key like the alias.
    public internal(set) var chain: CertificateChain?
    /// Whether a certificate was requested, and none was installed since.
    public internal(set) var isAwaitingCertificate = false

    /// The key pair's algorithm.
    public var algorithm: SigningAlgorithm { publicKey.algorithm }

    /// Returns this description with another alias and class.
    func with(alias: String, _ protection: ProtectionClass) -> KeyPair {
        KeyPair(
            id: id, alias: alias, publicKey: publicKey, protection: protection, uses: uses,
            confirmsEachUse: confirmsEachUse, created: created, generation: generation, chain: chain,
            isAwaitingCertificate: isAwaitingCertificate)
    }

    /// Returns this description with a certificate.
    func with(_ chain: CertificateChain) -> KeyPair {
        var pair = self
        (pair.chain, pair.isAwaitingCertificate) = (chain, false)
        return pair
    }
}
