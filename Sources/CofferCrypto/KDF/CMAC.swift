public import CofferBase
import CofferEngine

/// AES-CMAC (NIST SP 800-38B, RFC 4493): message authentication with AES alone.
///
/// Use CMAC only for protocols that prescribe it, and ``HMAC`` otherwise. The key has 16, 24 or 32 bytes, and
/// the tag has 16. The tag does not commit to its key. SP 800-38B recommends at most 2^48 messages under one
/// key.
public enum CMAC {
    /// The tag's size in bytes.
    public static let tagSize = CMACContext.tagSize

    /// Returns the tag for `message`.
    ///
    /// - Throws: `invalidInput` if the key is not 16, 24 or 32 bytes long.
    public static func authenticate(
        _ message: Span<UInt8>, key: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        var context = try CMACContext.make(key: key.secret.span)
        try context.update(message)
        var tag = [UInt8](repeating: 0, count: tagSize)
        var span = tag.mutableSpan
        try context.finish(into: &span)
        return tag
    }

    /// Returns whether `tag` is the full tag for `message`, comparing the tags in constant time.
    ///
    /// - Throws: `invalidInput` if the key is not 16, 24 or 32 bytes long.
    public static func isValid(
        _ tag: Span<UInt8>, for message: Span<UInt8>, key: borrowing SymmetricKey
    ) throws(CofferError) -> Bool {
        let expected = try authenticate(message, key: key)
        return ConstantTime.equal(expected.span, tag)
    }
}
