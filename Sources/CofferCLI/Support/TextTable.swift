import CofferBase

extension String {
    /// The text without characters that disturb a terminal or a line, or are invisible: one name on the
    /// screen must not look like another.
    var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.isPrintable ? $0 : "?" }))
    }
}

extension Unicode.Scalar {
    /// Combining marks are kept because they belong to the letter before, as are variation selectors.
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
    /// A heading and rows; the first `textColumns` columns are flush left, the others, numbers, flush right.
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
