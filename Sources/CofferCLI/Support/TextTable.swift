import CofferBase

extension String {
    /// The text with what would disturb a terminal or a line, or is not seen, replaced: a name on the screen
    /// is not to look like another.
    var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.isPrintable ? $0 : "?" }))
    }
}

extension Unicode.Scalar {
    /// Marks stay, as they belong to the letter before; so does what chooses between the looks of a sign.
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
