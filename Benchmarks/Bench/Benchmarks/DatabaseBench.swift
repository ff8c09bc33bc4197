import CofferBase
import CofferCrypto
import CofferDatabase
import GRDB
import SystemPackage

/// The work of the database benchmarks, as SQL that every side understands.
///
/// SQL itself generates the documents, so that all sides do the same work before the storage.
struct DatabaseWork: Sendable {
    /// The number of documents.
    let rows: Int
    /// The number of rows to look up.
    let lookups: Int
    /// The number of rows to update, each in a transaction.
    let commits: Int

    init(quick: Bool) {
        rows = quick ? 20_000 : 200_000
        lookups = quick ? 10_000 : 100_000
        commits = quick ? 300 : 3000
    }

    static let table = """
        CREATE TABLE doc (id INTEGER PRIMARY KEY, tag TEXT NOT NULL, stamp INTEGER NOT NULL, \
        version INTEGER NOT NULL, body TEXT NOT NULL)
        """

    /// Documents of 100 to 500 bytes, in one transaction.
    var insertion: String {
        """
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows - 1)) \
        INSERT INTO doc (tag, stamp, version, body) SELECT 'tag-' || (i * 7919 % \(rows)), \
        i * 31 % 86400, 1, substr('\(Self.text)', 1 + i * 37 % 3000, 100 + i * 53 % 401) FROM n
        """
    }

    static let indices = [
        "CREATE INDEX doc_tag ON doc (tag)", "CREATE INDEX doc_stamp ON doc (stamp)",
    ]

    /// Reads every body and finds nothing.
    static let scan = "SELECT count(*) - sum(body LIKE '%nowhere to be seen%') FROM doc"

    /// Looks up documents by the index, one by one, in an unrelated order.
    var points: String {
        """
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(lookups - 1)) \
        SELECT sum(length(doc.body)) FROM n CROSS JOIN doc ON doc.tag = 'tag-' || (i * 104729 % \(rows))
        """
    }

    /// The number of rows that are updated in turn: few enough that their pages stay in the cache, because
    /// the look-ups already measure reading pages.
    static let updated = 1000

    static let update = "UPDATE doc SET version = version + 1 WHERE id = ?"

    /// A checksum of all contents, for comparison.
    static let sum = "SELECT sum(length(body) + stamp * length(tag)) || ' ' || sum(version * id) FROM doc"

    /// Words of text, the same in every run.
    private static let text: String = {
        var state: UInt32 = 12_345
        return String(
            (0..<3500).map { _ in
                state = state &* 1_664_525 &+ 1_013_904_223
                let letter = Character(UnicodeScalar(UInt8(97 + state >> 24 % 26)))
                return state >> 16 % 6 == 0 ? " " : letter
            })
    }()
}

/// A database of this process, plain or encrypted by this package. Both use GRDB and the same SQLite.
struct BenchDatabase {
    private let queue: DatabaseQueue

    /// The key of every encrypted database of the benchmarks.
    static let key = [UInt8](0..<32)

    /// Opens or creates a database; without a format, a plain one.
    static func open(_ path: FilePath, _ format: DatabaseFormat?) throws(CofferError) -> BenchDatabase {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL")
            try db.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -2000")
        }
        do {
            if let format {
                let key = try DatabaseKey.raw(SecretBytes.copying(key.span), format: format)
                return BenchDatabase(
                    queue: try EncryptedDatabase.queue(at: path, key: key, configuration: configuration))
            }
            return BenchDatabase(queue: try DatabaseQueue(path: path.string, configuration: configuration))
        } catch {
            throw EncryptedDatabase.failure(error)
        }
    }

    /// Runs a statement, in its own transaction if it writes; returns the first value.
    @discardableResult
    func run(_ sql: String) throws(CofferError) -> String {
        try using { db in try String.fetchOne(db, sql: sql) ?? "" }
    }

    /// Runs this many updates, each in its own transaction.
    func commit(_ work: DatabaseWork) throws(CofferError) {
        try using { db in
            let statement = try db.cachedStatement(sql: DatabaseWork.update)
            for number in 0..<work.commits {
                try statement.execute(arguments: [number % DatabaseWork.updated + 1])
            }
        }
    }

    func close() throws(CofferError) {
        do { try queue.close() } catch { throw EncryptedDatabase.failure(error) }
    }

    private func using<Result>(_ body: (Database) throws -> Result) throws(CofferError) -> Result {
        do {
            return try queue.inDatabase(body)
        } catch {
            throw EncryptedDatabase.failure(error)
        }
    }
}
