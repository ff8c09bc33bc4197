package import Coffer
package import CofferBase
import CofferEngine

/// An environment variable and the token for it, in the form `NAME=SERVICE/ACCOUNT` or
/// `NAME=SERVICE/ACCOUNT#KIND`.
package struct TokenReference {
    /// The variable's name.
    package let name: String
    /// The token's id.
    package let id: TokenID

    /// The escape sequences for `/`, `#` and `%` inside a part of a reference.
    private static let escapes: [(sequence: String, byte: UInt8)] = [
        ("%2F", UInt8(ascii: "/")), ("%23", UInt8(ascii: "#")), ("%25", UInt8(ascii: "%")),
    ]

    /// Creates a reference from an argument.
    ///
    /// - Parameters:
    ///   - argument: The argument's text.
    ///   - option: The option's name, for the error message.
    /// - Throws: `invalidInput` if the argument has any other form.
    package init(_ argument: String, of option: String) throws(CofferError) {
        guard ProgramArguments.isText(argument) else {
            throw CofferError(.invalidInput, "The names after \(option) must be UTF-8.")
        }
        let bytes = Array(argument.utf8)
        let refusal = CofferError(
            .invalidInput, "\(option) takes NAME=SERVICE/ACCOUNT or NAME=SERVICE/ACCOUNT#KIND.")
        guard let sign = bytes.firstIndex(of: UInt8(ascii: "=")) else { throw refusal }
        name = String(decoding: bytes[..<sign], as: UTF8.self)
        id = try Self.id(bytes[(sign + 1)...], refusal)
    }

    /// Returns the token's id from `SERVICE/ACCOUNT` or `SERVICE/ACCOUNT#KIND`.
    ///
    /// - Parameters:
    ///   - bytes: The text's bytes.
    ///   - refusal: The error for text without a slash.
    /// - Returns: The token's id.
    /// - Throws: `refusal`, or `invalidInput` if the kind is unknown or a part is empty or too long.
    package static func id(
        _ bytes: ArraySlice<UInt8>, _ refusal: CofferError
    ) throws(CofferError) -> TokenID {
        var place = bytes
        var kind = TokenKindArgument.access
        if let mark = place.lastIndex(of: UInt8(ascii: "#")) {
            let word = String(decoding: place[(mark + 1)...], as: UTF8.self)
            guard let known = TokenKindArgument(rawValue: word) else {
                throw CofferError(
                    .invalidInput,
                    "\(word.printable) is not a token kind: use access, refresh, id or other. Write %23 "
                        + "for a # that is part of a name.")
            }
            kind = known
            place = place[..<mark]
        }
        guard let slash = place.lastIndex(of: UInt8(ascii: "/")) else { throw refusal }
        return try TokenID(
            service: Self.decoded(place[..<slash]), account: Self.decoded(place[(slash + 1)...]),
            kind: kind.kind)
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        var result: [UInt8] = []
        var rest = bytes
        while let first = rest.first {
            if let escape = escapes.first(where: { rest.starts(with: $0.sequence.utf8) }) {
                result.append(escape.byte)
                rest = rest.dropFirst(escape.sequence.utf8.count)
            } else {
                result.append(first)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
