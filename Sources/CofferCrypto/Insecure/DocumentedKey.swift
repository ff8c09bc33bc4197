public import CofferBase
import CofferEngine

extension Insecure.DocumentedKey {
    /// Returns the documented passcode hash: Base64(SHA-256(UTF-8 of the passcode)), 44 ASCII bytes.
    ///
    /// The passcode's bytes are hashed unchanged, without Unicode normalisation.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func passcodeHash(of passcode: borrowing SecretBytes) throws(CofferError) -> SecretBytes {
        let hash = try sha256(passcode.guarded)
        return SecretBytes(try Encoding.base64(hash.span))
    }

    /// Returns the documented key, an AES-256 key: SHA-256(UTF-8 of the UUID ‖ UTF-8 of the label ‖ passcode
    /// hash), 32 bytes.
    ///
    /// - Parameters:
    ///   - uuid: An RFC 4122 version 4 UUID as text, hashed unchanged. The documented form is upper case with
    ///     dashes, 36 bytes.
    ///   - label: The text that is appended to the UUID; empty in the documented case.
    ///   - passcode: The passcode, whose hash is appended; `nil` appends nothing.
    /// - Returns: The key, which has 32 bytes.
    /// - Throws: `invalidInput` if the UUID is empty.
    public static func key(
        uuid: String, label: String = "", passcode: borrowing SecretBytes?
    ) throws(CofferError) -> SymmetricKey {
        SymmetricKey.adopting(try exposingKey(uuid: uuid, label: label, passcode: passcode))
    }

    /// Returns the documented key for a UUID and a passcode.
    ///
    /// - Throws: `invalidInput` if the UUID is empty.
    public static func key(
        uuid: String, label: String = "", passcode: borrowing SecretBytes
    ) throws(CofferError) -> SymmetricKey {
        SymmetricKey.adopting(try exposingKey(uuid: uuid, label: label, passcode: passcode))
    }

    /// Returns the documented key as readable bytes, for use in another program that implements the scheme.
    ///
    /// - Parameters:
    ///   - uuid: The UUID as text, as in `key(uuid:label:passcode:)`.
    ///   - label: The text that is appended to the UUID; empty in the documented case.
    ///   - passcode: The passcode, whose hash is appended; `nil` if there is none.
    /// - Returns: The key's 32 bytes.
    /// - Throws: `invalidInput` if the UUID is empty.
    public static func exposingKey(
        uuid: String, label: String = "", passcode: borrowing SecretBytes?
    ) throws(CofferError) -> SecretBytes {
        switch passcode {
        case .none:
            let prefix = try prefix(uuid: uuid, label: label)
            return SecretBytes(try sha256(GuardedBytes.copying(prefix.span)))
        case .some(let passcode):
            return try exposingKey(uuid: uuid, label: label, passcode: passcode)
        }
    }

    private static func exposingKey(
        uuid: String, label: String, passcode: borrowing SecretBytes
    ) throws(CofferError) -> SecretBytes {
        let prefix = try prefix(uuid: uuid, label: label)
        let hash = try passcodeHash(of: passcode)
        return SecretBytes(try sha256(GuardedBytes.concatenating(prefix.span, hash.guarded.span)))
    }

    private static func prefix(uuid: String, label: String) throws(CofferError) -> [UInt8] {
        guard !uuid.isEmpty else { throw noUUID }
        return Array((uuid + label).utf8)
    }

    static func sha256(_ bytes: borrowing GuardedBytes) throws(CofferError) -> GuardedBytes {
        var context = try DigestContext.make(.sha256)
        try context.update(bytes.span)
        var hash = try GuardedBytes.zeroed(count: 32)
        var span = hash.mutableSpan
        try context.finish(into: &span)
        return hash
    }
}
