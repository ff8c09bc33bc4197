public import CofferBase
import CofferEngine

/// PBKDF2-HMAC (RFC 8018 section 5.2), a function that derives a key from a passcode, for standards that
/// require PBKDF2.
///
/// For new data, prefer ``Argon2id``. If new data must use PBKDF2, use at least 600 000 rounds of SHA-256 and
/// a random salt of at least 16 bytes; this type does not enforce these minimums, because documented formats
/// use other parameters.
public enum PBKDF2 {
    /// Derives `count` bytes from `secret`.
    ///
    /// - Parameters:
    ///   - secret: The passcode's bytes, used unchanged.
    ///   - salt: The salt, of any length.
    ///   - rounds: The number of rounds, 1 to 2^31 − 1.
    ///   - digest: The HMAC's hash function.
    ///   - count: The number of bytes to derive, 1 to 2^31 − 1.
    /// - Returns: The derived bytes.
    /// - Throws: `invalidInput` if `rounds` or `count` is out of bounds.
    public static func derive(
        secret: Span<UInt8>, salt: Span<UInt8>, rounds: Int, digest: Digest = .sha256, count: Int
    ) throws(CofferError) -> SecretBytes {
        guard count >= 1, count <= Int(Int32.max) else {
            throw CofferError(.invalidInput, "PBKDF2 can derive 1 to \(Int32.max) bytes, not \(count).")
        }
        guard rounds >= 1, rounds <= Int(Int32.max) else {
            throw CofferError(.invalidInput, "PBKDF2 requires 1 to \(Int32.max) rounds, not \(rounds).")
        }
        var output = try GuardedBytes.zeroed(count: count)
        var span = output.mutableSpan
        try PBKDF2Binding.derive(
            secret: secret, salt: salt, rounds: rounds, digest: digest.engine, into: &span)
        return SecretBytes(output)
    }
}
