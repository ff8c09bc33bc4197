import CofferBase

extension String {
    /// The text with `?` in place of every character that could disrupt a terminal or a line or that is
    /// invisible, so no name looks like another one on the screen.
    package var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.isPrintable ? $0 : "?" }))
    }

    /// The printable form of text with several lines, which remain separate.
    package var printableLines: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { $0.isPrintable || $0.value == 0x0A ? $0 : "?" }))
    }

    /// The JSON text with escapes in place of control characters, which occur only in its strings.
    package var escapingControls: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalar.isControl {
                result.append(contentsOf: scalar.escape.unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }
}

extension Unicode.Scalar {
    /// Whether the character controls a terminal, ends a line or changes the text direction. The code points
    /// of all these characters have at most four hexadecimal digits.
    package var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl
        }
    }

    /// The escape with four hexadecimal digits, as in JSON.
    package var escape: String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Whether the character is printed unchanged. Combining marks and variation selectors are printed
    /// unchanged because they belong to the preceding letter.
    fileprivate var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        case .nonspacingMark: true
        default: !properties.isDefaultIgnorableCodePoint
        }
    }
}

/// A table of text in columns.
package enum TextTable {
    /// Returns the lines of a table, without blanks at their ends; none if there are no rows, so that an
    /// empty list prints nothing. Columns and their headings are flush left; those in `numbers` are flush
    /// right.
    package static func lines(_ heading: [String], _ rows: [[String]], numbers: Set<Int> = []) -> [String] {
        guard !rows.isEmpty else { return [] }
        let all = [heading] + rows
        let widths = heading.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = zip(row, widths).enumerated().map { column, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return numbers.contains(column) ? padding + cell.0 : cell.0 + padding
            }
            var line = cells.joined(separator: "  ")
            while line.utf8.last == UInt8(ascii: " ") { line.unicodeScalars.removeLast() }
            return line
        }
    }
}
