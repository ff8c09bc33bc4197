public import CofferCrypto
import CofferEngine
import CofferEngineSQLite

/// The key of an encrypted database, with the format that it is for.
///
/// A key of 32 bytes is best: opening a connection then costs no derivation. A passphrase goes through the
/// format's own: Argon2id for `gcm1`, PBKDF2 as SQLCipher does it for the others.
public struct DatabaseKey: ~Copyable, Sendable {
    /// How the pages are encrypted.
    public let format: DatabaseFormat
    let secret: SecretBytes
    /// What a passphrase costs; `nil` for a key.
    let costs: DerivationCosts?
    let salt: [UInt8]?
    private let plaintextHeader: Int

    private init(
        _ secret: consuming SecretBytes, format: DatabaseFormat, costs: DerivationCosts? = nil,
        salt: [UInt8]? = nil, plaintextHeader: Int = 0
    ) {
        self.secret = secret
        self.format = format
        self.costs = costs
        self.salt = salt
        self.plaintextHeader = plaintextHeader
    }

    /// A key of 32 bytes.
    ///
    /// - Parameters:
    ///   - key: The bytes.
    ///   - format: How the pages are encrypted.
    ///   - salt: The 16 random bytes in the clear part of the database's first page; 6 with `gcm1` in the
    ///     first version of its header. With them beside the key, a database can be opened whose first page
    ///     is torn; `nil` takes them from the file, or draws them for a new one.
    /// - Returns: The key.
    /// - Throws: `invalidInput` for another size.
    public static func raw(
        _ key: consuming SecretBytes, format: DatabaseFormat = .gcm1, salt: [UInt8]? = nil
    ) throws(CofferError) -> DatabaseKey {
        guard key.count == 32 else {
            throw CofferError(.invalidInput, "A database's key has 32 bytes, not \(key.count).")
        }
        guard salt.map(format.codec.takesSalt) ?? true else {
            throw CofferError(.invalidInput, "The salt has 16 bytes.")
        }
        return DatabaseKey(key, format: format, salt: salt)
    }

    /// A key of 32 bytes for a database of SQLCipher's that begins in clear (`cipher_plaintext_header_size`).
    ///
    /// Nothing authenticates what is in clear, such as the mode of the journal and the number of pages: for
    /// databases that are in this form, not for new ones.
    ///
    /// - Parameters:
    ///   - key: The bytes.
    ///   - salt: The 16 bytes that SQLCipher takes from outside the file (`cipher_salt`).
    ///   - plaintextHeader: How many bytes are in clear, a multiple of 16.
    /// - Returns: The key, for the format `sqlcipher4`.
    /// - Throws: `invalidInput` for another size of any of the three.
    public static func sqlcipher4(
        _ key: consuming SecretBytes, salt: [UInt8], plaintextHeader: Int
    ) throws(CofferError) -> DatabaseKey {
        guard (16...1024).contains(plaintextHeader), plaintextHeader % 16 == 0 else {
            throw CofferError(.invalidInput, "A plaintext header has 16 to 1024 bytes, a multiple of 16.")
        }
        guard key.count == 32, salt.count == CodecFormat.saltSize else {
            throw CofferError(.invalidInput, "The key has 32 bytes, and the salt 16.")
        }
        return DatabaseKey(
            key, format: .sqlcipher4, salt: salt, plaintextHeader: plaintextHeader)
    }

    /// A new random key.
    ///
    /// - Throws: `outOfMemory`.
    public static func random(format: DatabaseFormat = .gcm1) throws(CofferError) -> DatabaseKey {
        try raw(SecretBytes.random(count: 32), format: format)
    }

    /// A passphrase, which the format's own derivation makes a key of once for all connections.
    ///
    /// In SQLCipher's formats, 64 digits in hexadecimal between `x'` and `'` are no passphrase but the key
    /// itself, and 96 digits the key and the salt, as SQLCipher means it.
    ///
    /// A `gcm1` database says what its passphrase costs, before anything in it can be authenticated. Opening
    /// one that asks for more than 1 GiB of memory or 16 passes throws `refused`.
    ///
    /// - Parameters:
    ///   - passphrase: Its bytes, as they are.
    ///   - format: How the pages are encrypted.
    ///   - cost: Memory and passes of a database that is made; `nil` for the standard.
    ///     SQLCipher's formats have a cost of their own.
    ///   - allowingExpensive: Whether a database may ask for more, up to 4 GiB and 64 passes.
    /// - Returns: The key.
    /// - Throws: `invalidInput` when it is empty, or for a cost in SQLCipher's formats.
    public static func passphrase(
        _ passphrase: consuming SecretBytes, format: DatabaseFormat = .gcm1, cost: Argon2id.Cost? = nil,
        allowingExpensive: Bool = false
    ) throws(CofferError) -> DatabaseKey {
        guard passphrase.count > 0 else { throw CofferError(.invalidInput, "The passphrase is empty.") }
        guard cost == nil || format == .gcm1 else {
            throw CofferError(.invalidInput, "The format \(format.rawValue) has a cost of its own.")
        }
        if format != .gcm1, let spelled = spelledKey(passphrase.guarded.span) {
            let bytes = spelled.span
            let salt = bytes.count > 32 ? bytes.extracting(32...).copied() : nil
            return try .raw(SecretBytes.copying(bytes.extracting(..<32)), format: format, salt: salt)
        }
        let costs = DerivationCosts(
            own: DerivationCost(cost ?? .standard), floor: DerivationCost(.floor),
            granted: allowingExpensive ? DerivationCost(.ceiling) : usualCost,
            ceiling: DerivationCost(.ceiling))
        return DatabaseKey(passphrase, format: format, costs: costs)
    }

    /// The most that a file is granted without being asked about: 1 GiB and 16 passes.
    private static let usualCost = DerivationCost(memoryKiB: 1 << 20, passes: 16)

    /// The bytes that a passphrase of SQLCipher's spells; `nil` for any other.
    private static func spelledKey(_ text: Span<UInt8>) -> GuardedBytes? {
        let quote = UInt8(ascii: "'")
        guard text.count == 67 || text.count == 99, text[0] | 0x20 == UInt8(ascii: "x"), text[1] == quote,
            text[text.count - 1] == quote
        else { return nil }
        return try? Encoding.decodeHex(text.extracting(2..<text.count - 1))
    }

    /// Takes the key into the registry of the VFS.
    func lease(
        reserve: Int? = nil, recovers: Bool = false, trace: AccessTrace? = nil
    ) throws(CofferError) -> DatabaseKeyHandle {
        try DatabaseKeyHandle.register(
            format.codec, secret: GuardedBytes.copying(secret.guarded.span), costs: costs,
            salt: salt, reserve: reserve, plaintextHeader: plaintextHeader, recovers: recovers, trace: trace)
    }
}

extension DerivationCost {
    fileprivate init(_ cost: Argon2id.Cost) {
        self.init(memoryKiB: cost.memoryKiB, passes: cost.passes)
    }
}
