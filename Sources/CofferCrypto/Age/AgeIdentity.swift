public import CofferBase
import CofferEngine

/// The secret key that decrypts age files for one ``AgeRecipient``, such as `AGE-SECRET-KEY-1…` (X25519).
///
/// The key is in guarded memory, which is cleared when the last reference to the identity is released.
public final class AgeIdentity: Sendable {
    private let key: SymmetricKey

    /// The recipient to which files for this identity are encrypted.
    public let recipient: AgeRecipient

    private init(_ key: consuming SymmetricKey) throws(CofferError) {
        let publicKey = try X25519Binding.publicKey(secretKey: key.secret.span)
        recipient = try AgeRecipient(publicKey: publicKey)
        self.key = key
    }

    /// Creates a new identity.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func generate() throws(CofferError) -> AgeIdentity {
        try AgeIdentity(try SymmetricKey.random())
    }

    /// Reads an identity from its text.
    ///
    /// Only the form that age writes is accepted: uppercase letters, without spaces around them.
    ///
    /// - Throws: `invalidInput` if `text` is not an X25519 identity.
    public static func parse(_ text: Span<UInt8>) throws(CofferError) -> AgeIdentity {
        guard let key = try Bech32.identity.decode(text) else {
            throw CofferError(
                .invalidInput,
                "The text is not an age identity. An identity begins with AGE-SECRET-KEY-1 and has "
                    + "\(Bech32.identity.textSize) uppercase letters and digits. Compare the text with the "
                    + "original, because one character may be mistyped or missing.")
        }
        return try AgeIdentity(SymmetricKey(key))
    }

    /// Reads the identities of an identity file, such as `age-keygen` writes: one per line. Blank lines and
    /// lines that begin with `#` are skipped.
    ///
    /// - Throws: `invalidInput` if a line is not an identity, or if there is none. The message has the line's
    ///   number, but nothing of its text.
    public static func list(in text: Span<UInt8>) throws(CofferError) -> [AgeIdentity] {
        try AgeLines.read(text, name: "age identity") { (line) throws(CofferError) in try parse(line) }
    }

    /// Returns the identity's text, `AGE-SECRET-KEY-1…`, in guarded memory.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public func text() throws(CofferError) -> SecretBytes {
        try key.withSpan { (key) throws(CofferError) in SecretBytes(try Bech32.identity.encode(key)) }
    }

    /// Returns the secret that this identity shares with the holder of the secret key for `publicKey`. Throws
    /// `invalidInput` for a public key of low order.
    func sharedSecret(with publicKey: [UInt8]) throws(CofferError) -> SymmetricKey {
        try key.withSpan { (key) throws(CofferError) in
            SymmetricKey(try X25519Binding.sharedSecret(secretKey: key, publicKey: publicKey.span))
        }
    }
}
