import CofferBase

/// The SQL of a smart query, parsed far enough to distinguish quotations and comments from the rest.
struct SmartTemplate: Sendable {
    /// A piece of SQL; whitespace and comments become one space.
    enum Token: Sendable, Equatable {
        case space
        /// A keyword, a bare name or a number.
        case word(String)
        /// A string or a quoted name, verbatim.
        case quoted(String)
        case symbol(Unicode.Scalar)
        case soup(String, path: String?)
    }

    let tokens: [Token]

    init(_ sql: String) throws(CofferError) {
        var scanner = SmartScanner(sql)
        tokens = try scanner.tokens()
        try Self.check(tokens)
    }

    private static func check(_ tokens: [Token]) throws(CofferError) {
        let significant = tokens.filter { $0 != .space }
        guard case .word(let first)? = significant.first,
            ["select", "with", "values"].contains(first.foldedASCII)
        else { throw refusal("it does not begin with SELECT, WITH or VALUES") }
        var depth = 0
        for token in significant {
            if token == .symbol("(") { depth += 1 }
            if token == .symbol(")") { depth -= 1 }
            guard depth >= 0 else { throw refusal("a closing parenthesis has no opening one") }
            guard token != .symbol(";") else { throw refusal("it contains several statements") }
        }
        guard depth == 0 else { throw refusal("a parenthesis is not closed") }
        try checkVariables(tokens)
    }

    /// Rejects a parenthesis directly after a variable. SQLite treats such a parenthesis, with any quotation
    /// marks inside it, as part of the variable's name.
    private static func checkVariables(_ tokens: [Token]) throws(CofferError) {
        for (index, token) in tokens.enumerated() where token == .symbol("(") && index > 0 {
            guard case .word(let name) = tokens[index - 1] else { continue }
            let marks: [Token] = [.symbol(":"), .symbol("@"), .symbol("#")]
            guard !name.utf8.contains(UInt8(ascii: "$")), index < 2 || !marks.contains(tokens[index - 2])
            else {
                throw refusal("a variable has a parenthesis in its name")
            }
        }
    }

    static func refusal(_ reason: String) -> CofferError {
        CofferError(.invalidInput, "The smart query was refused: \(reason).")
    }

    /// Returns the SQL with the soups' tables and columns in place of the references in braces.
    func sql(_ find: (String) throws -> SoupLayout) throws -> String {
        var pieces: [String] = []
        for token in tokens {
            switch token {
            case .space: pieces.append(" ")
            case .word(let text), .quoted(let text): pieces.append(text)
            case .symbol(let scalar): pieces.append(String(scalar))
            case .soup(let name, nil): pieces.append(try find(name).table)
            case .soup(let name, let path?):
                let layout = try find(name)
                let qualifier = Self.takeQualifier(from: &pieces)
                if path == SoupField.fullText {
                    guard !layout.textIndexes.isEmpty else {
                        throw Self.refusal("\(CofferError.quoted(name)) has no full-text index")
                    }
                    pieces.append(layout.textTable)
                } else {
                    pieces.append(try layout.expression(of: path, in: qualifier ?? layout.table))
                }
            }
        }
        return pieces.joined()
    }

    /// Removes the name before `.{soup:path}` from the output and returns it.
    private static func takeQualifier(from pieces: inout [String]) -> String? {
        guard pieces.last == ".", pieces.count > 1, pieces[pieces.count - 2] != " " else { return nil }
        pieces.removeLast()
        return pieces.removeLast()
    }
}

/// Splits SQL into tokens by the rules of SQLite's own tokenizer.
private struct SmartScanner {
    private let scalars: [Unicode.Scalar]
    private var at = 0

    init(_ sql: String) { scalars = Array(sql.unicodeScalars) }

    private var next: Unicode.Scalar? { at < scalars.count ? scalars[at] : nil }
    private var afterNext: Unicode.Scalar? { at + 1 < scalars.count ? scalars[at + 1] : nil }

    mutating func tokens() throws(CofferError) -> [SmartTemplate.Token] {
        var tokens: [SmartTemplate.Token] = []
        while let scalar = next { tokens.append(try token(scalar)) }
        // One semicolon at the end is customary and does not begin a second statement.
        if let last = tokens.lastIndex(where: { $0 != .space }), tokens[last] == .symbol(";") {
            tokens.remove(at: last)
        }
        return tokens
    }

    private mutating func token(_ scalar: Unicode.Scalar) throws(CofferError) -> SmartTemplate.Token {
        switch scalar {
        case " ", "\t", "\n", "\r", "\u{0C}":
            at += 1
            return .space
        case "-" where afterNext == "-":
            while let scalar = next, scalar != "\n" {
                guard scalar != "\0" else { throw SmartTemplate.refusal("it contains a NUL") }
                at += 1
            }
            return .space
        case "/" where afterNext == "*": return try comment()
        case "'", "\"", "`": return .quoted(try quotation(scalar))
        case "[": return .quoted(try bracket("]"))
        case "{": return try soup()
        case "}": throw SmartTemplate.refusal("a closing brace has no opening one")
        case "\0": throw SmartTemplate.refusal("it contains a NUL")
        default: return isWordPart(scalar) ? word() : symbol(scalar)
        }
    }

    private func isWordPart(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "$": true
        default: !scalar.isASCII
        }
    }

    private mutating func word() -> SmartTemplate.Token {
        let start = at
        while let scalar = next, isWordPart(scalar) { at += 1 }
        return .word(text(from: start))
    }

    private mutating func symbol(_ scalar: Unicode.Scalar) -> SmartTemplate.Token {
        at += 1
        return .symbol(scalar)
    }

    private mutating func comment() throws(CofferError) -> SmartTemplate.Token {
        at += 2
        while let scalar = next {
            if scalar == "*", afterNext == "/" {
                at += 2
                return .space
            }
            at += 1
        }
        throw SmartTemplate.refusal("a comment is not closed")
    }

    /// Reads a quotation, in which a doubled mark stands for the mark itself.
    private mutating func quotation(_ mark: Unicode.Scalar) throws(CofferError) -> String {
        let start = at
        at += 1
        while let scalar = next, scalar != "\0" {
            at += 1
            guard scalar == mark else { continue }
            guard next == mark else { return text(from: start) }
            at += 1
        }
        throw SmartTemplate.refusal("a quotation is not closed")
    }

    private mutating func bracket(_ end: Unicode.Scalar) throws(CofferError) -> String {
        let start = at
        while let scalar = next, scalar != "\0" {
            at += 1
            if scalar == end { return text(from: start) }
        }
        throw SmartTemplate.refusal("a bracket is not closed")
    }

    private mutating func soup() throws(CofferError) -> SmartTemplate.Token {
        let start = at
        let whole = try bracket("}").utf8.dropFirst().dropLast()
        guard at > start, !whole.contains(UInt8(ascii: "{")) else {
            throw SmartTemplate.refusal("a brace is inside another brace")
        }
        let colon = whole.firstIndex(of: UInt8(ascii: ":"))
        let name = String(Substring(whole[..<(colon ?? whole.endIndex)]))
        guard !name.isEmpty else { throw SmartTemplate.refusal("braces do not contain a soup's name") }
        guard let colon else { return .soup(name, path: nil) }
        let path = String(Substring(whole[colon...].dropFirst()))
        return .soup(name, path: path)
    }

    private func text(from start: Int) -> String {
        String(String.UnicodeScalarView(scalars[start..<at]))
    }
}
