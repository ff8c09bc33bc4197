/// A JSON document to print; its members keep their order.
enum JSONDocument {
    case text(String)
    case number(Int)
    case decimal(Double)
    case flag(Bool)
    case none
    case list([JSONDocument])
    case object([(String, JSONDocument)])

    /// The document on one line.
    var encoded: String {
        switch self {
        case .text(let value): Self.quoted(value)
        case .number(let value): String(value)
        case .decimal(let value): String(value)
        case .flag(let value): value ? "true" : "false"
        case .none: "null"
        case .list(let elements): "[" + elements.map(\.encoded).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0) + ":" + $1.encoded }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
