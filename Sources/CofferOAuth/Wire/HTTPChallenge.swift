import CofferBase

/// The challenges of a response (RFC 9110 section 11.6.1), as far as bearer tokens need them.
struct HTTPChallenge {
    private let bytes: [UInt8]
    private var at = 0

    private init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns the value of the first parameter `error` in a response's challenges; `nil` if there is none,
    /// or if a field cannot be understood up to it.
    static func error(in response: HTTPResponse) -> String? {
        for field in response.headers where field.name.hasSameBytes(as: "www-authenticate") {
            var challenge = HTTPChallenge(field.value)
            if let error = challenge.parameter("error") { return error }
        }
        return nil
    }

    /// Reads on until the parameter with this name. Words that no equals sign follows are schemes.
    private mutating func parameter(_ name: String) -> String? {
        while at < bytes.count {
            let word = readWord()
            guard !word.isEmpty else {
                // A comma, a space, or a character of a scheme's own syntax.
                at += 1
                continue
            }
            skipSpaces()
            guard at < bytes.count, bytes[at] == UInt8(ascii: "=") else { continue }
            at += 1
            skipSpaces()
            guard let value = readValue() else { return nil }
            if String(decoding: word, as: UTF8.self).foldedASCII.hasSameBytes(as: name) { return value }
        }
        return nil
    }

    private mutating func readWord() -> ArraySlice<UInt8> {
        let start = at
        while at < bytes.count, HTTPHead.isTokenByte(bytes[at]) { at += 1 }
        return bytes[start..<at]
    }

    private mutating func skipSpaces() {
        while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x09 { at += 1 }
    }

    /// Reads a word or a quoted text. Returns `nil` if a quotation mark is not closed.
    private mutating func readValue() -> String? {
        guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else {
            return String(decoding: readWord(), as: UTF8.self)
        }
        at += 1
        var text: [UInt8] = []
        while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
            if bytes[at] == UInt8(ascii: "\\") { at += 1 }
            guard at < bytes.count else { return nil }
            text.append(bytes[at])
            at += 1
        }
        guard at < bytes.count else { return nil }
        at += 1
        return String(decoding: text, as: UTF8.self)
    }
}
