public import CofferBase
import FoundationEssentials

extension JSONValue {
    /// The value that a JSON text stands for.
    ///
    /// - Throws: `invalidInput`, with the place, for what RFC 8259 does not allow, a key that stands twice
    ///   and more than 500 levels.
    public init(parsing text: String) throws(CofferError) {
        self = try JSONReader.value(of: Array(text.utf8))
    }

    /// The value that the bytes of a JSON text stand for.
    ///
    /// - Throws: As ``init(parsing:)-(String)``; also for what is not UTF-8.
    public init(parsing bytes: [UInt8]) throws(CofferError) { self = try JSONReader.value(of: bytes) }

    /// The JSON text, without spaces and with keys in order.
    ///
    /// - Throws: `invalidInput` for infinity, not-a-number and more than 500 levels.
    public func jsonText() throws(CofferError) -> String { try JSONWriter.text(of: self) }

    /// The value that `value` encodes to. Dates become milliseconds since 1970, like those of a soup.
    ///
    /// - Throws: `invalidInput` when JSON has no form for it, such as not-a-number.
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

    /// The `type` that this value is the encoded form of.
    ///
    /// - Throws: `invalidInput` when it is not one.
    public func decoded<Value: Decodable>(as type: Value.Type) throws(CofferError) -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        let data = Data(try JSONWriter.bytes(of: self))
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw CofferError(.invalidInput, "The document is no \(type)\(Self.place(of: error)).")
        }
    }

    /// Where a coder gave up: the keys on the way, never a value.
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
