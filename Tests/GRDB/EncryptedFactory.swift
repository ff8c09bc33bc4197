import CofferCrypto
import CofferDatabase
import Foundation
import GRDB
import SystemPackage

/// Opens the databases of GRDB's own tests. `Scripts/grdb-suite` puts this file into a copy of them, whose
/// test case then calls it where it called GRDB.
enum EncryptedFactory {
    /// The format that the environment names; `plain` leaves the databases to GRDB, to compare.
    private static let format: DatabaseFormat? = {
        let name = ProcessInfo.processInfo.environment["GRDB_SUITE_FORMAT"] ?? ""
        guard name != "plain" else { return nil }
        guard let format = DatabaseFormat(rawValue: name) else {
            preconditionFailure("GRDB_SUITE_FORMAT is gcm1, sqlcipher4 or plain, not \(name).")
        }
        return format
    }()

    static func queue(_ path: String, _ configuration: Configuration) throws -> DatabaseQueue {
        guard let format else { return try DatabaseQueue(path: path, configuration: configuration) }
        return try EncryptedDatabase.queue(
            at: FilePath(path), key: key(format), configuration: configuration)
    }

    static func pool(_ path: String, _ configuration: Configuration) throws -> DatabasePool {
        guard let format else { return try DatabasePool(path: path, configuration: configuration) }
        return try EncryptedDatabase.pool(
            at: FilePath(path), key: key(format), configuration: configuration)
    }

    /// One key for all: tests open one file several times.
    private static func key(_ format: DatabaseFormat) throws -> DatabaseKey {
        try DatabaseKey.raw(SecretBytes.copying("the key of GRDB's test databases"), format: format)
    }
}
