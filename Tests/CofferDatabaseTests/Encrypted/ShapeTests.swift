import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import GRDB
import TestSupport
import Testing

/// Every access that SQLite makes to a database's files has a shape that the VFS knows: a release of SQLite
/// that reads or writes otherwise shows here, and is refused by the VFS meanwhile.
@Suite("Shapes of SQLite's file accesses")
struct ShapeTests {
    private static let pageSize = 4096
    private static let known: Set<String> = [
        // SQLite 3.46 reads an overflow page without the bytes that each page reserves.
        "main read page", "main read in page", "main read 16 @24", "main read 100 @0", "main write page",
        "main write page, checkpoint",
        "journal read 1", "journal read 4", "journal read 8", "journal read page",
        "journal write 1", "journal write 4", "journal write 8", "journal write 12", "journal write 28",
        "journal write 512", "journal write page", "journal write checksum", "journal write name",
        "wal read 32 @0", "wal read 8", "wal read frame", "wal read page",
        "wal write 32 @0", "wal write 24", "wal write page", "wal rewrite 24", "wal overwrite page",
    ]

    @Test("SQLite's every access has a shape that the VFS knows", arguments: [CodecFormat.gcm1, .sqlcipher4])
    func everyShapeIsKnown(format: CodecFormat) throws {
        let trace = AccessTrace()
        for journal in ["delete", "truncate", "persist", "memory", "off", "wal"] {
            let scene = try DatabaseFixture()
            let key = try GuardedBytes.copying(scene.keyBytes.span)
            let handle = try DatabaseKeyHandle.register(format, secret: key, trace: trace)
            try work(journal) { try DatabaseQueue(path: handle.uri(for: scene.pathText)) }
        }
        #expect(trace.seen.subtracting(Self.known) == [])
        #expect(trace.seen.count > 15)
    }

    @Test("Any part of any page reads as that part of it", arguments: [CodecFormat.gcm1, .sqlcipher4])
    func partsOfPages(format: CodecFormat) throws {
        let scene = try DatabaseFixture()
        let key = try GuardedBytes.copying(scene.keyBytes.span)
        let handle = try DatabaseKeyHandle.register(format, secret: key)
        let uri = handle.uri(for: scene.pathText)
        let queue = try DatabaseQueue(path: uri)
        try queue.write { _ = try fill($0, count: 300) }
        let file = try #require(FileAccessProbe.open(uri, .main, after: "SELECT count(*) FROM t"))
        let count = try queue.read { try Int.fetchOne($0, sql: "PRAGMA page_count") } ?? 0
        #expect(count > 8)
        let image = (0..<count).flatMap { file.read(Self.pageSize, at: Int64($0 * Self.pageSize)).bytes }
        #expect(image.starts(with: Array("SQLite format 3".utf8) + [0, 16, 0]))
        var parts = [
            (0, 100), (24, 16), (0, 1), (16, 8), (92, 8), (0, 4095), (1, 4095), (4095, 1), (4, 4000),
        ]
        parts += (0..<60).map { _ in
            let place = Int.random(in: 0..<Self.pageSize)
            return (place, Int.random(in: 1...Self.pageSize - place))
        }
        for page in 0..<count {
            for (place, size) in parts {
                let offset = page * Self.pageSize + place
                let read = file.read(size, at: Int64(offset))
                #expect(read.code == 0 && read.bytes.elementsEqual(image[offset..<offset + size]))
            }
        }
        // Behind the end there are zeros, and SQLite's code for a short read.
        for (place, size) in parts.dropFirst(2) {
            let read = file.read(size, at: Int64(count * Self.pageSize + place))
            #expect(read.code == 522 && read.bytes.allSatisfy { $0 == 0 })
        }
    }

    @Test("Part of a page is read as it is now", arguments: [CodecFormat.gcm1, .sqlcipher4])
    func partsOfChangedPages(format: CodecFormat) throws {
        let scene = try DatabaseFixture()
        let key = try GuardedBytes.copying(scene.keyBytes.span)
        let handle = try DatabaseKeyHandle.register(format, secret: key)
        let uri = handle.uri(for: scene.pathText)
        let queue = try DatabaseQueue(path: uri)
        try queue.write { _ = try fill($0, count: 20) }
        let file = try #require(FileAccessProbe.open(uri, .main, after: "SELECT count(*) FROM t"))
        var counters: Set<[UInt8]> = []
        for _ in 0..<5 {
            try queue.write { try $0.execute(sql: "UPDATE t SET body = body || 'more'") }
            let counter = file.read(16, at: 24)
            #expect(counter.code == 0 && file.read(4, at: 24).bytes.elementsEqual(counter.bytes[..<4]))
            #expect(counter.bytes.elementsEqual(file.read(Self.pageSize, at: 0).bytes[24..<40]))
            counters.insert(counter.bytes)
        }
        #expect(counters.count == 5)
    }

    @Test("Values on overflow pages read as they were written", arguments: ["delete", "wal"])
    func overflowPages(journal: String) throws {
        for format in [CodecFormat.gcm1, .sqlcipher4] {
            let scene = try DatabaseFixture()
            let key = try GuardedBytes.copying(scene.keyBytes.span)
            let trace = AccessTrace()
            let handle = try DatabaseKeyHandle.register(format, secret: key, trace: trace)
            let queue = try DatabaseQueue(path: handle.uri(for: scene.pathText))
            let values = [1, 4000, 4049, 9000, 300_000].map { size in
                Data((0..<size).map { _ in UInt8.random(in: 0...255) })
            }
            try queue.writeWithoutTransaction { db in
                _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = \(journal)")
                try db.execute(sql: "CREATE TABLE big (id INTEGER PRIMARY KEY, value BLOB)")
                for value in values {
                    try db.execute(sql: "INSERT INTO big (value) VALUES (?)", arguments: [value])
                }
            }
            try queue.close()
            let other = try DatabaseQueue(path: handle.uri(for: scene.pathText))
            let read = try other.read { try Data.fetchAll($0, sql: "SELECT value FROM big ORDER BY id") }
            #expect(read == values)
            let ends = try other.read { db in
                try Data.fetchAll(db, sql: "SELECT substr(value, -3000) FROM big WHERE length(value) > 5000")
            }
            #expect(ends == values.suffix(2).map { $0.suffix(3000) })
            // Debian 13's release; later ones do so only in a VFS that offers it.
            let readsParts = SQLiteVersion.number / 1000 == 3046
            let option = "SELECT sqlite_compileoption_used('DIRECT_OVERFLOW_READ')"
            if readsParts, try other.read({ try Bool.fetchOne($0, sql: option) }) == true {
                #expect(trace.seen.contains("main read in page"))
            }
        }
    }

    private func work(_ journal: String, _ open: () throws -> DatabaseQueue) throws {
        let (queue, other) = (try open(), try open())
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA cache_size = 10; PRAGMA auto_vacuum = incremental; VACUUM")
            _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = \(journal)")
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.inTransaction {
                try fill(db, count: 400)
                return .commit
            }
            try db.inTransaction {
                for _ in 0..<3 { try db.execute(sql: "UPDATE t SET body = body || 'again'") }
                return .commit
            }
            if journal != "off" {
                try db.inTransaction {
                    try db.execute(sql: "DELETE FROM t WHERE id % 2 = 0")
                    return .rollback
                }
                try db.inTransaction {
                    try db.inSavepoint {
                        try db.execute(sql: "UPDATE t SET body = 'short'")
                        return .rollback
                    }
                    return .commit
                }
            }
            try db.execute(sql: "CREATE UNIQUE INDEX u ON t (id, body); DELETE FROM t WHERE id % 5 = 0")
            try db.execute(sql: "PRAGMA incremental_vacuum; REINDEX; VACUUM")
            // Not every build of SQLite has it.
            if try Bool.fetchOne(db, sql: "SELECT sqlite_compileoption_used('ENABLE_FTS5')") == true {
                try db.execute(sql: "CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f SELECT body FROM t")
            }
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            #expect(try integrity(db) == "ok")
        }
        #expect(try other.read { try integrity($0) } == "ok")
        try queue.write { try $0.execute(sql: "DROP TABLE t") }
        #expect(try other.read { try integrity($0) } == "ok")
    }
}
