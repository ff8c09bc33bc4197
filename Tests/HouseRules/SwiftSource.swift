/// A Swift file with its code apart from its comments and string literals.
struct SwiftSource: Sendable {
    /// A comment or a literal and the line where it starts, from 1.
    struct Piece: Sendable {
        let line: Int
        let text: String
    }

    /// The path from the repository's root.
    let path: String
    /// The lines as they are.
    let lines: [String]
    /// The lines with spaces in place of comments and of the contents of string literals.
    let code: [String]
    /// The comments, without their marks.
    let comments: [Piece]
    /// The contents of the string literals, escapes as written.
    let literals: [Piece]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var scanner = SourceScanner(text)
        scanner.scan()
        code = String(decoding: scanner.code, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        comments = scanner.comments
        literals = scanner.literals
    }

    /// The folder of the first two components, such as `Sources/CofferEngine`.
    var module: String { path.split(separator: "/").prefix(2).joined(separator: "/") }

    /// The lines of code that `isBad` accepts.
    func findings(_ what: String, where isBad: (String) -> Bool) -> [Finding] {
        code.enumerated().filter { isBad($0.element) }.map {
            Finding(path: path, line: $0.offset + 1, what: what)
        }
    }

    /// Whether a comment in the lines above `line`, at most `reach` of them, mentions `words`.
    func hasComment(_ words: String, above line: Int, reach: Int = 6) -> Bool {
        comments.contains { (line - reach..<line).contains($0.line) && $0.text.contains(words) }
    }
}

/// A place where a rule is broken.
struct Finding: CustomStringConvertible {
    let path: String
    let line: Int
    let what: String

    var description: String { "\(path):\(line): \(what)" }
}
