import CofferBase

/// The lines of files that list recipients or identities.
enum AgeLines {
    /// Returns what `parse` returns for every line that is not blank and not a comment. An error of `parse`
    /// is thrown as `invalidInput` with the line's number.
    static func read<Element>(
        _ text: Span<UInt8>, name: String, _ parse: (Span<UInt8>) throws(CofferError) -> Element
    ) throws(CofferError) -> [Element] {
        var elements: [Element] = []
        var (start, number) = (0, 0)
        while start < text.count {
            var end = start
            while end < text.count, text[end] != UInt8(ascii: "\n") { end += 1 }
            let next = end + 1
            if end > start, text[end - 1] == UInt8(ascii: "\r") { end -= 1 }
            number += 1
            if end > start, text[start] != UInt8(ascii: "#") {
                do throws(CofferError) {
                    elements.append(try parse(text.extracting(start..<end)))
                } catch {
                    guard error.code == .invalidInput else { throw error }
                    throw CofferError(.invalidInput, "Line \(number) is not a valid \(name).")
                }
            }
            start = next
        }
        guard !elements.isEmpty else {
            throw CofferError(.invalidInput, "The text contains no \(name).")
        }
        return elements
    }
}
