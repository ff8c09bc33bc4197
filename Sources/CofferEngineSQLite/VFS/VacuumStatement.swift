import CofferBase

/// A parser for `VACUUM` statements.
package enum VacuumStatement {
    /// Returns the name of the database that a statement vacuums.
    ///
    /// - Parameter sql: The statement.
    /// - Returns: The schema's name, or `main` if the statement does not specify a schema; `nil` for any
    ///   other statement, or for a name that is not terminated.
    package static func schema(in sql: [UInt8]) -> [UInt8]? {
        var rest = sql[...]
        guard let first = takeName(from: &rest), !first.isQuoted, isWord(first.text, "vacuum") else {
            return nil
        }
        skip(&rest)
        guard !rest.isEmpty else { return Array("main".utf8) }
        guard let next = takeName(from: &rest) else { return nil }
        return !next.isQuoted && isWord(next.text, "into") ? Array("main".utf8) : next.text
    }

    private static func isWord(_ text: [UInt8], _ word: String) -> Bool {
        text.map { $0 | 0x20 }.elementsEqual(word.utf8)
    }

    /// Skips whitespace, comments and empty statements.
    private static func skip(_ rest: inout ArraySlice<UInt8>) {
        while let byte = rest.first {
            if rest.starts(with: "--".utf8) {
                rest = rest.drop { $0 != UInt8(ascii: "\n") }
            } else if rest.starts(with: "/*".utf8) {
                rest = rest.dropFirst(2)
                while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
                rest = rest.dropFirst(2)
            } else if byte <= UInt8(ascii: " ") || byte == UInt8(ascii: ";") {
                rest = rest.dropFirst()
            } else {
                return
            }
        }
    }

    private static func takeName(from rest: inout ArraySlice<UInt8>) -> (text: [UInt8], isQuoted: Bool)? {
        skip(&rest)
        switch rest.first {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
            return SQLText.takeQuoted(from: &rest).map { ($0, true) }
        case UInt8(ascii: "["):
            let name = rest.dropFirst().prefix { $0 != UInt8(ascii: "]") }
            guard name.endIndex < rest.endIndex else { return nil }
            rest = rest[(name.endIndex + 1)...]
            return (Array(name), true)
        default:
            let name = rest.prefix(while: SQLText.isIdentifier)
            rest = rest[name.endIndex...]
            return name.isEmpty ? nil : (Array(name), false)
        }
    }
}
