public import CofferBase
import CofferEngine

/// A public key for signatures as a JSON Web Key (RFC 7517, RFC 8037).
public struct JSONWebKey: Sendable, Hashable {
    /// The key itself.
    public enum Material: Sendable, Hashable {
        /// An uncompressed point of P-256, 65 bytes.
        case p256([UInt8])
        /// An RSA key.
        case rsa(RSASignature.PublicKey)
        /// An Ed25519 public key, 32 bytes.
        case ed25519([UInt8])
    }

    /// The key itself.
    public let material: Material
    /// The key's name, by which tokens refer to it; `nil` if it has none.
    public let keyID: String?
    /// The only algorithm that the key may be used with; `nil` if its owner named none.
    public let algorithm: JSONWebToken.Algorithm?

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - material: The key itself.
    ///   - keyID: The key's name.
    ///   - algorithm: The only algorithm that the key may be used with.
    /// - Throws: `invalidInput` if the point is not on its curve, the key has the wrong size, or the
    ///   algorithm is not one for this kind of key.
    public init(
        _ material: Material, keyID: String? = nil, algorithm: JSONWebToken.Algorithm? = nil
    ) throws(CofferError) {
        let isSound =
            switch material {
            case .p256(let point): ECDSAP256.isPublicKey(point.span)
            case .rsa: true
            case .ed25519(let key): key.count == Ed25519.keySize
            }
        guard isSound, algorithm.map({ Self.algorithms(material).contains($0) }) ?? true else {
            throw Self.unusable
        }
        self.material = material
        self.keyID = keyID
        self.algorithm = algorithm
    }

    private static var unusable: CofferError {
        CofferError(
            .invalidInput, "The JSON Web Key is not a public key for a supported signature algorithm.")
    }

    private static func algorithms(_ material: Material) -> [JSONWebToken.Algorithm] {
        switch material {
        case .p256: [.es256]
        case .rsa: [.rs256, .ps256]
        case .ed25519: [.edDSA]
        }
    }

    /// Returns whether the key may verify signatures of `algorithm`.
    public func isUsable(for algorithm: JSONWebToken.Algorithm) -> Bool {
        Self.algorithms(material).contains(algorithm) && (self.algorithm ?? algorithm) == algorithm
    }
}

extension JSONWebKey {
    /// Creates a key from its JSON object.
    ///
    /// - Throws: `invalidInput` if the object is not a public key for signatures of a supported kind and
    ///   size, or contains private members.
    public init(parsing json: JSONValue) throws(CofferError) {
        let secret = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]
        guard let members = json.object, let type = members["kty"]?.string,
            !secret.contains(where: { members[$0] != nil }), Self.isForSignatures(members)
        else { throw Self.unusable }
        let material: Material
        if type.hasSameBytes(as: "RSA") {
            material = .rsa(
                try RSASignature.PublicKey(
                    modulus: Self.bytes("n", members), exponent: Self.bytes("e", members)))
        } else if type.hasSameBytes(as: "EC"), Self.isText("P-256", members["crv"]) {
            material = .p256([4] + (try Self.coordinate("x", members)) + (try Self.coordinate("y", members)))
        } else if type.hasSameBytes(as: "OKP"), Self.isText("Ed25519", members["crv"]) {
            material = .ed25519(try Self.bytes("x", members))
        } else {
            throw Self.unusable
        }
        var algorithm: JSONWebToken.Algorithm?
        if let name = members["alg"] {
            guard let known = name.string.flatMap({ JSONWebToken.Algorithm(named: $0) }) else {
                throw Self.unusable
            }
            algorithm = known
        }
        guard members["kid"] == nil || members["kid"]?.string != nil else { throw Self.unusable }
        try self.init(material, keyID: members["kid"]?.string, algorithm: algorithm)
    }

    private static func isText(_ text: String, _ value: JSONValue?) -> Bool {
        value?.string?.hasSameBytes(as: text) == true
    }

    /// Returns whether the members that restrict a key's use allow the verification of signatures.
    private static func isForSignatures(_ members: [String: JSONValue]) -> Bool {
        if members["use"] != nil, !isText("sig", members["use"]) { return false }
        guard let operations = members["key_ops"] else { return true }
        return operations.array?.contains { isText("verify", $0) } == true
    }

    private static func bytes(
        _ name: String, _ members: [String: JSONValue]
    ) throws(CofferError) -> [UInt8] {
        guard let text = members[name]?.string else { throw unusable }
        return try Base64URL.decode(text)
    }

    /// Returns a coordinate of 32 bytes. RFC 7518 section 6.2.1.2 requires all of them, but some servers
    /// leave out leading zeros: one key in 128 has one. Whether the point is on the curve is checked later.
    private static func coordinate(
        _ name: String, _ members: [String: JSONValue]
    ) throws(CofferError) -> [UInt8] {
        let bytes = try bytes(name, members)
        guard (1...32).contains(bytes.count) else { throw unusable }
        return [UInt8](repeating: 0, count: 32 - bytes.count) + bytes
    }

    /// Returns the members that define the key, without its name.
    ///
    /// - Throws: `outOfMemory` if no memory is available.
    public func json() throws(CofferError) -> JSONValue {
        switch material {
        case .p256(let point):
            [
                "crv": "P-256", "kty": "EC", "x": .string(try Base64URL.encode(Array(point[1..<33]))),
                "y": .string(try Base64URL.encode(Array(point[33...]))),
            ]
        case .rsa(let key):
            [
                "e": .string(try Base64URL.encode(key.exponent)), "kty": "RSA",
                "n": .string(try Base64URL.encode(key.modulus)),
            ]
        case .ed25519(let key):
            ["crv": "Ed25519", "kty": "OKP", "x": .string(try Base64URL.encode(key))]
        }
    }

    /// Returns the key's SHA-256 thumbprint (RFC 7638) in Base64 for URLs.
    ///
    /// - Throws: `internalFailure` if the underlying library fails.
    public func thumbprint() throws(CofferError) -> String {
        let text = try json().jsonText()
        return try Base64URL.encode(try Digest.sha256.hash(Array(text.utf8).span))
    }
}
