public import CofferBase
import CofferEngine

/// The same scheme for a UUID that is never a `String`: its secrecy is the scheme's only strength.
extension Insecure.DocumentedKey {
    /// A new random UUID of version 4 in the documented form: upper case with dashes, 36 bytes.
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

    /// Upper-case hexadecimal without a table look-up or a branch.
    private static func digit(_ value: UInt8) -> UInt8 { 48 &+ value &+ ((9 &- value) >> 7) &* 7 }

    /// The documented key of a UUID in guarded memory, as ``key(uuid:label:passcode:)`` computes it for a
    /// text.
    ///
    /// - Parameters:
    ///   - uuid: UTF-8, hashed as given.
    ///   - label: Empty in the documented case.
    ///   - passcode: `nil` if there is none; then nothing is appended.
    /// - Returns: The key.
    /// - Throws: `invalidInput` for an empty UUID.
    public static func key(
        uuid: borrowing SecretBytes, label: String = "", passcode: borrowing SecretBytes?
    ) throws(CofferError) -> SymmetricKey {
        SymmetricKey.adopting(try exposingKey(uuid: uuid, label: label, passcode: passcode))
    }

    /// Returns the same key as readable bytes, to pass it to another program that implements the scheme.
    ///
    /// - Parameters:
    ///   - uuid: UTF-8, hashed as given.
    ///   - label: Empty in the documented case.
    ///   - passcode: `nil` if there is none.
    /// - Returns: The key's 32 bytes.
    /// - Throws: `invalidInput` for an empty UUID.
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

    /// Returns the same bytes when a passcode is known to be set.
    ///
    /// - Throws: `invalidInput` for an empty UUID.
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

    /// The passphrase of a documented SQLCipher database, from the passcode if one is set, otherwise from the
    /// UUID. Either is hashed like a passcode: Base64(SHA-256(its UTF-8)), 44 ASCII bytes, from which
    /// SQLCipher's own PBKDF2 derives the key.
    ///
    /// If a passcode is set, the UUID plays no part: an attacker who has the database can guess a passcode of
    /// a few digits. For existing databases; use a random key for new ones.
    ///
    /// - Parameters:
    ///   - uuid: UTF-8, hashed as given; required even if a passcode is set, so that callers do not forget
    ///     it.
    ///   - passcode: `nil` or empty if there is none.
    /// - Returns: The passphrase as text.
    /// - Throws: `invalidInput` for an empty UUID.
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

    static var noUUID: CofferError { CofferError(.invalidInput, "The documented key requires a UUID.") }
}
