import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import CofferOAuth

/// The private key of a client.
enum ClientKey {
    private static let maxByteCount = 1 << 16

    /// What stands before the number in a PKCS #8 file with a P-256 key and without its public key.
    private static let head: [UInt8] = [
        0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06,
        0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01, 0x01, 0x04,
        0x20,
    ]

    /// Makes a key for ES256; returns the file to store, and the public key.
    static func create() throws(CofferError) -> (file: Token, publicKey: JSONWebKey) {
        let key = try JSONWebSigningKey.generate()
        let publicKey = key.publicKey
        let file = try key.exposing { (number) throws(CofferError) -> Token in
            let head = Self.head
            let file = try GuardedBytes.concatenating(head.span, number)
            return try Token(SecretBytes(file))
        }
        return (file, publicKey)
    }

    /// Reads a key file from a descriptor, and checks that it contains a key that can be used.
    static func read(_ number: Int32) throws(CofferError) -> Token {
        let descriptor = try Descriptor.inherited(number)
        let bytes = SecretBytes(try SecretInput.all(from: descriptor, limit: maxByteCount))
        _ = try publicKey(in: bytes)
        return try Token(bytes)
    }

    /// Returns the public key that belongs to the private key in a file.
    static func publicKey(in file: borrowing SecretBytes) throws(CofferError) -> JSONWebKey {
        let algorithms: [JSONWebToken.Algorithm] = [.es256, .rs256, .edDSA]
        for algorithm in algorithms {
            do throws(CofferError) {
                return try importedKey(file, algorithm)
            } catch {
                guard error.code == .invalidInput else { throw error }
            }
        }
        throw CofferError(
            .invalidInput,
            "The key must be a P-256 key, an RSA key of 2048 to 8192 bits or an Ed25519 key in an "
                + "unencrypted PKCS #8 file.", remedy: .convertKey)
    }

    private static func importedKey(
        _ file: borrowing SecretBytes, _ algorithm: JSONWebToken.Algorithm
    ) throws(CofferError) -> JSONWebKey {
        let key = try JSONWebSigningKey.importing(file, algorithm: algorithm)
        return key.publicKey
    }

    /// Returns the members of a public key as a JSON Web Key, with the profile's key ID if it has one.
    static func members(
        of key: JSONWebKey, for profile: OAuthProfile
    ) throws(CofferError) -> [String: JSONValue] {
        var members = try key.json().object ?? [:]
        members["kid"] = profile.assertionKeyID.map { .string($0) }
        return members
    }

    /// Throws `alreadyExists` if the profile has a key and it must not be replaced.
    static func checkIsFree(
        _ mayReplace: Bool, of name: String, in profiles: ProfileStore
    ) async throws(CofferError) {
        _ = try await profiles.profile(name)
        guard !mayReplace, try await profiles.secrets(of: name).contains(.key) else { return }
        throw CofferError(
            .alreadyExists, "The profile \(name.printable) has a key. To replace it, specify --replace.")
    }
}
