import CofferEngineSQLite

/// How the pages of a database are encrypted.
public enum DatabaseFormat: String, Sendable, CaseIterable {
    /// AES-256-GCM with 24-byte nonces: for new databases, and the fastest.
    case gcm1
    /// The pages of SQLCipher 4 with its defaults, for databases that SQLCipher reads and writes, too.
    case sqlcipher4
    /// The pages of SQLCipher 3 with its defaults, to read and to convert from.
    case sqlcipher3

    var codec: CodecFormat {
        switch self {
        case .gcm1: .gcm1
        case .sqlcipher4: .sqlcipher4
        case .sqlcipher3: .sqlcipher3
        }
    }
}
