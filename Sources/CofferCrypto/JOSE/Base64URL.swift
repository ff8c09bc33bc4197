package import CofferBase
import CofferEngine

/// Base64 with the alphabet for URLs and without padding, as JOSE and OAuth use it (RFC 7515 section 2).
/// Every value has exactly one text.
package enum Base64URL {
    /// Returns the text of bytes that are not secret.
    package static func encode(_ bytes: [UInt8]) throws(CofferError) -> String {
        let text = try Encoding.base64URL(bytes.span)
        return String(decoding: text.span.copied(), as: UTF8.self)
    }

    /// Returns the text of secret bytes.
    package static func encode(_ secret: borrowing SecretBytes) throws(CofferError) -> SecretBytes {
        SecretBytes(try Encoding.base64URL(secret.guarded.span))
    }

    /// Returns the bytes of a text that is not secret.
    package static func decode(_ text: String) throws(CofferError) -> [UInt8] {
        try decode(Array(text.utf8).span)
    }

    /// Returns the bytes of a text that is not secret.
    package static func decode(_ text: Span<UInt8>) throws(CofferError) -> [UInt8] {
        let bytes = try Encoding.decodeBase64URL(text)
        return bytes.span.copied()
    }
}
