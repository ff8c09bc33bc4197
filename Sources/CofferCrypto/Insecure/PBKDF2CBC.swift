public import CofferBase
import CofferEngine

extension Insecure.PBKDF2CBC {
    /// The derivation parameters, which are stored with the data.
    public struct Parameters: Sendable, Equatable {
        /// The HMAC's hash function: SHA-1, SHA-256 or SHA-512.
        public let digest: Digest
        /// The salt; at least 16 random bytes for new data.
        public let salt: [UInt8]
        /// The number of rounds.
        public let rounds: Int
        /// The AES key's size in bytes, 16 or 32.
        public let keySize: Int

        /// Creates parameters after checking their values.
        ///
        /// - Throws: `invalidInput` if the digest or the key size is not supported, or if `rounds` is less
        ///   than 1.
        public init(digest: Digest, salt: [UInt8], rounds: Int, keySize: Int) throws(CofferError) {
            guard [.sha1, .sha256, .sha512].contains(digest) else {
                throw CofferError(.invalidInput, "PBKDF2-CBC supports only SHA-1, SHA-256 and SHA-512.")
            }
            guard keySize == 16 || keySize == 32 else {
                throw CofferError(
                    .invalidInput, "PBKDF2-CBC requires a key of 16 or 32 bytes, not \(keySize).")
            }
            guard rounds >= 1 else {
                throw CofferError(.invalidInput, "PBKDF2 requires at least 1 round, not \(rounds).")
            }
            self.digest = digest
            self.salt = salt
            self.rounds = rounds
            self.keySize = keySize
        }
    }

    /// Derives the AES key from `secret`, for ``Insecure/DocumentedCBC``.
    ///
    /// - Throws: `invalidInput` if a parameter is out of bounds.
    public static func key(
        secret: borrowing SecretBytes, _ parameters: Parameters
    ) throws(CofferError) -> SymmetricKey {
        SymmetricKey.adopting(
            try PBKDF2.derive(
                secret: secret.guarded.span, salt: parameters.salt.span, rounds: parameters.rounds,
                digest: parameters.digest, count: parameters.keySize))
    }

    /// Returns a new random string for the device scheme: 32 random bytes, encoded as 44 bytes of Base64.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func newRandomString() throws(CofferError) -> SecretBytes {
        let random = try GuardedBytes.random(count: 32)
        return SecretBytes(try Encoding.base64(random.span))
    }

    /// Returns the secret for the device scheme: device identifier ‖ random string, both in UTF-8.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func deviceSecret(deviceID: String, randomString: String) throws(CofferError) -> SecretBytes
    {
        try SecretBytes.copying(deviceID + randomString)
    }

    /// Returns the secret for the device scheme: device identifier ‖ random string, both in UTF-8.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func deviceSecret(
        deviceID: String, randomString: borrowing SecretBytes
    ) throws(CofferError) -> SecretBytes {
        let deviceID = Array(deviceID.utf8)
        return SecretBytes(
            try GuardedBytes.concatenating(deviceID.span, randomString.guarded.span))
    }
}
