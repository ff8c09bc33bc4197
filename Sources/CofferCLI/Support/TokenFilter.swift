import Coffer
import CofferBase

/// A filter that matches the tokens whose service, account or label contains a given text.
struct TokenFilter {
    /// The attribute that holds a token's label.
    static let label = "label"

    /// The bytes to find, with the letters A to Z in lowercase, or `nil` to match every token.
    private let wanted: [UInt8]?

    init(_ text: String?) { wanted = text.map { Array($0.foldedASCII.utf8) } }

    /// Reports whether the token's service, account or label contains the text.
    func matches(_ info: TokenInfo) -> Bool {
        guard let wanted else { return true }
        return [info.id.service, info.id.account, info.attributes[Self.label] ?? ""].contains { name in
            let bytes = Array(name.foldedASCII.utf8)
            guard bytes.count >= wanted.count else { return false }
            return (0...bytes.count - wanted.count).contains { bytes[$0...].starts(with: wanted) }
        }
    }
}
