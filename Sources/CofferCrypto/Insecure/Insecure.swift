/// Weak schemes for apps and data that already depend on them.
///
/// There are about 1.1 × 10^8 passcodes of 4 to 8 digits, and each guess of the documented key takes at most
/// two SHA-256 computations, so the key is only as strong as the UUID is secret. Protect new data with
/// ``Argon2id`` and ``AEAD``.
///
/// swift-crypto also declares an enumeration of this name, so a file that imports both modules must write
/// `CofferCrypto.Insecure`.
public enum Insecure {
    /// The documented key, byte for byte: SHA-256 of a UUID and a passcode hash.
    public enum DocumentedKey {}

    /// The documented encryption, byte for byte: AES-CBC without authentication.
    public enum DocumentedCBC {}

    /// The documented PBKDF2 scheme, byte for byte: a key for ``DocumentedCBC`` from a device secret.
    public enum PBKDF2CBC {}
}
