package import CofferBase
package import CofferCrypto
import CofferEngine

/// The parameters of a redirect: the names as text, the values in guarded memory.
package struct RedirectParameters: ~Copyable {
    private static let maxCount = 64

    private struct Field {
        let name: [UInt8]
        let value: Range<Int>
    }

    private let encoded: GuardedBytes
    private let fields: [Field]

    private init(encoded: consuming GuardedBytes, fields: [Field]) {
        self.encoded = encoded
        self.fields = fields
    }

    /// Parses parameters in form encoding.
    ///
    /// - Parameter bytes: A query or a fragment, without the character before it.
    /// - Returns: The parameters.
    /// - Throws: `redirectRefused` if a parameter is invalid or occurs twice, or if there are too many.
    package static func parse(_ bytes: Span<UInt8>) throws(CofferError) -> RedirectParameters {
        guard RedirectRequest.allSatisfy(bytes, 0..<bytes.count, { (0x21...0x7E).contains($0) }) else {
            throw refused("it contains a character that a URL must not contain")
        }
        var fields: [Field] = []
        var start = 0
        while start < bytes.count {
            let end = RedirectRequest.place(of: "&", in: bytes, start..<bytes.count) ?? bytes.count
            if start < end {
                let field = try field(start..<end, in: bytes)
                // RFC 6749 section 3.1: no parameter may occur twice. Programs disagree on which one counts.
                guard !fields.contains(where: { $0.name == field.name }) else {
                    throw refused("a parameter occurs twice")
                }
                guard fields.count < maxCount else { throw refused("it has too many parameters") }
                fields.append(field)
            }
            start = end + 1
        }
        return RedirectParameters(encoded: try GuardedBytes.copying(bytes), fields: fields)
    }

    private static func field(_ range: Range<Int>, in bytes: Span<UInt8>) throws(CofferError) -> Field {
        let equals = RedirectRequest.place(of: "=", in: bytes, range) ?? range.upperBound
        let name = bytes.extracting(range.lowerBound..<equals).copied()
        let value = min(equals + 1, range.upperBound)..<range.upperBound
        guard let decoded = FormEncoding.percentDecoded(name, plusIsSpace: true), !decoded.isEmpty,
            isDecodable(bytes, value)
        else { throw refused("a parameter is not encoded correctly") }
        return Field(name: decoded, value: value)
    }

    /// Whether every percent sign is followed by two hexadecimal digits.
    private static func isDecodable(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        for index in range where bytes[index] == UInt8(ascii: "%") {
            guard index + 2 < range.upperBound, bytes[index + 1].hexDigit != nil,
                bytes[index + 2].hexDigit != nil
            else { return false }
        }
        return true
    }

    static func refused(_ reason: String) -> CofferError {
        CofferError(.redirectRefused, "The answer to the sign-in was refused: \(reason).")
    }

    /// Returns whether there is a parameter with this name, even if its value is empty.
    package func has(_ name: String) -> Bool { fields.contains { $0.name.elementsEqual(name.utf8) } }

    /// Returns a parameter's value, or `nil` if there is none with this name.
    ///
    /// - Parameter name: The parameter's name.
    /// - Returns: The decoded bytes.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package func secret(_ name: String) throws(CofferError) -> SecretBytes? {
        guard let field = fields.first(where: { $0.name.elementsEqual(name.utf8) }) else { return nil }
        return try FormEncoding.decode(encoded.span.extracting(field.value))
    }

    /// Returns the bytes of a parameter that is not secret, or `nil` if there is none with this name.
    ///
    /// - Parameter name: The parameter's name.
    /// - Returns: The decoded bytes.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package func bytes(_ name: String) throws(CofferError) -> [UInt8]? {
        guard let value = try secret(name) else { return nil }
        return value.guarded.span.copied()
    }

    /// Returns the first 64 printable ASCII characters of a parameter that is not secret, or `nil` if there
    /// is none with this name.
    ///
    /// - Parameter name: The parameter's name.
    /// - Returns: The characters, which may be shown to the user.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    package func printable(_ name: String) throws(CofferError) -> String? {
        guard let bytes = try bytes(name) else { return nil }
        return String(decoding: bytes.filter { (0x20...0x7E).contains($0) }.prefix(64), as: UTF8.self)
    }
}
