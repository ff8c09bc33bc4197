public import CofferBase
import FoundationEssentials

extension JSONValue {
    /// Parses a JSON text.
    ///
    /// - Throws: `invalidInput`, with the position, for a text that RFC 8259 does not allow, a duplicate key,
    ///   a number beyond the range of `Double`, and more than 500 levels.
    public init(parsing text: String) throws(CofferError) {
        self = try JSONReader.value(of: Array(text.utf8))
    }

    /// Parses the bytes of a JSON text.
    ///
    /// - Throws: As ``init(parsing:)-(String)``; also for bytes that are not UTF-8.
    public init(parsing bytes: [UInt8]) throws(CofferError) { self = try JSONReader.value(of: bytes) }

    /// Returns the JSON text, without spaces and with sorted keys.
    ///
    /// - Throws: `invalidInput` for infinity, not-a-number and more than 500 levels.
    public func jsonText() throws(CofferError) -> String { try JSONWriter.text(of: self) }

    /// Encodes `value`. Dates become milliseconds since 1970, like a soup's own dates.
    ///
    /// - Throws: `invalidInput` when JSON cannot represent the value, such as not-a-number.
    public init(encoding value: some Encodable) throws(CofferError) {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .millisecondsSince1970
        let data: Data
        do {
            data = try encoder.encode(value)
        } catch {
            throw CofferError(.invalidInput, "\(type(of: value)) has no JSON form\(Self.place(of: error)).")
        }
        self = try JSONReader.value(of: [UInt8](data))
    }

    /// Decodes this value as `type`.
    ///
    /// - Throws: `invalidInput` when the value does not have the form of `type`.
    public func decoded<Value: Decodable>(as type: Value.Type) throws(CofferError) -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        let data = Data(try JSONWriter.bytes(of: self))
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw CofferError(.invalidInput, "The document is not a \(type)\(Self.place(of: error)).")
        }
    }

    /// Returns the place where a coder failed: the keys on the path, never a value.
    private static func place(of error: any Error) -> String {
        let path: [any CodingKey] =
            switch error {
            case EncodingError.invalidValue(_, let context): context.codingPath
            case DecodingError.typeMismatch(_, let context): context.codingPath
            case DecodingError.valueNotFound(_, let context): context.codingPath
            case DecodingError.keyNotFound(let key, let context): context.codingPath + [key]
            case DecodingError.dataCorrupted(let context): context.codingPath
            default: []
            }
        return path.isEmpty ? "" : " at " + path.map(\.stringValue).joined(separator: ".")
    }
}
