import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import SystemPackage
import TestSupport

/// A directory with a database that is to be, and the key to it.
struct DatabaseFixture: ~Copyable {
    let scratch: ScratchDirectory
    let format: DatabaseFormat
    let keyBytes: [UInt8]

    init(_ format: DatabaseFormat = .gcm1, keyBytes: [UInt8] = .counting(32, from: 7)) throws {
        scratch = try ScratchDirectory.make()
        self.format = format
        self.keyBytes = keyBytes
    }

    var path: FilePath { scratch.path.appending("test.db") }
    var pathText: String { path.string }

    func key(_ other: DatabaseFormat? = nil) throws -> DatabaseKey {
        try .raw(SecretBytes.copying(keyBytes.span), format: other ?? format)
    }

    func queue(journal: String? = nil) throws -> DatabaseQueue {
        let queue = try EncryptedDatabase.queue(at: path, key: key())
        if let journal {
            let mode = try queue.inDatabase {
                try String.fetchOne($0, sql: "PRAGMA journal_mode = \(journal)")
            }
            guard mode == journal else { throw CofferError(.unsupported, "journal mode \(mode ?? "none")") }
        }
        return queue
    }

    func pool() throws -> DatabasePool { try EncryptedDatabase.pool(at: path, key: key()) }

    /// The bytes of a file of this database. Call it only while no connection is open: closing the file
    /// releases this process's locks on it.
    func bytes(_ suffix: String = "") throws -> [UInt8] {
        let file = URL(filePath: pathText + suffix)
        guard FileManager.default.fileExists(atPath: file.path(percentEncoded: false)) else { return [] }
        return [UInt8](try Data(contentsOf: file))
    }

    func write(_ bytes: [UInt8], _ suffix: String = "") throws {
        try Data(bytes).write(to: URL(filePath: pathText + suffix))
    }
}

/// Fills a table `t(id, body)` with `count` rows; gives what the bodies add up to.
@discardableResult
func fill(_ db: Database, count: Int, text: String = "plain text canary") throws -> Int {
    try db.execute(sql: "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    for index in 0..<count {
        try db.execute(
            sql: "INSERT INTO t (body) VALUES (?)",
            arguments: ["\(text) \(index) " + String(repeating: "x", count: index % 700)])
    }
    return try Int.fetchOne(db, sql: "SELECT sum(length(body)) FROM t") ?? 0
}

/// The result of SQLite's integrity check.
func integrity(_ db: Database) throws -> String {
    try String.fetchOne(db, sql: "PRAGMA integrity_check") ?? "no answer"
}

/// The big-endian number of these bytes.
func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
