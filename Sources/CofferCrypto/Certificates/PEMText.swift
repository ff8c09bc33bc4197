import CofferEngine

/// Text in PEM (RFC 7468), as people and programs write it.
enum PEMText {
    /// U+FEFF in UTF-8, with which some editors begin a file.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Returns the size of the mark with which a file begins; 0 for none.
    static func markSize(_ file: Span<UInt8>) -> Int {
        guard file.count >= mark.count, mark.indices.allSatisfy({ file[$0] == mark[$0] }) else { return 0 }
        return mark.count
    }

    /// Returns whether a byte is a space, a tab or a carriage return, which mean nothing in a line.
    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
}

extension ArraySlice<UInt8> {
    /// The line without the blanks at its beginning and its end.
    var trimmingPEMBlanks: ArraySlice<UInt8> {
        let start = drop(while: PEMText.isBlank)
        guard let last = start.lastIndex(where: { !PEMText.isBlank($0) }) else { return [] }
        return start[...last]
    }
}
