package import Coffer
package import CofferBase
import CofferCrypto
import CofferEngine

/// A JSON object from a server, whose text stays in guarded memory.
///
/// Reading is strict: RFC 8259 without exceptions, valid UTF-8, no duplicate names after unescaping, and
/// limits on size, depth and the number of values. The document is an index of byte ranges; a secret member
/// is decoded from its range directly into guarded memory and never becomes a `String`.
package final class GuardedJSON: Sendable {
    /// The maximum size of a document, in bytes.
    package static let maxByteCount = 256 << 10
    /// The deepest allowed nesting of arrays and objects.
    package static let maxDepth = 16
    /// The maximum number of values and members in a document.
    package static let maxValueCount = 4096
    /// The maximum size of an escaped member name, in bytes.
    package static let maxNameByteCount = 1024

    /// A value: what it is, and where its text lies.
    enum Value: Sendable {
        /// An object: its values by the unescaped bytes of their names.
        case object([[UInt8]: Value])
        case array([Value])
        /// The range between the quotation marks.
        case string(Range<Int>)
        /// The range of a number in JSON's grammar.
        case number(Range<Int>)
        case bool(Bool)
        case null
    }

    private let document: SecretBytes
    private let members: [[UInt8]: Value]

    /// Creates an index of a copy of `text` in guarded memory. The source is not cleared.
    ///
    /// - Parameters:
    ///   - text: The bytes of the document.
    ///   - limit: The maximum size, at most ``maxByteCount``.
    /// - Throws: `serverMalformed`, without any part of the text, if it is not a JSON object under the rules
    ///   above; `outOfMemory` if no guarded memory is available.
    package init(copying text: Span<UInt8>, limit: Int = GuardedJSON.maxByteCount) throws(CofferError) {
        guard text.count <= min(limit, Self.maxByteCount) else {
            throw Self.malformed("it is longer than allowed")
        }
        members = try GuardedJSONReader.members(of: text)
        document = try SecretBytes.copying(text)
    }

    /// The object itself.
    package var root: Object { Object(document: self, members: members) }

    static func malformed(_ reason: String) -> CofferError {
        CofferError(.serverMalformed, "The server's answer is not valid JSON: \(reason).")
    }

    // MARK: Text of ranges

    /// Decodes a string's range into guarded memory.
    fileprivate func secret(_ range: Range<Int>) throws(CofferError) -> SecretBytes {
        try document.exposing { (bytes) throws(CofferError) -> SecretBytes in
            let source = bytes.extracting(range)
            var count = 0
            var decoded = try GuardedBytes.filled(count: source.count) { (target) throws(CofferError) in
                count = try JSONStringDecoder.decode(source, into: &target)
            }
            decoded.shrink(to: count)
            return SecretBytes(decoded)
        }
    }

    /// Decodes a string's range that is not secret.
    fileprivate func text(_ range: Range<Int>) throws(CofferError) -> String {
        let bytes = try document.exposing { (bytes) throws(CofferError) in
            try JSONStringDecoder.bytes(of: bytes.extracting(range))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The characters of a number.
    fileprivate func digits(_ range: Range<Int>) -> String {
        String(decoding: document.exposing { $0.extracting(range).copied() }, as: UTF8.self)
    }
}

extension GuardedJSON {
    /// An object of the document.
    package struct Object: Sendable {
        fileprivate let document: GuardedJSON
        fileprivate let members: [[UInt8]: Value]

        /// The names of the members, in the order of their bytes. A name is not secret.
        package var names: [String] {
            members.keys.sorted { $0.lexicographicallyPrecedes($1) }
                .map { String(decoding: $0, as: UTF8.self) }
        }

        /// Returns a member's value. A member that is `null` counts as absent, because many servers write
        /// optional members that way.
        func value(_ name: String) -> Value? {
            guard let value = members[Array(name.utf8)] else { return nil }
            if case .null = value { return nil }
            return value
        }

        /// Returns whether the object has a member of this name that is not `null`.
        package func has(_ name: String) -> Bool { value(name) != nil }

        /// Returns whether a member is a string without any character.
        func isEmptyText(_ name: String) -> Bool {
            guard case .string(let range)? = value(name) else { return false }
            return range.isEmpty
        }

        /// Returns the error for a member. Its name may be the server's own text.
        private func wrong(_ name: String, _ what: String) -> CofferError {
            let name = WireText.printable(name)
            return CofferError(.serverMalformed, "The member \(name) of the server's answer is not \(what).")
        }

        /// Returns a secret string member, or `nil` if it is absent.
        ///
        /// - Parameters:
        ///   - name: The member's name.
        ///   - limit: The maximum size after unescaping, in bytes.
        /// - Returns: The decoded bytes in guarded memory.
        /// - Throws: `serverMalformed` if the member is not a string or is too long.
        package func secret(_ name: String, limit: Int) throws(CofferError) -> Token? {
            guard let value = value(name) else { return nil }
            guard case .string(let range) = value else { throw wrong(name, "a string") }
            let secret = try document.secret(range)
            guard secret.count <= limit else { throw wrong(name, "at most \(limit) bytes long") }
            return try Token(secret)
        }

        /// Returns a string member that is not secret, or `nil` if it is absent.
        ///
        /// - Parameters:
        ///   - name: The member's name.
        ///   - limit: The maximum size after unescaping, in bytes.
        /// - Returns: The decoded text.
        /// - Throws: `serverMalformed` if the member is not a string or is too long.
        package func text(_ name: String, limit: Int = 8192) throws(CofferError) -> String? {
            guard let value = value(name) else { return nil }
            guard case .string(let range) = value else { throw wrong(name, "a string") }
            let text = try document.text(range)
            guard text.utf8.count <= limit else { throw wrong(name, "at most \(limit) bytes long") }
            return text
        }

        /// Returns a member that is a string or an array of strings, none of them secret; an absent member
        /// gives an empty array.
        package func texts(_ name: String, limit: Int = 8192) throws(CofferError) -> [String] {
            guard case .array(let values)? = value(name) else {
                return try text(name, limit: limit).map { [$0] } ?? []
            }
            var texts: [String] = []
            for value in values {
                guard case .string(let range) = value else { throw wrong(name, "a list of strings") }
                let text = try document.text(range)
                guard text.utf8.count <= limit else { throw wrong(name, "at most \(limit) bytes long") }
                texts.append(text)
            }
            return texts
        }

        /// Returns a Boolean member, or `nil` if it is absent.
        package func bool(_ name: String) throws(CofferError) -> Bool? {
            guard let value = value(name) else { return nil }
            guard case .bool(let bool) = value else { throw wrong(name, "true or false") }
            return bool
        }

        /// Returns a number exactly as it is written, or `nil` if the member is absent or not a number.
        package func number(_ name: String) -> String? {
            guard case .number(let range)? = value(name) else { return nil }
            return document.digits(range)
        }

        /// Returns a whole number, or `nil` if the member is absent.
        ///
        /// - Parameter name: The member's name.
        /// - Returns: The number.
        /// - Throws: `serverMalformed` if the member is not a number, has a fraction or an exponent, or does
        ///   not fit in 64 bits.
        package func integer(_ name: String) throws(CofferError) -> Int64? {
            guard has(name) else { return nil }
            guard let number = number(name).flatMap({ Int64($0) }) else {
                throw wrong(name, "a whole number of 64 bits")
            }
            return number
        }

        /// Returns an object member, or `nil` if it is absent.
        package func object(_ name: String) throws(CofferError) -> Object? {
            guard let value = value(name) else { return nil }
            guard case .object(let members) = value else { throw wrong(name, "an object") }
            return Object(document: document, members: members)
        }
    }
}
