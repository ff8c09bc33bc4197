/// A namespace for functions that parse SQL text byte by byte.
enum SQLText {
    /// Reports whether a byte may occur in an unquoted name.
    static func isIdentifier(_ byte: UInt8) -> Bool {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        return letters.contains(byte | 0x20) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || byte >= 0x80
    }

    /// Consumes a quoted text, whose first byte is the quote, and returns its content. In the text, two
    /// quotes stand for one. Returns `nil` if the closing quote is missing.
    static func takeQuoted(from rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard let quote = rest.popFirst() else { return nil }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == quote {
                guard rest.first == quote else { return text }
                rest.removeFirst()
            }
            text.append(byte)
        }
        return nil
    }
}
