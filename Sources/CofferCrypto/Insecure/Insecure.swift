/// Schemes that exist because apps and data depend on them, not because they are strong.
///
/// A passcode of 4 to 8 digits has at most 1.1 × 10^8 values, and the documented key costs one SHA-256 per
/// guess, so its strength is the secrecy of the UUID. Protect new data with ``Argon2id`` and ``AEAD``.
///
/// swift-crypto has an enumeration of this name too: a file that imports both writes `CofferCrypto.Insecure`.
public enum Insecure {
    /// The documented key, byte for byte: SHA-256 of a UUID and a passcode hash.
    public enum DocumentedKey {}

    /// The documented encryption, byte for byte: AES-CBC without authentication.
    public enum DocumentedCBC {}

    /// The documented PBKDF2 scheme, byte for byte: a key for ``DocumentedCBC`` from a device secret.
    public enum PBKDF2CBC {}
}
