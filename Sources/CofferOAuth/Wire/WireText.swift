import Coffer
import CofferBase

/// Rules for text that servers send.
enum WireText {
    /// The maximum size of a token, in bytes.
    static let maxTokenByteCount = 64 << 10

    /// Returns whether bytes can be a token: %x21-7E, at least one and at most 64 KiB of them. The rule
    /// refuses spaces, newlines and NUL, which would change the header or the form that carries the token.
    static func isToken(_ bytes: Span<UInt8>) -> Bool {
        guard (1...maxTokenByteCount).contains(bytes.count) else { return false }
        for index in bytes.indices where !(0x21...0x7E).contains(bytes[index]) { return false }
        return true
    }

    /// Returns whether text consists of visible ASCII characters only and is not empty.
    static func isVisible(_ text: String) -> Bool {
        !text.utf8.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Returns the first 64 printable ASCII characters of a server's text and drops all others: an escape
    /// sequence or a page of text must not reach a terminal or a log.
    static func printable(_ text: String) -> String {
        String(decoding: text.utf8.lazy.filter { (0x20...0x7E).contains($0) }.prefix(64), as: UTF8.self)
    }

    /// Returns the number that ASCII digits stand for; `nil` for other text or a number of more than 18
    /// digits.
    static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard (1...18).contains(digits.count) else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return number
    }

    /// Returns whether text is a version of an interface: digits, a point and digits, such as `59.0`.
    static func isVersion(_ text: String) -> Bool {
        let parts = text.parts(between: ".", keepsEmpty: true)
        return parts.count == 2
            && parts.allSatisfy { $0.utf8.count <= 4 && number($0.utf8) != nil }
    }

    /// Returns the scopes in a space-separated list, without duplicates, in the server's order.
    ///
    /// - Throws: `serverMalformed` if a scope has a character that RFC 6749 section 3.3 does not allow, or if
    ///   there are more scopes than can be stored with a token.
    static func scopes(_ text: String) throws(CofferError) -> [String] {
        var scopes: [String] = []
        for scope in text.parts(between: " ") {
            guard isVisible(scope), !scope.utf8.contains(where: { $0 == 0x22 || $0 == 0x5C }) else {
                throw CofferError(.serverMalformed, "The server's list of scopes is invalid.")
            }
            if !scopes.contains(where: { $0.hasSameBytes(as: scope) }) { scopes.append(scope) }
        }
        guard scopes.count <= TokenInfo.maxEntryCount else {
            throw CofferError(.serverMalformed, "The server's list of scopes is too long.")
        }
        return scopes
    }
}
