public import CofferBase
import CofferEngine

/// The documented scheme for a UUID in guarded memory. The scheme is only as strong as the UUID is secret.
extension Insecure.DocumentedKey {
    /// Returns a new random version 4 UUID in the documented form: upper case with dashes, 36 bytes.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func newUUID() throws(CofferError) -> SecretBytes {
        let random = try GuardedBytes.random(count: 16)
        var text = try GuardedBytes.zeroed(count: 36)
        write(random.span, to: &text)
        return SecretBytes(text)
    }

    private static func write(_ random: Span<UInt8>, to text: inout GuardedBytes) {
        var span = text.mutableSpan
        var position = 0
        for index in 0..<16 {
            if index == 4 || index == 6 || index == 8 || index == 10 {
                span[position] = UInt8(ascii: "-")
                position += 1
            }
            var byte = random[index]
            if index == 6 { byte = byte & 0x0F | 0x40 }
            if index == 8 { byte = byte & 0x3F | 0x80 }
            span[position] = digit(byte >> 4)
            span[position + 1] = digit(byte & 15)
            position += 2
        }
    }

    /// Returns the upper-case hexadecimal digit for `value` without a table lookup or a branch.
    private static func digit(_ value: UInt8) -> UInt8 { 48 &+ value &+ ((9 &- value) >> 7) &* 7 }

    /// Returns the documented key for a UUID in guarded memory, like the overload that accepts the UUID as a
    /// `String`.
    ///
    /// - Parameters:
    ///   - uuid: The UUID's UTF-8 bytes, hashed unchanged.
    ///   - label: The text that is appended to the UUID; empty in the documented case.
    ///   - passcode: The passcode, whose hash is appended; `nil` appends nothing.
    /// - Returns: The key, which has 32 bytes.
    /// - Throws: `invalidInput` if the UUID is empty.
    public static func key(
        uuid: borrowing SecretBytes, label: String = "", passcode: borrowing SecretBytes?
    ) throws(CofferError) -> SymmetricKey {
        SymmetricKey.adopting(try exposingKey(uuid: uuid, label: label, passcode: passcode))
    }

    /// Returns the documented key as readable bytes, for use in another program that implements the scheme.
    ///
    /// - Parameters:
    ///   - uuid: The UUID's UTF-8 bytes, hashed unchanged.
    ///   - label: The text that is appended to the UUID; empty in the documented case.
    ///   - passcode: The passcode, whose hash is appended; `nil` if there is none.
    /// - Returns: The key's 32 bytes.
    /// - Throws: `invalidInput` if the UUID is empty.
    public static func exposingKey(
        uuid: borrowing SecretBytes, label: String = "", passcode: borrowing SecretBytes?
    ) throws(CofferError) -> SecretBytes {
        switch passcode {
        case .none:
            let prefix = try prefix(uuid: uuid, label: label)
            return SecretBytes(try sha256(prefix))
        case .some(let passcode):
            return try exposingKey(uuid: uuid, label: label, passcode: passcode)
        }
    }

    /// Returns the documented key for a UUID and a passcode as readable bytes.
    ///
    /// - Throws: `invalidInput` if the UUID is empty.
    public static func exposingKey(
        uuid: borrowing SecretBytes, label: String = "", passcode: borrowing SecretBytes
    ) throws(CofferError) -> SecretBytes {
        let prefix = try prefix(uuid: uuid, label: label)
        let hash = try passcodeHash(of: passcode)
        return SecretBytes(try sha256(GuardedBytes.concatenating(prefix.span, hash.guarded.span)))
    }

    private static func prefix(
        uuid: borrowing SecretBytes, label: String
    ) throws(CofferError) -> GuardedBytes {
        guard uuid.count > 0 else { throw noUUID }
        let label = Array(label.utf8)
        return try GuardedBytes.concatenating(uuid.guarded.span, label.span)
    }

    /// Returns the passphrase for a documented SQLCipher database, made from the passcode if one is set,
    /// otherwise from the UUID. Either value is hashed like a passcode: Base64(SHA-256(UTF-8)), 44 ASCII
    /// bytes. SQLCipher derives the key from the passphrase with PBKDF2.
    ///
    /// If a passcode is set, the UUID is not used: an attacker who has the database can guess a passcode of a
    /// few digits. Use this function only for existing databases, and a random key for new ones.
    ///
    /// - Parameters:
    ///   - uuid: The UUID's UTF-8 bytes, hashed unchanged; required even if a passcode is set, so no caller
    ///     can omit it by mistake.
    ///   - passcode: The passcode; `nil` or empty if there is none.
    /// - Returns: The passphrase as 44 ASCII bytes.
    /// - Throws: `invalidInput` if the UUID is empty.
    public static func databasePassphrase(
        uuid: borrowing SecretBytes, passcode: borrowing SecretBytes?
    ) throws(CofferError) -> SecretBytes {
        guard uuid.count > 0 else { throw noUUID }
        switch passcode {
        case .none: return try passcodeHash(of: uuid)
        case .some(let passcode):
            if passcode.count > 0 { return try passcodeHash(of: passcode) }
            return try passcodeHash(of: uuid)
        }
    }

    static var noUUID: CofferError {
        CofferError(
            .invalidInput, "The documented key derivation requires a UUID that is not empty.")
    }
}
