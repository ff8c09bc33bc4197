/// Splits Swift text into code, comments and string literals. It knows nested comments, multi-line and raw
/// strings and the code inside interpolations; regex literals count as code.
struct SourceScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    /// The text with everything but code replaced by spaces; newlines stay.
    private(set) var code: [UInt8] = []
    private(set) var comments: [SwiftSource.Piece] = []
    private(set) var literals: [SwiftSource.Piece] = []

    init(_ text: String) {
        bytes = Array(text.utf8)
        code.reserveCapacity(bytes.count)
    }

    mutating func scan() {
        while position < bytes.count { scanCode(inInterpolation: false) }
    }

    /// The byte `offset` places from here; zero beyond the end.
    private func peek(_ offset: Int = 0) -> UInt8 {
        position + offset < bytes.count ? bytes[position + offset] : 0
    }

    private func starts(with first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
        peek() == UInt8(ascii: first) && peek(1) == UInt8(ascii: second)
    }

    private var startsWithThreeQuotes: Bool { starts(with: "\"", "\"") && peek(2) == UInt8(ascii: "\"") }

    /// Moves on by `count` bytes, keeping them as code or blanking them.
    private mutating func advance(_ count: Int = 1, keep: Bool = false) {
        for _ in 0..<count where position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\n") { line += 1 }
            code.append(keep || byte == UInt8(ascii: "\n") ? byte : UInt8(ascii: " "))
            position += 1
        }
    }

    private mutating func scanCode(inInterpolation: Bool) {
        var depth = 0
        while position < bytes.count {
            if starts(with: "/", "/") {
                scanLineComment()
            } else if starts(with: "/", "*") {
                scanBlockComment()
            } else if let hashes = hashesBeforeQuote() {
                scanString(hashes: hashes)
            } else {
                let byte = bytes[position]
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") {
                    if inInterpolation, depth == 0 { return }
                    depth -= 1
                }
                advance(keep: true)
            }
        }
    }

    private mutating func scanLineComment() {
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { advance() }
        add(start..<position, at: line, to: \.comments)
    }

    private mutating func scanBlockComment() {
        let (start, startLine) = (position, line)
        var depth = 0
        repeat {
            if starts(with: "/", "*") {
                depth += 1
                advance(2)
            } else if starts(with: "*", "/") {
                depth -= 1
                advance(2)
            } else {
                advance()
            }
        } while depth > 0 && position < bytes.count
        add(start..<position, at: startLine, to: \.comments)
    }

    /// The number of `#` before a quote that starts here; `nil` when no string starts here.
    private func hashesBeforeQuote() -> Int? {
        var count = 0
        while peek(count) == UInt8(ascii: "#") { count += 1 }
        return peek(count) == UInt8(ascii: "\"") ? count : nil
    }

    private func hasHashes(_ count: Int, at offset: Int) -> Bool {
        (0..<count).allSatisfy { peek(offset + $0) == UInt8(ascii: "#") }
    }

    private mutating func scanString(hashes: Int) {
        advance(hashes, keep: true)
        let isLong = startsWithThreeQuotes
        let quotes = isLong ? 3 : 1
        advance(quotes, keep: true)
        let (start, startLine) = (position, line)
        var end = position
        while position < bytes.count {
            let closes = isLong ? startsWithThreeQuotes : peek() == UInt8(ascii: "\"")
            if closes, hasHashes(hashes, at: quotes) { break }
            if peek() == UInt8(ascii: "\\"), hasHashes(hashes, at: 1) {
                advance(1 + hashes)
                if peek() == UInt8(ascii: "(") {
                    advance()
                    scanCode(inInterpolation: true)
                }
            }
            advance()
            end = position
        }
        add(start..<max(start, end), at: startLine, to: \.literals)
        advance(quotes + hashes, keep: true)
    }

    private mutating func add(
        _ range: Range<Int>, at line: Int, to list: WritableKeyPath<SourceScanner, [SwiftSource.Piece]>
    ) {
        self[keyPath: list].append(
            SwiftSource.Piece(line: line, text: String(decoding: bytes[range], as: UTF8.self)))
    }
}
