import Coffer
import CofferBase
import CofferDatabase
import GRDB
import SystemPackage

/// The mode that has session-only databases open, to be killed.
enum VolatileAgent {
    private static let fill = "CREATE TABLE t (x); INSERT INTO t VALUES (hex(randomblob(2000)))"

    /// Opens a pool and a queue in the vault at `path`, which has no passcode, leaves a transaction open, and
    /// waits to be killed.
    static func run(at path: FilePath) throws {
        try SoupAgent.blocking { () async throws(CofferError) in
            do {
                let vault = try await Vault(at: VaultLocation(path: path))
                try await vault.unlock()
                let databases = VaultDatabases(vault)
                let pool = try await databases.pool("pool", isVolatile: true)
                try await pool.write { try $0.execute(sql: fill) }
                let queue = try await databases.queue("queue", isVolatile: true)
                try await queue.write { try $0.execute(sql: fill) }
                try await queue.writeWithoutTransaction { db in
                    try db.execute(sql: "BEGIN; UPDATE t SET x = hex(randomblob(3000))")
                    DatabaseAgent.say("ready")
                    _ = readLine()
                    try db.rollback()
                }
                withExtendedLifetime((databases, pool)) {}
            } catch {
                throw EncryptedDatabase.failure(error)
            }
        }
    }
}
