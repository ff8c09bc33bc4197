public import CofferBase

/// A set of public keys (RFC 7517 section 5), as servers publish it.
public struct JSONWebKeySet: Sendable {
    /// The usable keys.
    public let keys: [JSONWebKey]
    /// The number of keys in the set that are of another kind or of a size that is not permitted, damaged,
    /// not for signatures, or listed twice.
    public let ignoredCount: Int

    /// The size of the largest set in bytes.
    public static let largestSize = 262_144

    /// Creates a set of keys.
    public init(_ keys: [JSONWebKey]) {
        self.keys = keys
        ignoredCount = 0
    }

    /// Creates a set from its JSON text.
    ///
    /// - Throws: `invalidInput` if the text is longer than ``largestSize``, is not JSON without duplicate
    ///   members, or has no list of keys.
    public init(parsing text: [UInt8]) throws(CofferError) {
        guard text.count <= Self.largestSize, let list = try JSONValue(parsing: text)["keys"]?.array else {
            throw CofferError(.invalidInput, "The text is not a JSON Web Key Set.")
        }
        var keys: [JSONWebKey] = []
        for element in list {
            if let key = try? JSONWebKey(parsing: element), !keys.contains(key) { keys.append(key) }
        }
        self.keys = keys
        ignoredCount = list.count - keys.count
    }

    /// Returns the key that a token names.
    ///
    /// - Parameters:
    ///   - keyID: The name in the token; `nil` if it has none, which only a set with one
    ///     suitable key permits.
    ///   - algorithm: The token's algorithm.
    /// - Returns: The key.
    /// - Throws: `notAuthentic` if no key or more than one is suitable.
    public func key(
        named keyID: String?, for algorithm: JSONWebToken.Algorithm
    ) throws(CofferError) -> JSONWebKey {
        let suitable = keys.filter { key in
            guard key.isUsable(for: algorithm) else { return false }
            guard let keyID else { return true }
            return key.keyID?.hasSameBytes(as: keyID) == true
        }
        guard let key = suitable.first, suitable.count == 1 else {
            throw CofferError(
                .notAuthentic,
                suitable.isEmpty
                    ? "The issuer has no key for the token's signature."
                    : "The issuer has more than one key for the token's signature.")
        }
        return key
    }
}
