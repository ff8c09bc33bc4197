// The kernel, SQLite and every peer compare names byte for byte. Swift compares strings by canonical
// equivalence: a "?" followed by a combining accent does not contain "?", and the Kelvin sign equals "K".
// Security decisions therefore compare, search and split text by its UTF-8 bytes.

extension StringProtocol {
    /// Returns whether both texts have the same UTF-8 bytes.
    package func hasSameBytes(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Splits the text at the byte `separator`.
    ///
    /// - Parameters:
    ///   - separator: The separator, which must be an ASCII character.
    ///   - keepsEmpty: Whether to keep empty parts between two separators, at the start and at the end.
    /// - Returns: The parts in order.
    package func parts(between separator: Unicode.Scalar, keepsEmpty: Bool = false) -> [String] {
        utf8.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: !keepsEmpty)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the text with each `mark` doubled, as SQL escapes a quotation mark inside quoted text.
    package func doubling(_ mark: Unicode.Scalar) -> String {
        String(String.UnicodeScalarView(unicodeScalars.flatMap { $0 == mark ? [mark, mark] : [$0] }))
    }

    /// The text with the letters A to Z in lower case and everything else unchanged, as in SQLite's case
    /// folding.
    package var foldedASCII: String {
        String(
            decoding: utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 },
            as: UTF8.self)
    }
}

extension UInt8 {
    /// The value of this byte as an ASCII hexadecimal digit; `nil` for any other byte.
    package var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Unicode.Scalar {
    /// Whether the character ends a line according to Unicode's rules.
    package var endsLine: Bool {
        switch value {
        case 0x0A...0x0D, 0x85, 0x2028, 0x2029: true
        default: false
        }
    }
}

extension Collection<UInt8> {
    /// Returns whether these bytes begin with the UTF-8 bytes of `text`.
    package func hasPrefix(_ text: String) -> Bool { starts(with: text.utf8) }
}

extension BidirectionalCollection<UInt8> {
    /// Returns whether these bytes end with the UTF-8 bytes of `text`.
    package func hasSuffix(_ text: String) -> Bool {
        reversed().starts(with: text.utf8.reversed())
    }
}
