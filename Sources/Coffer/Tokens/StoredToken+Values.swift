public import CofferBase
public import FoundationEssentials

/// The value as an ordinary one. Every result is a copy that is neither guarded nor cleared;
/// ``Token/exposing(_:)`` gives the bytes without one.
extension StoredToken {
    /// A copy of the value as text, neither guarded nor cleared; `nil` if the bytes are not UTF-8.
    public var string: String? { token.exposingString { $0 } }

    /// A copy of the value, neither guarded nor cleared.
    public var data: Data { Data(token.copyBytes()) }

    /// Decodes a value that was stored as JSON, such as by
    /// ``TokenStore/put(encoding:for:class:expires:scopes:attributes:isEphemeral:precondition:)``. The value
    /// and its JSON are neither guarded nor cleared.
    ///
    /// - Parameter type: The type to decode the token as.
    /// - Returns: The value.
    /// - Throws: `invalidInput` if the token is not JSON of this type.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws(CofferError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            // The error of the decoder may contain a part of the value.
            throw CofferError(.invalidInput, "The token is not JSON of the type \(type).")
        }
    }
}
