public import CofferBase
import CofferEngine

/// The same schemes over a UUID or a random string that never is a `String`: their secrecy is all the
/// strength that these schemes have.
extension Documented {
    /// A new random UUID of version 4 in the documented form: upper case with dashes, 36 bytes.
    ///
    /// - Throws: `outOfMemory` when there is no guarded memory.
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

    /// A new random string for the device scheme: 32 random bytes in Base64, 44 bytes.
    ///
    /// - Throws: `outOfMemory` when there is no guarded memory.
    public static func newRandomString() throws(CofferError) -> SecretBytes {
        let random = try GuardedBytes.random(count: 32)
        return SecretBytes(try Encoding.base64(random.span))
    }

    /// Upper-case hexadecimal without a look-up or a branch.
    private static func digit(_ value: UInt8) -> UInt8 { 48 &+ value &+ ((9 &- value) >> 7) &* 7 }

    /// The documented key of a UUID in guarded memory: as ``key(uuid:label:passcode:)`` of a text.
    ///
    /// - Parameters:
    ///   - uuid: UTF-8, hashed as given.
    ///   - label: Empty in the documented case.
    ///   - passcode: `nil` when there is none; then nothing is appended.
    /// - Returns: The key.
    /// - Throws: `invalidInput` for an empty UUID.
    public static func key(
        uuid: borrowing SecretBytes, label: String = "", passcode: borrowing SecretBytes?
    ) throws(CofferError) -> SymmetricKey {
        SymmetricKey.adopting(try exposingKey(uuid: uuid, label: label, passcode: passcode))
    }

    /// The same key as bytes that the caller can read, to hand it to another program that knows the scheme.
    ///
    /// - Parameters:
    ///   - uuid: UTF-8, hashed as given.
    ///   - label: Empty in the documented case.
    ///   - passcode: `nil` when there is none.
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

    /// The same bytes where a passcode is set for certain.
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

    /// The passphrase of a documented SQLCipher database: from the passcode where one is set, else from the
    /// UUID. Either is hashed as a passcode is: Base64(SHA-256(its UTF-8)), 44 ASCII bytes, which SQLCipher's
    /// own PBKDF2 makes the key of.
    ///
    /// With a passcode the UUID has no part in it: a passcode of a few digits is guessed by anybody who has
    /// the database. For existing databases; new ones take a random key.
    ///
    /// - Parameters:
    ///   - uuid: UTF-8, hashed as given; needed also where a passcode is set, so that none is forgotten.
    ///   - passcode: `nil` or empty when there is none.
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

    /// The secret of the device scheme: device identifier ‖ random string, both UTF-8.
    ///
    /// - Throws: `outOfMemory` when there is no guarded memory.
    public static func deviceSecret(
        deviceID: String, randomString: borrowing SecretBytes
    ) throws(CofferError) -> SecretBytes {
        let deviceID = Array(deviceID.utf8)
        return SecretBytes(
            try GuardedBytes.concatenating(deviceID.span, randomString.guarded.span))
    }

    static var noUUID: CofferError { CofferError(.invalidInput, "The documented key needs a UUID.") }
}
