/// A count of the placeholders in SQL statements.
enum SQLPlaceholders {
    /// Returns the number of plain `?` placeholders outside strings, quoted names and comments. Returns `nil`
    /// if there is a numbered or named placeholder, for which a list of values is not sufficient.
    static func count(_ sql: String) -> Int? {
        let bytes = Array(sql.utf8)
        var (index, count) = (0, 0)
        while index < bytes.count {
            let rest = bytes[index...]
            if let quote = closing(bytes[index]) {
                index = end(of: bytes, after: index, quote)
            } else if rest.starts(with: "--".utf8) {
                index = rest.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            } else if rest.starts(with: "/*".utf8) {
                index = commentEnd(bytes, index + 2)
            } else if bytes[index] == UInt8(ascii: "?") {
                let next = index + 1 < bytes.count ? bytes[index + 1] : 0
                guard !isDigit(next) else { return nil }
                count += 1
            } else if isName(bytes[index]) {
                // A word may contain `$`, which does not begin a parameter there.
                while index + 1 < bytes.count,
                    isName(bytes[index + 1]) || isDigit(bytes[index + 1])
                        || bytes[index + 1] == UInt8(ascii: "$")
                {
                    index += 1
                }
            } else if [UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$")].contains(bytes[index]),
                index + 1 < bytes.count, isName(bytes[index + 1]) || isDigit(bytes[index + 1])
            {
                return nil
            }
            index += 1
        }
        return count
    }

    /// Returns the byte that ends the string or the quoted name that begins with `byte`, or `nil` if `byte`
    /// does not begin either of them.
    private static func closing(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): byte
        case UInt8(ascii: "["): UInt8(ascii: "]")
        default: nil
        }
    }

    /// Returns the index of the closing quote. A doubled quote is treated as the end of one string and the
    /// beginning of the next, which leads to the same result.
    private static func end(of bytes: [UInt8], after start: Int, _ quote: UInt8) -> Int {
        bytes[(start + 1)...].firstIndex(of: quote) ?? bytes.count
    }

    private static func commentEnd(_ bytes: [UInt8], _ start: Int) -> Int {
        var index = start
        while index + 1 < bytes.count {
            if bytes[index...].starts(with: "*/".utf8) { return index + 1 }
            index += 1
        }
        return bytes.count
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isName(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == UInt8(ascii: "_")
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
