/// Pieces of SQL text, byte by byte.
enum SQLText {
    /// Reports whether a byte may occur in an unquoted name.
    static func isIdentifier(_ byte: UInt8) -> Bool {
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        return letters.contains(byte | 0x20) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || byte >= 0x80
    }

    /// Consumes a quoted text, in which a doubled quote stands for one; the first byte is the quote. Returns
    /// `nil` when the text does not end.
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
