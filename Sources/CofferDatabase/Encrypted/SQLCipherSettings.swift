import CofferBase
import CofferEngineSQLite

/// The settings in which a SQLCipher database differs from its format's defaults: those that a program chose
/// with SQLCipher's pragmas, or the defaults of an earlier SQLCipher version.
///
/// ```swift
/// let key = try DatabaseKey.passphrase(passphrase, format: .sqlcipher3)
///     .with(SQLCipherSettings(iterations: 4000))  // SQLCipher 2
/// ```
public struct SQLCipherSettings: Sendable, Hashable {
    /// The number of PBKDF2 rounds for a passphrase (`kdf_iter`), at most 10 million; `nil` for the default:
    /// 256000 in `sqlcipher4`, 64000 in `sqlcipher3`. A 32-byte key needs no derivation.
    public var iterations: Int?

    /// The page size in bytes (`cipher_page_size`): a power of two from 1024 to 65536; `nil` for the default:
    /// 4096 in `sqlcipher4`, 1024 in `sqlcipher3`.
    public var pageSize: Int?

    /// The 16-byte salt, if it is stored outside the database (`cipher_salt`); `nil` if the database contains
    /// its salt. A database without its salt begins with plaintext bytes.
    public var salt: [UInt8]?

    /// The number of plaintext bytes at the beginning of a database whose salt is stored outside it
    /// (`cipher_plaintext_header_size`): a multiple of 16, from 16 to 1024. With 1024-byte pages, the maximum
    /// is 928, so at least one block on the first page is encrypted.
    public var plaintextHeader: Int

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - iterations: The number of PBKDF2 rounds for a passphrase; `nil` for the default.
    ///   - pageSize: The page size in bytes; `nil` for the default.
    ///   - salt: The salt, if it is stored outside the database; `nil` if the database contains its salt.
    ///   - plaintextHeader: The number of plaintext bytes at the beginning of a database whose salt is stored
    ///     outside it.
    public init(
        iterations: Int? = nil, pageSize: Int? = nil, salt: [UInt8]? = nil, plaintextHeader: Int = 32
    ) {
        self.iterations = iterations
        self.pageSize = pageSize
        self.salt = salt
        self.plaintextHeader = plaintextHeader
    }

    private static let maxIterations = 10_000_000

    /// Throws `invalidInput` unless a database of this format can have the settings.
    func check(for format: DatabaseFormat) throws(CofferError) {
        guard format != .gcm1 else {
            throw CofferError(.invalidInput, "SQLCipher settings do not apply to gcm1.")
        }
        guard iterations.map({ (1...Self.maxIterations).contains($0) }) ?? true else {
            throw CofferError(
                .invalidInput, "The number of derivation rounds must be 1 to \(Self.maxIterations).")
        }
        guard pageSize.map({ (1024...65_536).contains($0) && $0.nonzeroBitCount == 1 }) ?? true else {
            throw CofferError(.invalidInput, "The page size must be a power of two from 1024 to 65536.")
        }
        guard let salt else { return }
        guard format == .sqlcipher4 else {
            throw CofferError(.invalidInput, "Only sqlcipher4 can have a salt outside the database.")
        }
        guard salt.count == CodecFormat.saltSize else {
            throw CofferError(.invalidInput, "The salt must be 16 bytes long.")
        }
        try checkHeader(plaintextHeader, for: format)
    }

    /// Throws `invalidInput` unless a plaintext header of this length leaves room on the first page, with
    /// these settings' page size, for an encrypted block.
    func checkHeader(_ length: Int, for format: DatabaseFormat) throws(CofferError) {
        let size = pageSize ?? format.codec.pageSize
        let longest = min(1024, size - format.codec.reserve - 16)
        guard length >= 16, length <= longest, length % 16 == 0 else {
            throw CofferError(
                .invalidInput,
                "With a page size of \(size) bytes, the plaintext header's length must be a multiple of "
                    + "16 from 16 to \(longest) bytes.")
        }
    }
}
