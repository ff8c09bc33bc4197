import CofferBase

/// A parser for `ATTACH` statements.
package enum AttachStatement {
    /// Reports whether a statement begins with the keyword `ATTACH`.
    package static func isOne(_ sql: [UInt8]) -> Bool { start(of: sql) != nil }

    /// Returns the name of the database that a statement attaches.
    ///
    /// - Parameter sql: The statement, with bound values expanded to literals.
    /// - Returns: The name, if the statement is `ATTACH [DATABASE] 'NAME' AS …`; `nil` for another statement,
    ///   and for a name that is an expression of several parts or is not text.
    package static func name(in sql: [UInt8]) -> [UInt8]? {
        guard var rest = start(of: sql) else { return nil }
        skipSpace(&rest)
        _ = takeWord("database", from: &rest)
        skipSpace(&rest)
        guard let name = takeLiteral(from: &rest) else { return nil }
        skipSpace(&rest)
        return takeWord("as", from: &rest) ? name : nil
    }

    /// Returns the rest of the statement after the keyword `ATTACH`; `nil` for any other statement.
    private static func start(of sql: [UInt8]) -> ArraySlice<UInt8>? {
        var rest = sql[...]
        skipSpace(&rest)
        return takeWord("attach", from: &rest) ? rest : nil
    }

    private static func skipSpace(_ rest: inout ArraySlice<UInt8>) {
        rest = rest.drop { $0 == UInt8(ascii: " ") || (9...13).contains($0) && $0 != 11 }
    }

    /// Consumes a keyword. Returns `false` if the text does not begin with it, or if another identifier
    /// character follows.
    private static func takeWord(_ word: String, from rest: inout ArraySlice<UInt8>) -> Bool {
        let found = rest.prefix(word.utf8.count)
        guard found.map({ $0 | 0x20 }).elementsEqual(word.utf8) else { return false }
        let next = rest.dropFirst(found.count).first
        guard next.map({ !SQLText.isIdentifier($0) }) ?? true else { return false }
        rest = rest.dropFirst(found.count)
        return true
    }

    private static func takeLiteral(from rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard let quote = rest.first, quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\"") else {
            return nil
        }
        return SQLText.takeQuoted(from: &rest)
    }
}
