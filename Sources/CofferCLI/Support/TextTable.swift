import CofferBase

extension String {
    /// The text with `?` in place of characters that disturb a terminal or a line, or that are invisible, so
    /// that no name on the screen looks like another one.
    var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.isPrintable ? $0 : "?" }))
    }
}

extension Unicode.Scalar {
    /// Whether the character is printed unchanged. Combining marks and variation selectors are, because they
    /// belong to the preceding letter.
    fileprivate var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        case .nonspacingMark: true
        default: !properties.isDefaultIgnorableCodePoint
        }
    }
}

/// A table of text in columns.
enum TextTable {
    /// Returns the lines of a table. The first `textColumns` columns are flush left; the others contain
    /// numbers and are flush right.
    static func lines(_ heading: [String], _ rows: [[String]], textColumns: Int) -> [String] {
        let all = [heading] + rows
        let widths = heading.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = zip(row, widths).enumerated().map { column, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return column < textColumns ? cell.0 + padding : padding + cell.0
            }
            return cells.joined(separator: "  ")
        }
    }
}
