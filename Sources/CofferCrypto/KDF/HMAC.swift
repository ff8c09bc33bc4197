public import CofferBase
import CofferEngine

/// HMAC (RFC 2104, FIPS 198-1): message authentication with a key and a hash function.
public enum HMAC {
    /// Returns the full-length tag for `message`.
    ///
    /// - Throws: `internalFailure` if the underlying library fails.
    public static func authenticate(
        _ message: Span<UInt8>, key: borrowing SymmetricKey, digest: Digest = .sha256
    ) throws(CofferError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: digest.size)
        var span = tag.mutableSpan
        try HMACBinding.authenticate(message, key: key.secret.span, digest: digest.engine, into: &span)
        return tag
    }

    /// Returns whether `tag` is the full-length tag for `message`, comparing the tags in constant time.
    ///
    /// - Throws: `internalFailure` if the underlying library fails.
    public static func isValid(
        _ tag: Span<UInt8>, for message: Span<UInt8>, key: borrowing SymmetricKey, digest: Digest = .sha256
    ) throws(CofferError) -> Bool {
        let expected = try authenticate(message, key: key, digest: digest)
        return ConstantTime.equal(expected.span, tag)
    }
}
