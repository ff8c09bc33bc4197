/// Hexadecimal encoding of bytes that are not secret, such as names, salts and digests. The running time
/// depends on the bytes, so use the engine's `Encoding` for secrets.
package enum HexText {
    /// Returns `bytes` as lower-case hexadecimal digits.
    package static func encode(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Decodes an even number of hexadecimal digits.
    ///
    /// - Parameters:
    ///   - text: The hexadecimal digits.
    ///   - lowerCaseOnly: Whether to reject upper-case digits. Test vector files use lower case, so an
    ///     upper-case digit indicates a damaged file.
    /// - Returns: The bytes; `nil` if `text` is not an even number of permitted digits.
    package static func decode(_ text: String, lowerCaseOnly: Bool = false) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index], lowerCaseOnly),
                let low = value(digits[index + 1], lowerCaseOnly)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(_ digit: UInt8, _ lowerCaseOnly: Bool) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F") where !lowerCaseOnly: digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
