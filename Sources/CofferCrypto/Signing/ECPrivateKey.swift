import CofferBase
import CofferEngine

/// The private key of an elliptic curve as RFC 5915 encodes it, which is inside a PKCS #8 file.
enum ECPrivateKey {
    /// Returns the private number.
    ///
    /// - Throws: `invalidInput` if the bytes are not a private key for the curve, or contain the public key
    ///   of another one.
    static func number(_ bytes: Span<UInt8>, _ curve: ECDSACurve) throws(CofferError) -> GuardedBytes {
        var file = DERReader(0..<bytes.count)
        guard let outer = file.element(DERReader.sequence, bytes), file.isAtEnd else { throw notAKey }
        var reader = DERReader(outer)
        guard reader.small(bytes) == 1, let number = reader.element(DERReader.octets, bytes),
            number.count == curve.privateKeySize
        else { throw notAKey }
        if reader.isNext(0xA0, bytes), reader.element(0xA0, bytes) == nil { throw notAKey }
        let key = try GuardedBytes.copying(bytes.extracting(number))
        let publicKey = try publicKey(of: key, curve)
        if reader.isNext(0xA1, bytes) {
            guard let tagged = reader.element(0xA1, bytes) else { throw notAKey }
            var inner = DERReader(tagged)
            guard inner.skip(0x03, [0] + publicKey, bytes), inner.isAtEnd else { throw notAKey }
        }
        guard reader.isAtEnd else { throw notAKey }
        return key
    }

    private static func publicKey(
        of key: borrowing GuardedBytes, _ curve: ECDSACurve
    ) throws(CofferError) -> [UInt8] {
        try ECDSABinding.publicKey(privateKey: key.span, curve)
    }

    private static var notAKey: CofferError {
        CofferError(.invalidInput, "The file does not contain a private key for this elliptic curve.")
    }
}
