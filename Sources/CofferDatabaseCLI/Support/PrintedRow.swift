import CofferBase
import CofferCommandLine
import FoundationEssentials
import GRDB

/// Functions that format the values of a row for printing. Every text value is either printed completely or
/// causes an error.
enum PrintedRow {
    /// Returns the row as one line, with tabs between the columns.
    static func line(_ row: Row) throws(CofferError) -> String {
        var columns: [String] = []
        for (index, column) in row.enumerated() {
            columns.append(text(try whole(column.1, row, index, column.0)))
        }
        return columns.joined(separator: "\t")
    }

    /// Returns the row as a JSON object with one member for each column.
    static func document(_ row: Row) throws(CofferError) -> JSONDocument {
        var members: [(String, JSONDocument)] = []
        for (index, column) in row.enumerated() {
            members.append((column.0, document(try whole(column.1, row, index, column.0))))
        }
        return .object(members)
    }

    /// Returns a value with its complete text. GRDB's conversion stops at the first NUL byte and replaces
    /// bytes that are not UTF-8.
    private static func whole(
        _ value: DatabaseValue, _ row: Row, _ index: Int, _ column: String
    ) throws(CofferError) -> DatabaseValue {
        guard case .string = value.storage else { return value }
        let bytes: Data = row[index]
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CofferError(
                .invalidInput,
                "The text in the column \(column) is not UTF-8. To print the column in hexadecimal, "
                    + "select CAST(… AS BLOB).")
        }
        return text.databaseValue
    }

    private static func text(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .null: ""
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .string(let text): escaped(text)
        case .blob(let bytes): HexText.encode(Array(bytes))
        }
    }

    private static func document(_ value: DatabaseValue) -> JSONDocument {
        switch value.storage {
        case .null: .none
        case .int64(let number): .number(Int(number))
        case .double(let number): number.isFinite ? .decimal(number) : .text(String(number))
        case .string(let text): .text(text)
        case .blob(let bytes): .text(HexText.encode(Array(bytes)))
        }
    }

    /// Returns the text on one line, with characters that control a terminal escaped.
    private static func escaped(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result.append(contentsOf: "\\\\".unicodeScalars)
            case "\t": result.append(contentsOf: "\\t".unicodeScalars)
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\r": result.append(contentsOf: "\\r".unicodeScalars)
            case _ where scalar.isControl: result.append(contentsOf: scalar.escape.unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
