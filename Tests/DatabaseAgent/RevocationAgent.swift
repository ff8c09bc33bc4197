import CofferBase
import CofferEngine
import CofferEngineSQLite
import GRDB
import SystemPackage

/// The mode that revokes a key in a transaction and rolls that back.
enum RevocationAgent {
    static func run(_ agent: DatabaseAgent) throws {
        for isNew in [true, false] {
            let path = FilePath(agent.path.string + (isNew ? ".new" : ".filled"))
            let secret = try GuardedBytes.copying(DatabaseAgent.bytes(agent.keyHex).span)
            let handle = try DatabaseKeyHandle.register(.gcm1, secret: secret)
            let queue = try DatabaseQueue(path: handle.uri(for: path))
            try queue.inDatabase { db in
                if !isNew { try db.execute(sql: "CREATE TABLE u (x); INSERT INTO u VALUES (1)") }
                let journal = try String.fetchOne(db, sql: "PRAGMA journal_mode = \(agent.journal)")
                guard journal == agent.journal else {
                    throw CofferError(.unsupported, "journal mode \(journal ?? "none")")
                }
                try db.execute(sql: "PRAGMA cache_size = \(agent.cache); BEGIN; CREATE TABLE t (x)")
                try db.execute(sql: "INSERT INTO t VALUES (hex(zeroblob(3000)))")
                handle.revoke()
                try? db.execute(sql: "ROLLBACK")
                let rows = try? Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
                guard rows == nil else { throw CofferError(.internalFailure, "A page was read.") }
            }
        }
        DatabaseAgent.say("revoked")
    }
}
