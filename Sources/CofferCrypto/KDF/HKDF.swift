public import CofferBase
import CofferEngine

/// HKDF (RFC 5869), a function that derives independent keys from one strong key. For passcodes, use
/// ``Argon2id`` or ``PBKDF2``.
public enum HKDF {
    /// Derives `count` bytes from `key` with the extract and expand steps.
    ///
    /// - Parameters:
    ///   - key: The input keying material, which must be a strong key.
    ///   - salt: The salt; may be empty.
    ///   - info: The purpose for which the bytes are derived.
    ///   - digest: The hash function.
    ///   - count: The number of bytes to derive, from 1 to 255 times the digest's size.
    /// - Returns: The derived bytes.
    /// - Throws: `invalidInput` if `count` is not from 1 to 255 times the digest's size.
    public static func derive(
        from key: borrowing SymmetricKey, salt: Span<UInt8> = Span(), info: Span<UInt8>,
        digest: Digest = .sha256, count: Int
    ) throws(CofferError) -> SecretBytes {
        SecretBytes(
            try run(key, salt: salt, info: info, digest: digest, mode: .extractAndExpand, count: count))
    }

    /// Derives a 32-byte key for the purpose `info`, optionally bound to `context`, with HKDF-SHA256 and no
    /// salt.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func deriveKey(
        from key: borrowing SymmetricKey, info: String, context: Span<UInt8> = Span()
    ) throws(CofferError) -> SymmetricKey {
        let info = Array(info.utf8) + context.copied()
        let none = [UInt8]()
        return SymmetricKey(
            try run(
                key, salt: none.span, info: info.span, digest: .sha256, mode: .extractAndExpand, count: 32))
    }

    /// Derives a 32-byte key from two required secrets: `salt` is the salt of the extract step, and `key` is
    /// the keying material.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func deriveKey(
        from key: borrowing SymmetricKey, and salt: borrowing SymmetricKey, info: String,
        context: Span<UInt8> = Span()
    ) throws(CofferError) -> SymmetricKey {
        let info = Array(info.utf8) + context.copied()
        return SymmetricKey(
            try run(
                key, salt: salt.secret.span, info: info.span, digest: .sha256, mode: .extractAndExpand,
                count: 32))
    }

    /// Expands a uniformly random key into a block that the caller divides into several keys.
    ///
    /// - Throws: `invalidInput` if `count` is not from 1 to 255 times the digest's size.
    public static func expand(
        _ key: borrowing SymmetricKey, info: Span<UInt8>, digest: Digest, count: Int
    ) throws(CofferError) -> KeyMaterial {
        let none = [UInt8]()
        return KeyMaterial(
            try run(key, salt: none.span, info: info, digest: digest, mode: .expandOnly, count: count))
    }

    private static func run(
        _ key: borrowing SymmetricKey, salt: Span<UInt8>, info: Span<UInt8>, digest: Digest,
        mode: HKDFBinding.Mode, count: Int
    ) throws(CofferError) -> GuardedBytes {
        guard count >= 1, count <= 255 * digest.size else {
            throw CofferError(.invalidInput, "HKDF can derive 1 to \(255 * digest.size) bytes, not \(count).")
        }
        var output = try GuardedBytes.zeroed(count: count)
        var span = output.mutableSpan
        try HKDFBinding.derive(
            key: key.secret.span, salt: salt, info: info, digest: digest.engine, mode: mode, into: &span)
        return output
    }
}
