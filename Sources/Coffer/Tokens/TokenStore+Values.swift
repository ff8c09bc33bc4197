public import CofferBase
public import CofferVault
public import FoundationEssentials

/// Functions that store and read tokens as ordinary Swift values, for programs that already have a secret in
/// such a value.
///
/// Such values are in memory that is neither guarded nor cleared, and so is every copy that a program makes
/// of them. A ``Token`` that was read from a descriptor or a terminal is never in such memory.
extension TokenStore {
    /// The token stored under a name, as ``get(_:)`` returns it; `nil` if there is none.
    ///
    /// ```swift
    /// let key = try await vault.tokens[id]?.string
    /// ```
    ///
    /// - Parameter id: The token's name.
    /// - Throws: `locked`, `wiped` or `corrupt`.
    public subscript(id: TokenID) -> StoredToken? {
        get async throws(CofferError) { try await get(id) }
    }

    /// Stores text under a name, replacing any value stored there, whose class, scopes and attributes it
    /// keeps under the conditions of `put`. To set a class, an expiry date or other properties, use `put`.
    ///
    /// - Parameters:
    ///   - text: The value, which is stored as UTF-8. The string itself is neither guarded nor cleared.
    ///   - id: The token's name.
    /// - Returns: The new version, or ``PutResult/queued`` if the value is pending until an unlock.
    /// - Throws: `invalidInput` if there are more than ``Token/maxByteCount`` bytes; otherwise the errors
    ///   that `put` throws.
    @discardableResult
    public func set(_ text: String, for id: TokenID) async throws(CofferError) -> PutResult {
        try await put(text, for: id)
    }

    /// Stores text in the same way that
    /// ``put(_:for:class:expires:scopes:attributes:isEphemeral:precondition:)-(Token,_,_,_,_,_,_,_)`` stores
    /// a guarded token.
    ///
    /// - Parameters:
    ///   - text: The value, which is stored as UTF-8. The string itself is neither guarded nor cleared.
    ///   - id: The token's name.
    ///   - protection: When the token can be read; `nil` for the class of the stored value.
    ///   - expires: When the token expires; `nil` if it never expires.
    ///   - scopes: The token's OAuth scopes; `nil` for those of the stored value.
    ///   - attributes: The caller's own attributes; `nil` for those of the stored value.
    ///   - isEphemeral: Whether to keep the token only in memory.
    ///   - precondition: The condition that the currently stored value must meet.
    /// - Returns: The new version, or ``PutResult/queued`` if the value is pending until an unlock.
    /// - Throws: `invalidInput` if there are more than ``Token/maxByteCount`` bytes; otherwise the same
    ///   errors as for a ``Token``.
    @discardableResult
    public func put(
        _ text: String, for id: TokenID, class protection: ProtectionClass? = nil, expires: Date? = nil,
        scopes: [String]? = nil, attributes: [String: String]? = nil, isEphemeral: Bool = false,
        precondition: Precondition = .any
    ) async throws(CofferError) -> PutResult {
        try await put(
            Token(copying: text), for: id, class: protection, expires: expires, scopes: scopes,
            attributes: attributes, isEphemeral: isEphemeral, precondition: precondition)
    }

    /// Stores data in the same way that
    /// ``put(_:for:class:expires:scopes:attributes:isEphemeral:precondition:)-(Token,_,_,_,_,_,_,_)`` stores
    /// a guarded token.
    ///
    /// - Parameters:
    ///   - data: The value, which is neither guarded nor cleared.
    ///   - id: The token's name.
    ///   - protection: When the token can be read; `nil` for the class of the stored value.
    ///   - expires: When the token expires; `nil` if it never expires.
    ///   - scopes: The token's OAuth scopes; `nil` for those of the stored value.
    ///   - attributes: The caller's own attributes; `nil` for those of the stored value.
    ///   - isEphemeral: Whether to keep the token only in memory.
    ///   - precondition: The condition that the currently stored value must meet.
    /// - Returns: The new version, or ``PutResult/queued`` if the value is pending until an unlock.
    /// - Throws: `invalidInput` if there are more than ``Token/maxByteCount`` bytes; otherwise the same
    ///   errors as for a ``Token``.
    @discardableResult
    public func put(
        _ data: Data, for id: TokenID, class protection: ProtectionClass? = nil, expires: Date? = nil,
        scopes: [String]? = nil, attributes: [String: String]? = nil, isEphemeral: Bool = false,
        precondition: Precondition = .any
    ) async throws(CofferError) -> PutResult {
        try await put(
            Token(copying: [UInt8](data)), for: id, class: protection, expires: expires, scopes: scopes,
            attributes: attributes, isEphemeral: isEphemeral, precondition: precondition)
    }

    /// Stores an `Encodable` value as JSON, which ``StoredToken/decoded(as:)`` can decode.
    ///
    /// - Parameters:
    ///   - value: The value to encode. Neither the value nor its JSON is guarded or cleared.
    ///   - id: The token's name.
    ///   - protection: When the token can be read; `nil` for the class of the stored value.
    ///   - expires: When the token expires; `nil` if it never expires.
    ///   - scopes: The token's OAuth scopes; `nil` for those of the stored value.
    ///   - attributes: The caller's own attributes; `nil` for those of the stored value.
    ///   - isEphemeral: Whether to keep the token only in memory.
    ///   - precondition: The condition that the currently stored value must meet.
    /// - Returns: The new version, or ``PutResult/queued`` if the value is pending until an unlock.
    /// - Throws: `invalidInput` if the value cannot be encoded as JSON, for example because it contains NaN,
    ///   or if its JSON has more than ``Token/maxByteCount`` bytes; otherwise the same errors as for a
    ///   ``Token``.
    @discardableResult
    public func put(
        encoding value: some Encodable, for id: TokenID, class protection: ProtectionClass? = nil,
        expires: Date? = nil, scopes: [String]? = nil, attributes: [String: String]? = nil,
        isEphemeral: Bool = false, precondition: Precondition = .any
    ) async throws(CofferError) -> PutResult {
        try await put(
            Self.json(of: value), for: id, class: protection, expires: expires, scopes: scopes,
            attributes: attributes, isEphemeral: isEphemeral, precondition: precondition)
    }

    private static func json(of value: some Encodable) throws(CofferError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        do {
            return try encoder.encode(value)
        } catch {
            // The error of the encoder may contain a part of the value.
            throw CofferError(.invalidInput, "The token's value cannot be encoded as JSON.")
        }
    }
}
