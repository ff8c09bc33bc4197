public import CofferBase
@_exported public import enum CofferBase.JSONValue
import FoundationEssentials

extension JSONValue {
    /// Parses a document that the store itself wrote.
    init(stored text: String) throws(CofferError) {
        do throws(CofferError) {
            self = try JSONValue(parsing: text)
        } catch {
            throw CofferError(.corrupt, "A stored document is damaged: \(error.message)")
        }
    }

    /// Creates a JSON value by encoding `value`. Dates become milliseconds since 1970, like a soup's own
    /// dates.
    ///
    /// - Throws: `invalidInput` if JSON cannot represent the value, for example if it contains NaN.
    public init(encoding value: some Encodable) throws(CofferError) {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .millisecondsSince1970
        let data: Data
        do {
            data = try encoder.encode(value)
        } catch {
            throw CofferError(
                .invalidInput,
                "The type \(type(of: value)) cannot be represented in JSON\(Self.place(of: error)).")
        }
        self = try JSONValue(parsing: [UInt8](data))
    }

    /// Returns this value decoded as `type`.
    ///
    /// - Throws: `invalidInput` when the value does not have the form of `type`.
    public func decoded<Value: Decodable>(as type: Value.Type) throws(CofferError) -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        let data = Data(try jsonText().utf8)
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw CofferError(.invalidInput, "The document is not a valid \(type)\(Self.place(of: error)).")
        }
    }

    /// Returns the place where coding failed: the keys on the path, never a value.
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
