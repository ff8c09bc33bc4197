package import CofferBase
import CSodium

/// Hexadecimal and Base64 encoding that is safe for secrets, because the time it takes depends only on the
/// length.
package enum Encoding {
    /// Returns the lowercase hexadecimal digits of `bytes`, as ASCII.
    package static func hex(_ bytes: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        unsafe try withTerminator(count: bytes.count * 2) { target, size in
            unsafe bytes.withPointer { _ = unsafe sodium_bin2hex(target, size, $0, bytes.count) }
        }
    }

    /// Returns `bytes` in Base64 with the standard alphabet and padding (RFC 4648 section 4), as ASCII.
    package static func base64(_ bytes: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        unsafe try withTerminator(count: (bytes.count + 2) / 3 * 4) { target, size in
            unsafe bytes.withPointer {
                _ = unsafe sodium_bin2base64(target, size, $0, bytes.count, sodium_base64_VARIANT_ORIGINAL)
            }
        }
    }

    /// Returns bytes that are not secret in the same Base64 encoding as ``base64(_:)``.
    package static func base64Text(_ bytes: [UInt8]) throws(CofferError) -> [UInt8] {
        let text = try base64(bytes.span)
        return text.span.copied()
    }

    /// Returns bytes that are not secret in Base64 with the standard alphabet, without padding.
    package static func base64TextUnpadded(_ bytes: [UInt8]) throws(CofferError) -> [UInt8] {
        var text = try base64Text(bytes)
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        return text
    }

    /// Returns `bytes` in Base64 with the alphabet for URLs and without padding (RFC 4648 section 5), as
    /// ASCII.
    package static func base64URL(_ bytes: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        unsafe try withTerminator(count: (bytes.count * 4 + 2) / 3) { target, size in
            unsafe bytes.withPointer {
                _ = unsafe sodium_bin2base64(
                    target, size, $0, bytes.count, sodium_base64_VARIANT_URLSAFE_NO_PADDING)
            }
        }
    }

    /// Decodes `text` from Base64 with the alphabet for URLs and without padding. Bits that encode nothing
    /// must be zero, so every value has exactly one text.
    package static func decodeBase64URL(_ text: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        try decodeBase64(text, variant: sodium_base64_VARIANT_URLSAFE_NO_PADDING, ignored: nil)
    }

    /// Decodes `text` from Base64 with the standard alphabet and padding, and ignores the ends of lines, as
    /// in PEM.
    package static func decodeBase64Lines(_ text: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        // libsodium looks for ignored characters in a C string, in which it also finds the NUL at its end.
        for index in text.indices where text[index] == 0 { throw notBase64 }
        return try decodeBase64(text, variant: sodium_base64_VARIANT_ORIGINAL, ignored: "\r\n")
    }

    /// Returns whether no byte is above 0x7F. libsodium takes some of those for characters of Base64. Takes
    /// constant time for a length.
    private static func isASCII(_ text: Span<UInt8>) -> Bool {
        var bits: UInt8 = 0
        for index in text.indices { bits |= text[index] }
        return bits < 0x80
    }

    private static var notBase64: CofferError { CofferError(.invalidInput, "The text is not valid Base64.") }

    /// Decodes `text`. An `ignored` text, even an empty one, makes libsodium skip NUL, too.
    private static func decodeBase64(
        _ text: Span<UInt8>, variant: Int32, ignored: String?
    ) throws(CofferError) -> GuardedBytes {
        guard isASCII(text) else { throw notBase64 }
        let size = text.count / 4 * 3 + 3
        let result = try GuardedStorage.make(count: size)
        var written = 0
        let status = unsafe text.withCharacters {
            unsafe sodium_base642bin(result.start, size, $0, text.count, ignored, &written, nil, variant)
        }
        guard status == 0, written <= size else { throw notBase64 }
        return try GuardedBytes.copying(unsafe Span(_unsafeStart: result.start, count: written))
    }

    /// Decodes the hexadecimal digits in `text`. Both uppercase and lowercase digits are allowed, but no
    /// other characters.
    package static func decodeHex(_ text: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        let size = text.count / 2
        let result = try GuardedStorage.make(count: size)
        var written = 0
        let status = unsafe text.withCharacters {
            unsafe sodium_hex2bin(result.start, size, $0, text.count, nil, &written, nil)
        }
        guard text.count % 2 == 0, status == 0, written == size else {
            throw CofferError(.invalidInput, "The text must consist of an even number of hexadecimal digits.")
        }
        return GuardedBytes(adopting: result)
    }

    /// Decodes `text` from Base64, for bytes that are not secret. Only the standard alphabet with padding is
    /// allowed, or without padding unless `isPadded`. Bits that encode nothing must be zero.
    package static func decodeBase64Text(
        _ text: [UInt8], isPadded: Bool = true
    ) throws(CofferError) -> [UInt8] {
        guard isASCII(text.span) else { throw notBase64 }
        var result = [UInt8](repeating: 0, count: text.count / 4 * 3 + (isPadded ? 0 : 2))
        var written = 0
        let size = result.count
        let variant = isPadded ? sodium_base64_VARIANT_ORIGINAL : sodium_base64_VARIANT_ORIGINAL_NO_PADDING
        var target = result.mutableSpan
        let status = unsafe target.withPointer { start in
            unsafe text.span.withCharacters {
                unsafe sodium_base642bin(start, size, $0, text.count, nil, &written, nil, variant)
            }
        }
        guard !isPadded || text.count % 4 == 0, status == 0 else { throw notBase64 }
        result.removeLast(size - written)
        return result
    }

    /// Encodes bytes into a buffer with one extra byte for the terminating zero that libsodium writes, and
    /// then removes that byte.
    private static func withTerminator(
        count: Int, _ encode: (UnsafeMutablePointer<CChar>, Int) -> Void
    ) throws(CofferError) -> GuardedBytes {
        let scratch = try GuardedStorage.make(count: count + 1)
        unsafe scratch.start.withMemoryRebound(to: CChar.self, capacity: count + 1) {
            unsafe encode($0, count + 1)
        }
        return try GuardedBytes.copying(unsafe Span(_unsafeStart: scratch.start, count: count))
    }
}
