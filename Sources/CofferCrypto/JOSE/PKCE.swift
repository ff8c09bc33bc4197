public import CofferBase
import CofferEngine

/// A proof key for code exchange (RFC 7636) with the method S256, the only one.
public struct PKCE: ~Copyable, Sendable {
    /// The verifier, which is sent with the code.
    public let verifier: SecretBytes
    /// The challenge, which is sent with the request for the code.
    public let challenge: String
    /// The method's name.
    public static let method = "S256"

    /// Returns a key with a verifier of 32 random bytes.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func generate() throws(CofferError) -> PKCE {
        let random = try SecretBytes.random(count: 32)
        return try PKCE.make(verifier: try Base64URL.encode(random))
    }

    /// Returns the key with this verifier.
    ///
    /// - Throws: `invalidInput` if the verifier is not 43 to 128 letters, digits, `-`, `.`, `_` or `~`.
    public static func make(verifier: consuming SecretBytes) throws(CofferError) -> PKCE {
        let challenge = try challenge(of: verifier)
        return PKCE(verifier: verifier, challenge: challenge)
    }

    private init(verifier: consuming SecretBytes, challenge: String) {
        self.verifier = verifier
        self.challenge = challenge
    }

    private static func challenge(of verifier: borrowing SecretBytes) throws(CofferError) -> String {
        let bytes = verifier.guarded.span
        var isPermitted = 43...128 ~= bytes.count
        for index in 0..<bytes.count where !isUnreserved(bytes[index]) { isPermitted = false }
        guard isPermitted else {
            throw CofferError(
                .invalidInput, "A code verifier must have 43 to 128 letters, digits or characters of -._~.")
        }
        return try Base64URL.encode(try Digest.sha256.hash(bytes))
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
