/// The end of a JSON document, found without reading its values.
enum JSONEnd {
    /// Returns whether a text goes from the first bracket of an object or an array to the last one.
    ///
    /// No piece of such a document is one itself, so what is missing from an answer is noticed without a
    /// length. The text may still be invalid: its reader decides.
    static func isReached(in text: Span<UInt8>) -> Bool {
        var depth = 0
        var hasBegun = false
        var index = 0
        while index < text.count {
            let byte = text[index]
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: break
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard !hasBegun || depth > 0 else { return false }
                hasBegun = true
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return false }
                depth -= 1
            case UInt8(ascii: "\""):
                guard depth > 0, let end = endOfString(in: text, from: index) else { return false }
                index = end
            default: guard depth > 0 else { return false }
            }
            index += 1
        }
        return hasBegun && depth == 0
    }

    /// Returns the place of the quotation mark that ends a string; `nil` if there is none.
    private static func endOfString(in text: Span<UInt8>, from start: Int) -> Int? {
        var index = start + 1
        while index < text.count {
            if text[index] == UInt8(ascii: "\"") { return index }
            index += text[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }
}
