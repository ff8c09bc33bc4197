package import CofferBase
package import CofferCrypto
import CofferEngine

/// The encoding `application/x-www-form-urlencoded`, and percent-encoding.
package enum FormEncoding {
    /// The bytes that percent-encoding keeps: the unreserved characters of RFC 3986.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Returns the upper-case hexadecimal digit for a number below 16, without a table that a secret would
    /// index.
    private static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "A") + nibble - 10
    }

    /// Returns the text percent-encoded: every byte other than an unreserved character as `%XX`.
    package static func percentEncoded(_ text: String) -> String {
        String(decoding: encodedBytes(Array(text.utf8), plusForSpace: false), as: UTF8.self)
    }

    private static func encodedBytes(_ bytes: [UInt8], plusForSpace: Bool) -> [UInt8] {
        bytes.flatMap { byte -> [UInt8] in
            if isUnreserved(byte) { return [byte] }
            if plusForSpace, byte == UInt8(ascii: " ") { return [UInt8(ascii: "+")] }
            return [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
        }
    }

    /// Returns one name or value in form encoding, with a plus sign for a space.
    package static func encode(_ text: String) -> String {
        String(decoding: encodedBytes(Array(text.utf8), plusForSpace: true), as: UTF8.self)
    }

    /// Returns fields that are not secret in form encoding.
    package static func encode(_ fields: [(name: String, value: String)]) -> String {
        fields.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
    }

    /// Returns one secret name or value in form encoding.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package static func encode(_ secret: borrowing SecretBytes) throws(CofferError) -> SecretBytes {
        try encoded(secret, plusForSpace: true)
    }

    /// Returns a secret percent-encoded: every byte other than an unreserved character as `%XX`.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package static func percentEncoded(
        _ secret: borrowing SecretBytes
    ) throws(CofferError) -> SecretBytes {
        try encoded(secret, plusForSpace: false)
    }

    private static func encoded(
        _ secret: borrowing SecretBytes, plusForSpace: Bool
    ) throws(CofferError) -> SecretBytes {
        let bytes = secret.guarded.span
        var count = 0
        for index in bytes.indices {
            let isPlus = plusForSpace && bytes[index] == UInt8(ascii: " ")
            count += isUnreserved(bytes[index]) || isPlus ? 1 : 3
        }
        return SecretBytes(
            try GuardedBytes.filled(count: count) { (span) throws(CofferError) in
                var at = 0
                for index in bytes.indices {
                    let byte = bytes[index]
                    let isPlus = plusForSpace && byte == UInt8(ascii: " ")
                    if isUnreserved(byte) || isPlus {
                        span[at] = isPlus ? UInt8(ascii: "+") : byte
                        at += 1
                    } else {
                        span[at] = UInt8(ascii: "%")
                        span[at + 1] = digit(byte >> 4)
                        span[at + 2] = digit(byte & 15)
                        at += 3
                    }
                }
            })
    }

    /// Returns the bytes that percent-encoded text stands for; `nil` if a percent sign is not followed by two
    /// hexadecimal digits.
    ///
    /// - Parameters:
    ///   - text: The encoded bytes.
    ///   - plusIsSpace: Whether a plus sign stands for a space, as in form encoding.
    /// - Returns: The decoded bytes.
    package static func percentDecoded(
        _ text: some Collection<UInt8>, plusIsSpace: Bool
    ) -> [UInt8]? {
        var decoded: [UInt8] = []
        var bytes = text.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = bytes.next()?.hexDigit, let low = bytes.next()?.hexDigit else { return nil }
                decoded.append(high << 4 | low)
            } else {
                decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return decoded
    }

    /// Returns the fields of a text in form encoding, in order. No value may be secret.
    ///
    /// - Parameter text: The encoded fields.
    /// - Returns: The names and values; none for empty text.
    /// - Throws: `invalidInput` for a field without a name or an equals sign, an invalid percent sign, bytes
    ///   that are not UTF-8, a control character or a character outside ASCII in the encoded text, or more
    ///   than 256 fields.
    package static func decode(_ text: String) throws(CofferError) -> [(name: String, value: String)] {
        guard !text.isEmpty else { return [] }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw invalid }
        let fields = text.parts(between: "&", keepsEmpty: true)
        guard fields.count <= 256 else { throw invalid }
        return try fields.map { (field) throws(CofferError) -> (name: String, value: String) in
            guard let equals = field.utf8.firstIndex(of: UInt8(ascii: "=")),
                let name = Self.text(field.utf8[..<equals]),
                let value = Self.text(field.utf8[equals...].dropFirst()), !name.isEmpty
            else { throw invalid }
            return (name, value)
        }
    }

    private static func text(_ encoded: Substring.UTF8View) -> String? {
        percentDecoded(encoded, plusIsSpace: true).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Returns the bytes of one secret name or value in form encoding.
    ///
    /// - Throws: `invalidInput` for an invalid percent sign; `outOfMemory`.
    package static func decode(_ encoded: Span<UInt8>) throws(CofferError) -> SecretBytes {
        var decoded = try GuardedBytes.zeroed(count: encoded.count)
        var (at, count) = (0, 0)
        while at < encoded.count {
            var byte = encoded[at]
            at += 1
            if byte == UInt8(ascii: "%") {
                guard at + 1 < encoded.count, let high = encoded[at].hexDigit,
                    let low = encoded[at + 1].hexDigit
                else { throw invalid }
                byte = high << 4 | low
                at += 2
            } else if byte == UInt8(ascii: "+") {
                byte = UInt8(ascii: " ")
            }
            var span = decoded.mutableSpan
            span[count] = byte
            count += 1
        }
        decoded.shrink(to: count)
        return SecretBytes(decoded)
    }

    private static var invalid: CofferError {
        CofferError(.invalidInput, "The text is not in the form encoding of names and values.")
    }
}

/// The body of a form, in guarded memory, to which fields are added one by one.
package struct FormBody: ~Copyable {
    private var bytes: SecretBytes

    /// Creates an empty body.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package init() throws(CofferError) { bytes = SecretBytes(try GuardedBytes.zeroed(count: 0)) }

    /// Adds a field whose value is not secret.
    package mutating func append(_ name: String, _ value: String) throws(CofferError) {
        try append(Array((FormEncoding.encode(name) + "=" + FormEncoding.encode(value)).utf8).span)
    }

    /// Adds a field whose value is secret.
    package mutating func append(
        _ name: String, secret value: borrowing SecretBytes
    ) throws(CofferError) {
        let encoded = try FormEncoding.encode(value)
        let start = Array((FormEncoding.encode(name) + "=").utf8)
        let field = try GuardedBytes.concatenating(start.span, encoded.guarded.span)
        try append(field.span)
    }

    private mutating func append(_ field: Span<UInt8>) throws(CofferError) {
        let separator: [UInt8] = bytes.count == 0 ? [] : [UInt8(ascii: "&")]
        let start = try GuardedBytes.concatenating(bytes.guarded.span, separator.span)
        bytes = SecretBytes(try GuardedBytes.concatenating(start.span, field))
    }

    /// Returns the whole body.
    package consuming func finish() -> SecretBytes { bytes }
}
