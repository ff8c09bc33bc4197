import CofferEngineSQLite

/// The format in which the pages of a database are encrypted.
public enum DatabaseFormat: String, Sendable, CaseIterable {
    /// AES-256-GCM with 24-byte nonces. The fastest format, for new databases.
    case gcm1
    /// The page format of SQLCipher 4 with its defaults, for databases that SQLCipher also reads and writes.
    case sqlcipher4
    /// The page format of SQLCipher 3 with its defaults, for reading and converting only.
    case sqlcipher3

    var codec: CodecFormat {
        switch self {
        case .gcm1: .gcm1
        case .sqlcipher4: .sqlcipher4
        case .sqlcipher3: .sqlcipher3
        }
    }
}
