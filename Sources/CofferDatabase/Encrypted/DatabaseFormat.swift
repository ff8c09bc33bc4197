import CofferEngineSQLite

/// The format in which a database's pages are encrypted.
public enum DatabaseFormat: String, Sendable, CaseIterable {
    /// AES-256-GCM with 24-byte nonces. This is the fastest format; use it for new databases.
    case gcm1
    /// SQLCipher 4's default page format, for databases that SQLCipher also reads and writes.
    case sqlcipher4
    /// SQLCipher 3's default page format, for reading and converting only.
    case sqlcipher3

    var codec: CodecFormat {
        switch self {
        case .gcm1: .gcm1
        case .sqlcipher4: .sqlcipher4
        case .sqlcipher3: .sqlcipher3
        }
    }
}
