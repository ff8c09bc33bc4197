import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import SystemPackage

/// The modes of this program.
struct DatabaseAgent {
    let format: DatabaseFormat
    let keyHex: String
    let path: FilePath
    let journal: String
    /// In pages. The default is small, so that transactions spill into the files before they end.
    var cache = 20

    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        try? Descriptor.standardOutput().append(bytes.span)
    }

    static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }

    /// A key of 64 digits, or a passphrase after a colon, at the lowest cost.
    private func key(_ hex: String) throws -> DatabaseKey {
        if hex.utf8.first == UInt8(ascii: ":") {
            let passphrase = try SecretBytes.copying(Array(hex.utf8.dropFirst()).span)
            guard format != .gcm1 else { return try .passphrase(passphrase, cost: .floor) }
            return try .passphrase(passphrase, format: format).with(SQLCipherSettings(iterations: 4000))
        }
        return try .raw(SecretBytes.copying(Self.bytes(hex).span), format: format)
    }

    func open() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        configuration.prepareDatabase { [journal, cache] db in
            try db.execute(sql: "PRAGMA cache_size = \(cache); PRAGMA synchronous = NORMAL")
            if try String.fetchOne(db, sql: "PRAGMA journal_mode") != journal, !db.configuration.readonly {
                try Self.setJournal(journal, of: db)
            }
        }
        return try EncryptedDatabase.queue(at: path, key: key(keyHex), configuration: configuration)
    }

    /// Where a reader becomes a writer, SQLite does not wait for others that do the same: so this does.
    private static func setJournal(_ journal: String, of db: Database) throws {
        let end = ContinuousClock.now + .seconds(20)
        while true {
            do {
                _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = \(journal)")
                return
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                guard ContinuousClock.now < end else { throw error }
                sched_yield()
            }
        }
    }

    /// Opens the database, or makes it, and reads from it.
    func create() throws {
        _ = try open().read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
        Self.say("ready")
    }

    /// Makes the tables.
    func make() throws {
        try open().write { db in
            try db.execute(
                sql: """
                    CREATE TABLE work (writer INTEGER, step INTEGER, body BLOB, PRIMARY KEY (writer, step));
                    CREATE TABLE sums (writer INTEGER PRIMARY KEY, count INTEGER NOT NULL)
                    """)
            for writer in 0..<5 {
                try db.execute(sql: "INSERT INTO sums VALUES (?, 0)", arguments: [writer])
            }
        }
        Self.say("made")
    }

    /// Commits step after step, from a line or the end of its input on until it is killed, and says which are
    /// committed. Each third one also changes rows that are committed already, in a savepoint, and takes that
    /// back.
    func write(writer: Int) throws {
        let queue = try open()
        var step = try queue.read {
            try Int.fetchOne($0, sql: "SELECT count FROM sums WHERE writer = ?", arguments: [writer]) ?? 0
        }
        Self.say("ready")
        _ = readLine()
        while true {
            let next = step
            try queue.inTransaction(.immediate) { db in
                for part in 0..<3 {
                    try db.execute(
                        sql: "INSERT INTO work VALUES (?, ?, randomblob(?))",
                        arguments: [writer, next * 3 + part, 500 + next * 97 % 4000])
                }
                if next % 3 == 2 {
                    try db.inSavepoint {
                        try db.execute(
                            sql: "UPDATE work SET body = zeroblob(3000) WHERE writer = ? AND step > ?",
                            arguments: [writer, next * 3 - 60])
                        return .rollback
                    }
                }
                try db.execute(
                    sql: "UPDATE sums SET count = count + 1 WHERE writer = ?", arguments: [writer])
                return .commit
            }
            step += 1
            Self.say("ack \(writer) \(step)")
        }
    }

    /// Reads, likewise, until it is killed; ends by itself when what it reads does not fit together.
    func read() throws {
        let queue = try open()
        Self.say("ready")
        _ = readLine()
        while true {
            let wrong = try queue.read { try Self.disagreements($0) }
            guard wrong == 0 else { throw CofferError(.corrupt, "\(wrong) writers disagree") }
        }
    }

    /// Says what is there: the integrity, the disagreements, the steps of each writer, and how many rows have
    /// a value that was always taken back.
    func check() throws {
        let queue = try open()
        try queue.writeWithoutTransaction { db in
            Self.say("integrity \(try String.fetchOne(db, sql: "PRAGMA integrity_check") ?? "none")")
            Self.say("disagreements \(try Self.disagreements(db))")
            let zeros = "SELECT count(*) FROM work WHERE length(body) = 3000 AND body = zeroblob(3000)"
            Self.say("taken back \(try Int.fetchOne(db, sql: zeros) ?? -1)")
            for row in try Row.fetchAll(db, sql: "SELECT writer, count FROM sums") {
                Self.say("count \(row["writer"] as Int) \(row["count"] as Int)")
            }
        }
    }

    private static func disagreements(_ db: Database) throws -> Int {
        try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM sums WHERE count * 3 !=
                (SELECT count(*) FROM work WHERE work.writer = sums.writer)
                """) ?? -1
    }

    /// Commits some steps, each with a change that is taken back, and ends.
    func work() throws {
        let queue = try open()
        for step in 0..<8 {
            try queue.inTransaction(.immediate) { db in
                for part in 0..<3 {
                    try db.execute(
                        sql: "INSERT INTO work VALUES (0, ?, randomblob(3500))", arguments: [step * 3 + part])
                }
                try db.inSavepoint {
                    try db.execute(sql: "UPDATE work SET body = zeroblob(3000)")
                    return .rollback
                }
                try db.execute(sql: "UPDATE sums SET count = count + 1 WHERE writer = 0")
                return .commit
            }
            Self.say("ack 0 \(step + 1)")
            // What was taken back is back, byte for byte, or a failure was passed over.
            let zeros = "SELECT count(*) FROM work WHERE body = zeroblob(3000)"
            guard try queue.read({ try Int.fetchOne($0, sql: zeros) }) == 0 else {
                return Self.say("wrong rows")
            }
        }
        Self.say("done")
    }

    /// Encrypts the database again under another key.
    func rekey(to hex: String) throws {
        try EncryptedDatabase.rekey(at: path, from: key(keyHex), to: key(hex))
        Self.say("done")
    }

    /// Reads every row so many times.
    func scan(times: Int) throws {
        let queue = try open()
        for _ in 0..<times {
            _ = try queue.read { try Int.fetchOne($0, sql: "SELECT sum(length(body)) FROM work") }
        }
        Self.say("done")
    }

    /// Says what the rows of ``leaveHot(rows:)`` are, and whether the database holds together.
    func rows() throws {
        try EncryptedDatabase.queue(at: path, key: key(keyHex)).read { db in
            Self.say("integrity \(try String.fetchOne(db, sql: "PRAGMA integrity_check") ?? "none")")
            guard try db.tableExists("t") else { return Self.say("rows none") }
            let rows = try String.fetchAll(db, sql: "SELECT body FROM t ORDER BY id")
            let right = rows.indices.allSatisfy {
                rows[$0].hasPrefix("row \($0) y") && rows[$0].utf8.count < 920
            }
            Self.say("rows \(rows.count) \(right ? "right" : "wrong")")
        }
    }

    /// Leaves work that is not in the database file, and waits to be killed: with a WAL committed rows, with
    /// a journal a change that is to be rolled back. Of more than one transaction a WAL has such a change,
    /// too.
    func leaveHot(rows: Int, transactions: Int = 1) throws {
        let queue = try open()
        for part in 0..<transactions {
            try queue.inTransaction { db in
                try db.execute(sql: "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body TEXT)")
                for index in (part * rows / transactions)..<((part + 1) * rows / transactions) {
                    try db.execute(
                        sql: "INSERT INTO t (body) VALUES (?)",
                        arguments: ["row \(index) " + String(repeating: "y", count: 900)])
                }
                return .commit
            }
        }
        try queue.writeWithoutTransaction { db in
            if journal != "wal" || transactions > 1 {
                // A change of the schema changes the first page, too.
                try db.execute(sql: "BEGIN; CREATE TABLE u (x); UPDATE t SET body = 'lost' || body || body")
            }
            Self.say("ready")
            _ = readLine()
        }
    }
}
