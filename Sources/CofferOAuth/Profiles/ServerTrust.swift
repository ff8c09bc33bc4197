import CofferBase

/// The certificates with which a profile's server is verified.
public struct ServerTrust: Sendable, Hashable {
    /// Certificate authorities in PEM, which replace those of the system; `nil` for the system's.
    public var authorities: String?
    /// Public keys of which the server's key must be one: the SHA-256 digests of their
    /// `SubjectPublicKeyInfo`, 32 bytes each. An empty array permits any key.
    public var publicKeyDigests: [[UInt8]]

    /// Creates a trust.
    ///
    /// - Parameters:
    ///   - authorities: Certificate authorities in PEM; `nil` for the system's.
    ///   - publicKeyDigests: The SHA-256 digests of permitted public keys.
    public init(authorities: String? = nil, publicKeyDigests: [[UInt8]] = []) {
        self.authorities = authorities
        self.publicKeyDigests = publicKeyDigests
    }

    private static let maxByteCount = 1 << 17

    /// Throws `invalidInput` if the authorities are not PEM or a digest has another size.
    func check() throws(CofferError) {
        let isText = authorities.map { text in
            (1...Self.maxByteCount).contains(text.utf8.count)
                && text.utf8.allSatisfy { $0 < 0x7F && ($0 >= 0x20 || $0 == 0x0A || $0 == 0x0D) }
        }
        guard isText ?? true else {
            throw CofferError(
                .invalidInput, "The certificate authorities must be PEM text of at most 128 KiB.")
        }
        guard publicKeyDigests.count <= 16, publicKeyDigests.allSatisfy({ $0.count == 32 }) else {
            throw CofferError(
                .invalidInput, "There may be at most 16 public key digests, each of which has 32 bytes.")
        }
    }
}
