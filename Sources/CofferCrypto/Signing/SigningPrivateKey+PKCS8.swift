package import CofferBase
import CofferEngine

/// Private keys in PKCS #8 (RFC 5208, RFC 5958), not encrypted.
extension SigningPrivateKey {
    /// Returns the key in a PKCS #8 structure, which it checks.
    ///
    /// - Parameter der: The structure in DER, and nothing after it.
    /// - Returns: The key.
    /// - Throws: `unsupported` for a key of another algorithm or curve; `invalidInput` for anything else that
    ///   ``make(_:_:)`` refuses, that is not such a structure, or that has another key's public half.
    package static func importing(pkcs8 der: Span<UInt8>) throws(CofferError) -> SigningPrivateKey {
        guard let (found, place, publicPlace) = PrivateKeyInfo.contents(of: der) else {
            throw CofferError(.invalidInput, "The private key is damaged: it is not PKCS #8 in DER.")
        }
        let key = try importing(found, der.extracting(place))
        if let publicPlace, der.extracting(publicPlace).copied() != key.publicKey.bitString {
            throw CofferError(.invalidInput, "The private key does not belong to the public key beside it.")
        }
        return key
    }

    private static func importing(
        _ algorithm: PrivateKeyInfo.Algorithm?, _ inner: Span<UInt8>
    ) throws(CofferError) -> SigningPrivateKey {
        switch algorithm {
        case .ed25519:
            var reader = DERReader(0..<inner.count)
            guard let seed = reader.element(DERReader.octets, inner), reader.isAtEnd else {
                throw CofferError(.invalidInput, "The private key is damaged: it is not one for Ed25519.")
            }
            return try make(.ed25519, try SecretBytes.copying(inner.extracting(seed)))
        case .p256: return try make(.p256, SecretBytes(try ECPrivateKey.number(inner, .p256)))
        case .p384: return try make(.p384, SecretBytes(try ECPrivateKey.number(inner, .p384)))
        case .rsa: return try make(.rsa, try SecretBytes.copying(inner))
        case nil:
            throw CofferError(
                .unsupported,
                "The private key is of a kind that is not supported. Supported are Ed25519, P-256, P-384, "
                    + "and RSA with 2048 to 4096 bits.")
        }
    }

    /// Returns the key as a PKCS #8 structure in DER, in guarded memory.
    ///
    /// - Throws: `outOfMemory`.
    package func pkcs8() throws(CofferError) -> SecretBytes {
        let count = secret.count
        let (identifier, head, tail): ([UInt8], [UInt8], [UInt8]) =
            switch publicKey {
            case .ed25519: (PrivateKeyInfo.Algorithm.ed25519.identifier, DERWriter.head(0x04, count), [])
            case .p256(let point): Self.elliptic(.p256, point, count)
            case .p384(let point): Self.elliptic(.p384, point, count)
            case .rsa: (PrivateKeyInfo.Algorithm.rsa.identifier, [], [])
            }
        let inner = head.count + count + tail.count
        let body =
            [0x02, 0x01, 0x00] + DERWriter.element(0x30, identifier) + DERWriter.head(0x04, inner)
        let start = DERWriter.head(0x30, body.count + inner) + body + head
        return try secret.exposing { (bytes) throws(CofferError) in
            SecretBytes(
                try GuardedBytes.filled(count: start.count + count + tail.count) {
                    (span) throws(CofferError) in
                    span.write(start.span, at: 0)
                    span.write(bytes, at: start.count)
                    span.write(tail.span, at: start.count + count)
                })
        }
    }

    /// Returns the identifier, and what is before and after the number in the structure of RFC 5915.
    private static func elliptic(
        _ algorithm: PrivateKeyInfo.Algorithm, _ point: [UInt8], _ count: Int
    ) -> ([UInt8], [UInt8], [UInt8]) {
        let tail = DERWriter.element(0xA1, DERWriter.element(0x03, [0] + point))
        let body = [0x02, 0x01, 0x01] + DERWriter.head(0x04, count)
        return (
            algorithm.identifier, DERWriter.head(0x30, body.count + count + tail.count) + body, tail
        )
    }
}
