package import CofferBase

/// A JSON document to print: a value, a list of documents, or an object whose members keep their order.
package enum JSONDocument {
    case value(JSONValue)
    case list([JSONDocument])
    case object([(String, JSONDocument)])

    package static func text(_ text: String) -> JSONDocument { .value(.string(text)) }
    package static func number(_ number: Int) -> JSONDocument { .value(.integer(Int64(number))) }
    package static func decimal(_ number: Double) -> JSONDocument { .value(.number(number)) }
    package static func flag(_ flag: Bool) -> JSONDocument { .value(.bool(flag)) }
    package static var none: JSONDocument { .value(.null) }

    /// Returns the document on one line. Characters that control a terminal are escaped, because text in the
    /// document, such as a name, may come from someone else.
    ///
    /// - Throws: `invalidInput` if a number is infinite or is not a number (NaN).
    package func encoded() throws(CofferError) -> String {
        switch self {
        case .value(let value): return try value.jsonText().escapingControls
        case .list(let elements):
            let texts = try elements.map { (element) throws(CofferError) in try element.encoded() }
            return "[" + texts.joined(separator: ",") + "]"
        case .object(let members):
            let texts = try members.map { (member) throws(CofferError) in
                try JSONDocument.text(member.0).encoded() + ":" + member.1.encoded()
            }
            return "{" + texts.joined(separator: ",") + "}"
        }
    }
}
