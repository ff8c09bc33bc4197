/// Rule 9 as a function from a file to the places where it breaks it.
extension Rules {
    /// Calls that go by characters, wherever they stand.
    private static let calls = [
        ".split(separator: \"", ".contains(\"", ".firstIndex(of: \"", ".lastIndex(of: \"", ".range(of: \"",
        ".firstRange(of: \"", ".ranges(of: \"", ".replacing(\"", ".components(separatedBy",
        ".trimmingPrefix(",
        ".trimmingCharacters(", ".replacingOccurrences(", ".caseInsensitiveCompare(", ".localizedCompare(",
        ".compare(", ".lowercased()", ".uppercased()", ".wholeMatch(of", ".firstMatch(of", ".prefixMatch(of",
        ".matches(of",
    ]

    /// Calls that are by bytes on `utf8`, by scalars on `unicodeScalars`, and by characters on anything else.
    private static let callsOnViews = [".hasPrefix(", ".hasSuffix(", ".split(whereSeparator:"]

    /// Properties of characters; `properties` of a scalar has some of the same names.
    private static let traits = [
        ".isWhitespace", ".isNewline", ".isNumber", ".isLetter", ".isHexDigit", ".isWholeNumber",
        ".isPunctuation", ".hexDigitValue", ".wholeNumberValue",
    ]

    /// Rule 9: text is compared, searched and taken apart as bytes. What the scanner cannot see is the type
    /// of two variables with `==` between them.
    static func textComparisons(_ source: SwiftSource) -> [Finding] {
        guard source.path.hasPrefix("Sources/") else { return [] }
        return source.code.indices.filter { index in
            let code = source.code[index]
            guard
                code.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "=") })
                    || code.contains("Character")
            else { return false }
            let isByCharacters =
                calls.contains { code.contains($0) } || words(code).contains("Character")
                || (callsOnViews).contains { isCalled($0, in: code, but: ["utf8", "unicodeScalars"]) }
                || traits.contains { isCalled($0, in: code, but: ["properties"]) }
                || comparesOddLiteral(source.lines[index], code)
            return isByCharacters && !source.hasComment("Not bytes:", above: index + 2, reach: 4)
        }.map {
            Finding(path: source.path, line: $0 + 1, what: "goes by characters instead of bytes")
        }
    }

    /// Whether `call` stands in the line behind anything but one of these views.
    private static func isCalled(_ call: String, in line: String, but views: [String]) -> Bool {
        line.ranges(of: call).contains { range in
            let next = line[range.upperBound...].first
            // A longer name that only begins like this one.
            if !call.hasSuffix("("), !call.hasSuffix(":"), let next, next.isLetter || next.isNumber {
                return false
            }
            var before = line[..<range.lowerBound]
            if before.last == "?" { before = before.dropLast() }
            return !views.contains { before.hasSuffix($0) }
        }
    }

    /// Whether a literal is compared with that other text equals canonically: only ASCII without `;`, a
    /// backtick and `K` equals nothing but itself. One character behind `$0` may be a whole character.
    private static func comparesOddLiteral(_ line: String, _ code: String) -> Bool {
        let (text, blank) = (Array(line.utf8), Array(code.utf8))
        guard text.count == blank.count else { return false }
        for sign in ["== \"", "!= \""] {
            for start in blank.indices where blank[start...].starts(with: sign.utf8) {
                let first = start + sign.utf8.count
                guard let end = blank[first...].firstIndex(of: UInt8(ascii: "\"")) else { continue }
                let literal = text[first..<end]
                let isOdd = literal.contains { byte in byte >= 0x80 || ";`K".utf8.contains(byte) }
                let isCharacter = literal.count == 1 && blank[..<start].reversed().starts(with: " 0$".utf8)
                if isOdd || isCharacter { return true }
            }
        }
        return false
    }
}
