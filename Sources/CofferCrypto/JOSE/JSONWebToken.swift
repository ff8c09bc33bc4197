public import CofferBase
import CofferEngine

/// A signed JSON Web Token (RFC 7519) in its compact form (RFC 7515). A value exists only after its signature
/// was verified, so no claim can be read before.
public struct JSONWebToken: Sendable {
    /// The signature algorithms. There is neither `none` nor any algorithm with a shared key, so a public key
    /// cannot be mistaken for one.
    public enum Algorithm: String, Sendable, CaseIterable {
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rs256 = "RS256"
        /// RSASSA-PSS with SHA-256.
        case ps256 = "PS256"
        /// ECDSA over P-256 with SHA-256.
        case es256 = "ES256"
        /// Ed25519. Tokens and keys can also name it `Ed25519` (RFC 9864).
        case edDSA = "EdDSA"

        /// Creates the algorithm with exactly this name; `nil` if there is none.
        init?(named name: String) {
            guard !name.hasSameBytes(as: "Ed25519") else {
                self = .edDSA
                return
            }
            guard let found = Self.allCases.first(where: { $0.rawValue.hasSameBytes(as: name) }) else {
                return nil
            }
            self = found
        }
    }

    /// The algorithm of the signature.
    public let algorithm: Algorithm
    /// The name of the key in the token; `nil` if the token names none.
    public let keyID: String?
    /// The claims, an object.
    public let claims: JSONValue

    /// The size of the longest token in bytes.
    public static let largestSize = 65_536

    /// Verifies a token's signature.
    ///
    /// Keys and their addresses in the token itself are ignored. A token with critical extensions is refused.
    ///
    /// - Parameters:
    ///   - token: The token in its compact form.
    ///   - keys: The issuer's keys.
    ///   - algorithms: The permitted algorithms.
    ///   - types: The permitted types, in which case does not matter; a token without a type is of the type
    ///     `JWT`.
    /// - Throws: `invalidInput` if the token is malformed, and `notAuthentic` if its algorithm, type, key or
    ///   signature is not as required.
    public init(
        verifying token: borrowing SecretBytes, keys: JSONWebKeySet,
        algorithms: Set<Algorithm> = Set(Algorithm.allCases), types: [String] = ["JWT"]
    ) throws(CofferError) {
        let bytes = token.guarded.span
        let parts = try Self.parts(bytes)
        let header = try Self.object(bytes.extracting(parts[0]))
        algorithm = try Self.algorithm(header, allowed: algorithms)
        try Self.checkType(header["typ"], types)
        guard header["crit"] == nil, header["b64"] == nil else {
            throw CofferError(.notAuthentic, "The token requires an extension that is not supported.")
        }
        guard header["kid"] == nil || header["kid"]?.string != nil else { throw Self.malformed }
        keyID = header["kid"]?.string
        let key = try keys.key(named: keyID, for: algorithm)
        let signature = try Base64URL.decode(bytes.extracting(parts[2]))
        guard
            try Self.isValid(
                signature.span, for: bytes.extracting(0..<parts[1].upperBound), key, algorithm)
        else { throw CofferError(.notAuthentic, "The token's signature is not valid.") }
        claims = .object(try Self.object(bytes.extracting(parts[1])))
    }

    static var malformed: CofferError {
        CofferError(.invalidInput, "The token is not a signed JSON Web Token in its compact form.")
    }

    /// Returns the places of the header, the claims and the signature.
    private static func parts(_ bytes: Span<UInt8>) throws(CofferError) -> [Range<Int>] {
        guard bytes.count <= largestSize else { throw malformed }
        var parts: [Range<Int>] = []
        var start = 0
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: ".") {
            parts.append(start..<index)
            start = index + 1
        }
        parts.append(start..<bytes.count)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty }) else { throw malformed }
        return parts
    }

    private static func object(_ text: Span<UInt8>) throws(CofferError) -> [String: JSONValue] {
        guard let members = try JSONValue(parsing: try Base64URL.decode(text)).object else { throw malformed }
        return members
    }

    private static func algorithm(
        _ header: [String: JSONValue], allowed: Set<Algorithm>
    ) throws(CofferError) -> Algorithm {
        guard let name = header["alg"]?.string else { throw malformed }
        guard let algorithm = Algorithm(named: name), allowed.contains(algorithm) else {
            throw CofferError(.notAuthentic, "The token's signature algorithm is not permitted.")
        }
        return algorithm
    }

    private static func checkType(_ value: JSONValue?, _ types: [String]) throws(CofferError) {
        let type: String
        if let value {
            guard let text = value.string else { throw malformed }
            type = text
        } else {
            type = "JWT"
        }
        guard types.contains(where: { $0.foldedASCII.hasSameBytes(as: type.foldedASCII) }) else {
            throw CofferError(.notAuthentic, "The token is of another type.")
        }
    }

    private static func isValid(
        _ signature: Span<UInt8>, for message: Span<UInt8>, _ key: JSONWebKey, _ algorithm: Algorithm
    ) throws(CofferError) -> Bool {
        switch (algorithm, key.material) {
        case (.rs256, .rsa(let key)):
            try RSASignature.isValid(signature: signature, for: message, publicKey: key, padding: .pkcs1)
        case (.ps256, .rsa(let key)):
            try RSASignature.isValid(signature: signature, for: message, publicKey: key, padding: .pss)
        case (.es256, .p256(let key)):
            try ECDSAP256.isValid(signature: signature, for: message, publicKey: key.span)
        case (.edDSA, .ed25519(let key)):
            try Ed25519.isValid(signature: signature, for: message, publicKey: key.span)
        default: false
        }
    }
}
