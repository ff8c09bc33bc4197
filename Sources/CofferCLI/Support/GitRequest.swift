import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// A request from git to a credential helper, which consists of `key=value` lines up to an empty line. Some
/// values are secret, so the whole request is kept in guarded memory.
final class GitRequest: Sendable {
    private static let maxByteCount = 4 << 20
    private let bytes: SecretBytes
    /// The byte ranges of each key's values, in the order in which they occur in the request.
    private let values: [[UInt8]: [Range<Int>]]

    private init(bytes: consuming SecretBytes, values: [[UInt8]: [Range<Int>]]) {
        self.bytes = bytes
        self.values = values
    }

    /// Reads a request from standard input.
    static func read() throws(CofferError) -> GitRequest {
        let bytes = SecretBytes(try SecretInput.all(from: Descriptor.standardInput(), limit: maxByteCount))
        let values = try bytes.exposing { (bytes) throws(CofferError) in try parse(bytes) }
        return GitRequest(bytes: bytes, values: values)
    }

    private static func parse(_ bytes: Span<UInt8>) throws(CofferError) -> [[UInt8]: [Range<Int>]] {
        var values: [[UInt8]: [Range<Int>]] = [:]
        var start = 0
        while start < bytes.count {
            var end = start
            var equals: Int?
            while end < bytes.count, bytes[end] != UInt8(ascii: "\n") {
                guard bytes[end] != 0 else { throw malformed("a NUL byte") }
                if equals == nil, bytes[end] == UInt8(ascii: "=") { equals = end }
                end += 1
            }
            guard end > start else { break }
            guard let equals else { throw malformed("a line without =") }
            let key = bytes.extracting(start..<equals).copied()
            let value = equals + 1..<end
            if !key.suffix(2).elementsEqual("[]".utf8) {
                values[key] = [value]
            } else if value.isEmpty {
                values[key] = nil
            } else {
                values[key, default: []].append(value)
            }
            start = end + 1
        }
        return values
    }

    private static func malformed(_ reason: String) -> CofferError {
        CofferError(.invalidInput, "The credential request is invalid, because it contains \(reason).")
    }

    /// Returns the key's value, which must not be secret, or `nil` if the request does not contain the key.
    func text(_ key: String) throws(CofferError) -> String? {
        guard let range = values[Array(key.utf8)]?.last else { return nil }
        return try text(range)
    }

    /// Returns all values of a key that can have several values. The key must include its brackets.
    func strings(_ key: String) throws(CofferError) -> [String] {
        var strings: [String] = []
        for range in values[Array(key.utf8)] ?? [] { strings.append(try text(range)) }
        return strings
    }

    /// Returns the key's value, which is secret, or `nil` if the request does not contain the key.
    func token(_ key: String) throws(CofferError) -> Token? {
        guard let range = values[Array(key.utf8)]?.last else { return nil }
        return try bytes.exposing { (bytes) throws(CofferError) in
            try Token(SecretBytes.copying(bytes.extracting(range)))
        }
    }

    private func text(_ range: Range<Int>) throws(CofferError) -> String {
        let value = bytes.exposing { $0.extracting(range).copied() }
        guard let text = String(validating: value, as: UTF8.self) else {
            throw Self.malformed("a value that is not UTF-8")
        }
        return text
    }
}
