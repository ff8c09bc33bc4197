package import CofferBase
package import CofferEngine
import Synchronization
package import SystemPackage

/// The registration of a key with the VFS. While a handle exists, connections can be opened with the URI that
/// its ``uri(for:)`` returns.
package final class DatabaseKeyHandle: Sendable {
    private static let entries = Mutex<[String: KeyEntry]>([:])

    let entry: KeyEntry
    private let token: String

    /// The URI parameter that identifies the key. The encrypting VFS opens only files whose names have this
    /// parameter, and the copies that `VACUUM INTO` creates.
    static let tokenParameter = "kref"

    private init(entry: KeyEntry, token: String) {
        self.entry = entry
        self.token = token
    }

    deinit {
        revoke()
        _ = Self.entries.withLock { $0.removeValue(forKey: token) }
    }

    /// Registers a key.
    ///
    /// - Parameters:
    ///   - format: The format in which the pages are encrypted.
    ///   - secret: A 32-byte key, or a passphrase.
    ///   - costs: The costs of deriving the key from a passphrase; `nil` for a raw key.
    ///   - rounds: The number of rounds in SQLCipher's key derivation; `nil` for the format's default.
    ///   - salt: The known part of the first page's plaintext bytes; `nil` to read it from the file.
    ///   - reserve: The number of bytes that a new database reserves on each page; `nil` for the format's
    ///     default.
    ///   - pageSize: The database's page size in bytes; `nil` for the format's default.
    ///   - plaintextHeader: The number of bytes in the first page that SQLCipher leaves in plaintext; 0 for
    ///     none.
    ///   - recovers: Whether a file in a read-only format may still be written to roll back a transaction
    ///     that a crash interrupted.
    ///   - trace: An object that records every access, for tests.
    /// - Returns: A handle that keeps the key registered.
    /// - Throws: `invalidInput` if the key or the salt has the wrong size or the passphrase is empty;
    ///   `unsupported` if SQLite is older than 3.39, does not register the VFS, or does not open databases by
    ///   URI.
    package static func register(
        _ format: CodecFormat, secret: consuming GuardedBytes, costs: DerivationCosts? = nil,
        rounds: Int? = nil, salt: [UInt8]? = nil, reserve: Int? = nil, pageSize: Int? = nil,
        plaintextHeader: Int = 0,
        recovers: Bool = false, trace: AccessTrace? = nil
    ) throws(CofferError) -> DatabaseKeyHandle {
        guard costs != nil || secret.count == 32 else {
            throw CofferError(.invalidInput, "A database's key must be 32 bytes long, not \(secret.count).")
        }
        guard costs == nil || secret.count > 0 else {
            throw CofferError(.invalidInput, "The passphrase is empty.")
        }
        guard salt.map(format.takesSalt) ?? true else {
            throw CofferError(.invalidInput, "A salt must be \(CodecFormat.saltSize) bytes long.")
        }
        try EncryptedVFS.register()
        let token = try HexText.encode(SecureRandom.bytes(16))
        let entry = KeyEntry(
            format: format, secret: secret, costs: costs, rounds: rounds, salt: salt,
            reserve: reserve ?? format.reserve, pageSize: pageSize ?? format.pageSize,
            plaintextHeader: plaintextHeader, isReadOnly: format.isReadOnly && !recovers, trace: trace)
        entries.withLock { $0[token] = entry }
        return DatabaseKeyHandle(entry: entry, token: token)
    }

    /// Returns the key that is registered under `token`; `nil` if there is none.
    static func entry(_ token: String) -> KeyEntry? { entries.withLock { $0[token] } }

    /// Returns the URI that opens the database at the absolute `path` through the encrypting VFS.
    package func uri(for path: FilePath) -> String {
        DatabaseAddress.uri(for: path, "vfs=\(EncryptedVFS.name)&\(Self.tokenParameter)=\(token)")
    }

    /// Returns the URI that opens the database at the absolute `path`, a string, through the encrypting VFS.
    package func uri(for path: String) -> String { uri(for: FilePath(path)) }

    /// The format in which the pages are encrypted.
    package var format: CodecFormat { entry.format }

    /// The pragma that returns the format's name, which only the encrypting VFS answers. Of the two pragmas
    /// below, the first installs the connection's guard, and the second discards everything that was derived
    /// from a revoked key.
    package static let proofPragma = EncryptedVFS.proofPragma
    package static let guardPragma = EncryptedVFS.guardPragma
    package static let forgetPragma = EncryptedVFS.forgetPragma

    /// The plaintext bytes of the first page; `nil` until the VFS has authenticated or written some part of
    /// the database.
    package var identity: [UInt8]? { entry.provenIdentity }

    /// Returns the salt in the plaintext bytes of a `gcm1` database; `nil` for other bytes.
    package static func salt(ofIdentity identity: [UInt8]) -> [UInt8]? { GCMHeader(identity)?.salt }

    /// Whether the key has been revoked.
    package var isRevoked: Bool { entry.isRevoked }

    /// Whether a queue, or the writer of a pool, has a database open under the key.
    package var isInUse: Bool { entry.isInUse }

    /// Clears the key. Every file that is open under the key fails at its next access.
    package func revoke() { entry.revoke() }

    /// The reason that the first page could not be opened; `nil` if no attempt has failed.
    package var diagnosis: OpenDiagnosis? { entry.diagnosis }
}

/// A namespace for functions that build SQLite URIs from paths.
enum DatabaseAddress {
    static func uri(for path: FilePath, _ query: String) -> String { uri(for: FileNameBytes.of(path), query) }

    static func uri(for path: [UInt8], _ query: String) -> String {
        let encoded = path.map { byte in
            let isPlain =
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "/-._~".utf8.contains(byte)
            guard !isPlain else { return String(decoding: [byte], as: UTF8.self) }
            return "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "file:" + encoded.joined() + "?" + query
    }
}
