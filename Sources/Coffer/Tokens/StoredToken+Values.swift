public import CofferBase
public import FoundationEssentials

/// Access to the token's value as ordinary Swift types. Every result is a copy that is neither guarded nor
/// cleared; ``Token/exposing(_:)`` provides the bytes without copying them.
extension StoredToken {
    /// A copy of the value as text, neither guarded nor cleared; `nil` if the bytes are not UTF-8.
    public var string: String? { token.exposingString { $0 } }

    /// A copy of the value, neither guarded nor cleared.
    public var data: Data { Data(token.copyBytes()) }

    /// Decodes a value that was stored as JSON, for example by
    /// ``TokenStore/put(encoding:for:class:expires:scopes:attributes:isEphemeral:precondition:)``. The value
    /// and its JSON are neither guarded nor cleared.
    ///
    /// - Parameter type: The type of the value to decode.
    /// - Returns: The decoded value.
    /// - Throws: `invalidInput` if the token is not valid JSON for this type.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws(CofferError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            // The error of the decoder may contain a part of the value.
            throw CofferError(.invalidInput, "The token's value is not valid JSON for the type \(type).")
        }
    }
}
