public import CofferCrypto
import CofferEngine
import CofferEngineSQLite

/// The key to an encrypted database, with the database's format.
///
/// Prefer a 32-byte key: with it, opening a connection requires no key derivation. The way in which a key is
/// derived from a passphrase depends on the format: `gcm1` uses Argon2id, and the other formats use
/// SQLCipher's PBKDF2.
public struct DatabaseKey: ~Copyable, Sendable {
    /// The format in which the pages are encrypted.
    public let format: DatabaseFormat
    let secret: SecretBytes
    /// The costs of deriving a key from a passphrase; `nil` for a raw key.
    let costs: DerivationCosts?
    let salt: [UInt8]?
    private let plaintextHeader: Int
    /// The SQLCipher settings that differ from its defaults.
    private let settings: SQLCipherSettings

    private init(
        _ secret: consuming SecretBytes, format: DatabaseFormat, costs: DerivationCosts? = nil,
        salt: [UInt8]? = nil, plaintextHeader: Int = 0, settings: SQLCipherSettings = SQLCipherSettings()
    ) {
        self.secret = secret
        self.format = format
        self.costs = costs
        self.salt = salt
        self.plaintextHeader = plaintextHeader
        self.settings = settings
    }

    /// Creates a key from 32 bytes.
    ///
    /// - Parameters:
    ///   - key: The 32-byte key.
    ///   - format: The format in which the pages are encrypted.
    ///   - salt: The 16 random bytes in the plaintext part of the database's first page, or 6 bytes for a
    ///     `gcm1` database with the first version of the header. If you store the salt with the key, you can
    ///     open the database even if its first page is torn. If `salt` is `nil`, the salt is read from the
    ///     file or, for a new file, generated.
    /// - Returns: A key to pass to ``EncryptedDatabase``.
    /// - Throws: `invalidInput` if the key or the salt has the wrong size.
    public static func raw(
        _ key: consuming SecretBytes, format: DatabaseFormat = .gcm1, salt: [UInt8]? = nil
    ) throws(CofferError) -> DatabaseKey {
        guard key.count == 32 else {
            throw CofferError(.invalidInput, "A database's key must be 32 bytes long, not \(key.count).")
        }
        guard salt.map(format.codec.takesSalt) ?? true else {
            throw CofferError(.invalidInput, "The salt must be 16 bytes long.")
        }
        return DatabaseKey(key, format: format, salt: salt)
    }

    /// Creates a key from 32 bytes for a SQLCipher database with a plaintext header
    /// (`cipher_plaintext_header_size`).
    ///
    /// The plaintext bytes, which include the journal mode and the number of pages, are not authenticated.
    /// Use this method for databases that already have a plaintext header, not for new ones.
    ///
    /// - Parameters:
    ///   - key: The 32-byte key.
    ///   - salt: The 16 bytes that SQLCipher reads from outside the file (`cipher_salt`).
    ///   - plaintextHeader: The number of plaintext bytes: a multiple of 16, from 16 to 1024.
    /// - Returns: A key for a database in the format `sqlcipher4`.
    /// - Throws: `invalidInput` if the key, the salt or the plaintext header has the wrong size.
    public static func sqlcipher4(
        _ key: consuming SecretBytes, salt: [UInt8], plaintextHeader: Int
    ) throws(CofferError) -> DatabaseKey {
        try SQLCipherSettings().checkHeader(plaintextHeader, for: .sqlcipher4)
        guard key.count == 32, salt.count == CodecFormat.saltSize else {
            throw CofferError(.invalidInput, "The key must be 32 bytes long, and the salt 16 bytes.")
        }
        return DatabaseKey(
            key, format: .sqlcipher4, salt: salt, plaintextHeader: plaintextHeader)
    }

    /// Returns the same key for a SQLCipher database that was not created with its format's defaults.
    ///
    /// A database does not record its settings. Opening a database with the wrong settings fails in the same
    /// way as opening it with a wrong key.
    ///
    /// - Parameter settings: The settings with which the database was created.
    /// - Returns: A key to pass to ``EncryptedDatabase``.
    /// - Throws: `invalidInput` if the format is `gcm1`, if a setting is out of bounds, or if a plaintext
    ///   header is used in a format other than `sqlcipher4` or leaves no part of the first page to encrypt.
    public consuming func with(_ settings: SQLCipherSettings) throws(CofferError) -> DatabaseKey {
        let (format, costs) = (format, costs)
        // Read before the secret is taken out.
        var (salt, header) = (salt, plaintextHeader)
        try settings.check(for: format)
        if let other = settings.salt {
            (salt, header) = (other, settings.plaintextHeader)
        } else if header > 0 {
            // The key's own header, on pages of the size in the settings.
            try settings.checkHeader(header, for: format)
        }
        return DatabaseKey(
            secret, format: format, costs: costs, salt: salt, plaintextHeader: header, settings: settings)
    }

    /// Creates a random key.
    ///
    /// - Parameter format: The format in which the pages are encrypted.
    /// - Returns: A key made from 32 random bytes.
    /// - Throws: `outOfMemory` if memory for the key cannot be allocated.
    public static func random(format: DatabaseFormat = .gcm1) throws(CofferError) -> DatabaseKey {
        try raw(SecretBytes.random(count: 32), format: format)
    }

    /// Creates a key from a passphrase. Key derivation runs once for each queue or pool.
    ///
    /// In SQLCipher's formats, 64 hexadecimal digits between `x'` and `'` are not a passphrase but the key
    /// itself, and 96 digits are the key and the salt, as in SQLCipher.
    ///
    /// A `gcm1` database records the derivation cost in its header, which cannot be authenticated before the
    /// key is derived. Opening a database that demands more than 1 GiB of memory or 16 passes throws
    /// `refused`, unless `cost` or `allowingExpensive` permits the cost.
    ///
    /// - Parameters:
    ///   - passphrase: The bytes of the passphrase, used unchanged.
    ///   - format: The format in which the pages are encrypted.
    ///   - cost: The memory and the number of passes for a new database; `nil` for the standard cost.
    ///     SQLCipher's formats have fixed costs.
    ///   - allowingExpensive: Whether a database may demand more than 1 GiB of memory or 16 passes, up to 4
    ///     GiB and 64 passes.
    /// - Returns: A key to pass to ``EncryptedDatabase``.
    /// - Throws: `invalidInput` if the passphrase is empty, or if `cost` is specified for one of SQLCipher's
    ///   formats.
    public static func passphrase(
        _ passphrase: consuming SecretBytes, format: DatabaseFormat = .gcm1, cost: Argon2id.Cost? = nil,
        allowingExpensive: Bool = false
    ) throws(CofferError) -> DatabaseKey {
        guard passphrase.count > 0 else { throw CofferError(.invalidInput, "The passphrase is empty.") }
        guard cost == nil || format == .gcm1 else {
            throw CofferError(
                .invalidInput,
                "The derivation cost of the format \(format.rawValue) is fixed. Do not specify a cost.")
        }
        if format != .gcm1, let spelled = spelledKey(passphrase.guarded.span) {
            let bytes = spelled.span
            let salt = bytes.count > 32 ? bytes.extracting(32...).copied() : nil
            return try .raw(SecretBytes.copying(bytes.extracting(..<32)), format: format, salt: salt)
        }
        let costs = DerivationCosts(
            own: DerivationCost(cost ?? .standard), floor: DerivationCost(.floor),
            granted: allowingExpensive ? DerivationCost(.ceiling) : standardCost,
            ceiling: DerivationCost(.ceiling))
        return DatabaseKey(passphrase, format: format, costs: costs)
    }

    /// The highest cost that a file may demand without `allowingExpensive`: 1 GiB and 16 passes.
    private static let standardCost = DerivationCost(memoryKiB: 1 << 20, passes: 16)

    /// Returns the key bytes of a passphrase in SQLCipher's raw-key notation (`x'...'`, in hexadecimal);
    /// `nil` for any other passphrase.
    private static func spelledKey(_ text: Span<UInt8>) -> GuardedBytes? {
        let quote = UInt8(ascii: "'")
        guard text.count == 67 || text.count == 99, text[0] | 0x20 == UInt8(ascii: "x"), text[1] == quote,
            text[text.count - 1] == quote
        else { return nil }
        return try? Encoding.decodeHex(text.extracting(2..<text.count - 1))
    }

    /// Registers the key with the VFS and returns the key's handle.
    func handle(
        reserve: Int? = nil, recovers: Bool = false, trace: AccessTrace? = nil
    ) throws(CofferError) -> DatabaseKeyHandle {
        try DatabaseKeyHandle.register(
            format.codec, secret: GuardedBytes.copying(secret.guarded.span), costs: costs,
            rounds: settings.iterations, salt: salt, reserve: reserve, pageSize: settings.pageSize,
            plaintextHeader: plaintextHeader, recovers: recovers, trace: trace)
    }
}

extension DerivationCost {
    fileprivate init(_ cost: Argon2id.Cost) {
        self.init(memoryKiB: cost.memoryKiB, passes: cost.passes)
    }
}
