import CofferBase
import CofferEngine

/// One stanza of an age header: the file key, wrapped for one recipient.
struct AgeStanza: Equatable {
    /// The type, then the arguments of that type.
    let arguments: [[UInt8]]
    let body: [UInt8]

    /// The number of Base64 characters in a full line of a body.
    static let lineSize = 64
    static let prefix = Array("->".utf8)

    init(_ arguments: [[UInt8]], body: [UInt8]) {
        self.arguments = arguments
        self.body = body
    }

    /// Returns whether the stanza's type is `type`.
    func isOf(type: String) -> Bool { arguments[0].elementsEqual(type.utf8) }

    /// The stanza as it is written in a header. The body's last line is shorter than the others, and
    /// therefore sometimes empty.
    func encoded() throws(CofferError) -> [UInt8] {
        var bytes = Self.prefix
        for argument in arguments { bytes += [UInt8(ascii: " ")] + argument }
        bytes.append(UInt8(ascii: "\n"))
        let text = try Encoding.base64TextUnpadded(body)
        for start in stride(from: 0, through: text.count, by: Self.lineSize) {
            bytes += text[start..<min(text.count, start + Self.lineSize)]
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }

    /// Returns the arguments in the first line of a stanza, or `nil` if the line is not valid.
    static func arguments(of line: ArraySlice<UInt8>) -> [[UInt8]]? {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count >= 2, words[0].elementsEqual(prefix) else { return nil }
        for word in words {
            guard !word.isEmpty, word.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        }
        return words.dropFirst().map(Array.init)
    }
}
