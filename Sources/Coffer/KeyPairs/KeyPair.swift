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
    /// The name that the owner gave, 1 to 64 bytes. No other key pair of the vault has it, except those of
    /// the same rotation.
    public internal(set) var alias: String
    /// The public key.
    public let publicKey: SigningPublicKey
    /// The class that decides when the private key can be used.
    public internal(set) var protection: ProtectionClass
    /// The purposes for which the key pair may be used.
    public let uses: KeyPairUses
    /// Whether a person must confirm each use.
    public let confirmsEachUse: Bool
    /// When the key pair was stored in the vault.
    public let created: Date
    /// The number of the key pair under this alias, from 1. Each rotation makes a key pair with the next
    /// number.
    public let generation: UInt32
    /// The key pair's certificate and those of the authorities above it; `nil` without a certificate. It is
    /// bound to the private key like the alias.
    public internal(set) var chain: CertificateChain?
    /// Whether a certificate was requested, and none was installed since.
    public internal(set) var isAwaitingCertificate = false

    /// Whether the private key may leave the vault, by ``KeyPairStore/export(_:as:passphrase:confirm:)``
    /// only. It is decided when the key pair is stored, and never changes.
    public internal(set) var isExportable = false
    /// The key pair's part in a rotation.
    public internal(set) var role = KeyPairRole.current

    /// The key pair's algorithm.
    public var algorithm: SigningAlgorithm { publicKey.algorithm }

    /// Returns this description with another alias.
    func with(alias: String) -> KeyPair {
        var pair = self
        pair.alias = alias
        return pair
    }

    /// Returns this description with another class.
    func with(_ protection: ProtectionClass) -> KeyPair {
        var pair = self
        pair.protection = protection
        return pair
    }

    /// Returns this description with another part in a rotation.
    func with(_ role: KeyPairRole) -> KeyPair {
        var pair = self
        pair.role = role
        return pair
    }

    /// Returns this description with a certificate, with which the key pair becomes the current one.
    func with(_ chain: CertificateChain) -> KeyPair {
        var pair = self
        (pair.chain, pair.isAwaitingCertificate, pair.role) = (chain, false, .current)
        return pair
    }
}
