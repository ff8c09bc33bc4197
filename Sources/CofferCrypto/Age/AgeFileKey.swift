import CofferBase
import CofferEngine

/// The random key of one age file, which every stanza wraps.
struct AgeFileKey: ~Copyable, Sendable {
    static let size = 16
    /// The size of a wrapped file key.
    static let wrappedSize = size + AEAD.tagSize
    static let nonceSize = 16

    private let key: SymmetricKey

    private init(_ key: consuming SymmetricKey) { self.key = key }

    static func random() throws(CofferError) -> AgeFileKey {
        AgeFileKey(try SymmetricKey.random(count: size))
    }

    /// Returns the MAC of a header.
    func mac(of header: [UInt8]) throws(CofferError) -> [UInt8] {
        try HMAC.authenticate(header.span, key: try derive(AgeLabel.header, salt: []))
    }

    /// Throws `notAuthentic` unless the header's MAC is valid.
    func check(_ header: AgeHeader) throws(CofferError) {
        let valid = try HMAC.isValid(
            header.mac.span, for: header.authenticated.span, key: try derive(AgeLabel.header, salt: []))
        guard valid else {
            throw CofferError(
                .notAuthentic, "The header of the age file was changed or is damaged.",
                remedy: .useAnotherCopy)
        }
    }

    /// Returns the cipher for the payload that begins with `nonce`.
    func payloadCipher(nonce: [UInt8]) throws(CofferError) -> AgeChunkCipher {
        try AgeChunkCipher.make(key: try derive(AgeLabel.payload, salt: nonce))
    }

    private func derive(_ label: String, salt: [UInt8]) throws(CofferError) -> SymmetricKey {
        let label = Array(label.utf8)
        return SymmetricKey.adopting(
            try HKDF.derive(from: key, salt: salt.span, info: label.span, count: 32))
    }

    /// Returns the file key sealed under a wrapping key, which is never used again: the nonce is zero.
    func wrapped(under wrappingKey: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        var cipher = try UnsafeNonceAEAD.prepare(.chaCha20Poly1305, key: wrappingKey)
        let nonce = [UInt8](repeating: 0, count: AEAD.Algorithm.chaCha20Poly1305.nonceSize)
        var sealed = [UInt8](repeating: 0, count: Self.wrappedSize)
        var target = sealed.mutableSpan
        try cipher.seal(key.secret.span, nonce: nonce.span, associatedData: Span(), into: &target)
        return sealed
    }

    /// Returns the file key in `sealed`, or `nil` if it was not sealed under the wrapping key.
    static func unwrap(
        _ sealed: [UInt8], under wrappingKey: borrowing SymmetricKey
    ) throws(CofferError) -> AgeFileKey? {
        var cipher = try UnsafeNonceAEAD.prepare(.chaCha20Poly1305, key: wrappingKey)
        let nonce = [UInt8](repeating: 0, count: AEAD.Algorithm.chaCha20Poly1305.nonceSize)
        do throws(CofferError) {
            var key = try GuardedBytes.zeroed(count: size)
            var target = key.mutableSpan
            try cipher.open(sealed.span, nonce: nonce.span, associatedData: Span(), into: &target)
            return AgeFileKey(SymmetricKey(key))
        } catch {
            guard error.code == .notAuthentic else { throw error }
            return nil
        }
    }
}
