import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]
private let pageSize = 4096

/// The rules of the write-ahead log: its chain of checksums lies over the ciphertext.
@Suite("Write-ahead logs")
struct WALTests {
    /// The page numbers of a WAL's frames, as far as its chain of checksums over the bytes on the disk holds.
    private func validFrames(_ wal: [UInt8]) -> [UInt32] {
        guard wal.count >= 32 else { return [] }
        let isBigEndian = wal[3] & 1 == 1
        var sums = (number(wal[24..<28]), number(wal[28..<32]))
        func add(_ range: Range<Int>) {
            func word(_ at: Int) -> UInt32 {
                let word = number(wal[at..<at + 4])
                return isBigEndian ? word : word.byteSwapped
            }
            for at in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                sums.0 &+= word(at) &+ sums.1
                sums.1 &+= word(at + 4) &+ sums.0
            }
        }
        var frames: [UInt32] = []
        for start in stride(from: 32, to: wal.count - pageSize - 23, by: pageSize + 24) {
            add(start..<start + 8)
            add(start + 24..<start + 24 + pageSize)
            guard Array(wal[start + 8..<start + 16]) == Array(wal[16..<24]),
                (number(wal[start + 16..<start + 20]), number(wal[start + 20..<start + 24])) == sums
            else { break }
            frames.append(number(wal[start..<start + 4]))
        }
        return frames
    }

    @Test(
        "1 to 3: the WAL's checksums are a chain over the ciphertext, also over frames written twice",
        arguments: writable)
    func walChain(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue(journal: "wal")
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 0")
            try db.inTransaction {
                try fill(db, count: 1500)
                return .commit
            }
            // With so small a cache, one transaction writes the same pages into the WAL again and again.
            try db.inTransaction {
                for round in 0..<5 {
                    try db.execute(sql: "UPDATE t SET body = body || ?", arguments: ["\(round)"])
                }
                return .commit
            }
        }
        let wal = try scene.bytes("-wal")
        let frames = validFrames(wal)
        #expect(frames.count == (wal.count - 32) / (pageSize + 24))
        #expect(frames.count > 100)
    }

    @Test(
        "1 to 3: the chain continues when connections take turns, roll back, and restart the WAL",
        arguments: writable)
    func walTurns(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queues = [try scene.queue(journal: "wal"), try scene.queue(journal: "wal")]
        for queue in queues {
            try queue.inDatabase {
                try $0.execute(sql: "PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 0")
            }
        }
        try queues[0].write { _ = try fill($0, count: 300) }
        var expected = 300
        var random = SplitMix(state: 11)
        for step in 0..<120 {
            let queue = queues[Int(random.next() % 2)]
            switch random.next() % 8 {
            case 0:
                _ = try queue.writeWithoutTransaction { try $0.checkpoint(.restart) }
            case 1, 2:
                // More than the cache holds, so that pages are in the WAL when the transaction is given up.
                try queue.inDatabase { db in
                    try db.inTransaction {
                        try db.execute(sql: "UPDATE t SET body = body || 'r'")
                        return .rollback
                    }
                }
            default:
                try queue.write { try $0.execute(sql: "INSERT INTO t (body) VALUES (?)", arguments: [step]) }
                expected += 1
            }
            #expect(try recovered(scene) == expected, "after step \(step)")
        }
    }

    /// How many rows a recovery finds that has nothing but the two files. The locks that a copy lets go of
    /// guard against other processes, and there are none.
    private func recovered(_ scene: borrowing DatabaseFixture) throws -> Int? {
        let copy = try DatabaseFixture(scene.format)
        for suffix in ["", "-wal"] { try copy.write(scene.bytes(suffix), suffix) }
        return try copy.queue().read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
    }

    @Test(
        "1 to 3: frames of another connection that end where this one's ended are not taken for them",
        arguments: writable, [true, false])
    func walTwins(format: DatabaseFormat, startsAgain: Bool) throws {
        let scene = try DatabaseFixture(format)
        let (one, other) = (try scene.queue(journal: "wal"), try scene.queue(journal: "wal"))
        try one.inDatabase { try $0.execute(sql: "PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 0") }
        try other.inDatabase { try $0.execute(sql: "PRAGMA wal_autocheckpoint = 0") }
        func frames() throws -> Int { (try scene.bytes("-wal").count - 32) / (pageSize + 24) }
        func addRow(_ queue: DatabaseQueue) throws {
            try queue.write { try $0.execute(sql: "INSERT INTO t (body) VALUES ('row')") }
        }
        try one.write { _ = try fill($0, count: 300) }
        var left: Int
        if startsAgain {
            // The other connection writes as many frames into the WAL's next life as this one did before.
            try addRow(one)
            left = try frames()
            _ = try other.writeWithoutTransaction { try $0.checkpoint(.restart) }
        } else {
            // It writes as many as this one did for a transaction that was given up.
            let before = try frames()
            try one.inDatabase { db in
                try db.inTransaction {
                    try db.execute(sql: "UPDATE t SET body = body || 'r'")
                    return .rollback
                }
            }
            left = try frames() - before
        }
        try #require(left > 5)
        var expected = startsAgain ? 301 : 300
        for _ in 0..<left { try addRow(other) }
        try addRow(one)
        expected += left + 1
        #expect(try recovered(scene) == expected)
    }

    @Test("A WAL's checksum is the same in four parts as in one, at every length")
    func walChecksum() {
        func reference(_ bytes: [UInt8], _ isBigEndian: Bool) -> WALChecksum {
            var sums = WALChecksum(first: 1, second: .max)
            for at in stride(from: 0, to: bytes.count, by: 8) {
                let words = [number(bytes[at..<at + 4]), number(bytes[at + 4..<at + 8])]
                    .map { isBigEndian ? $0 : $0.byteSwapped }
                sums.first &+= words[0] &+ sums.second
                sums.second &+= words[1] &+ sums.first
            }
            return sums
        }
        var random = SplitMix(state: 12)
        for count in Array(stride(from: 0, through: 520, by: 8)) + [1024, 4096, 8192, 65536] {
            let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            for isBigEndian in [false, true] {
                var sums = WALChecksum(first: 1, second: .max)
                sums.add(bytes.span, isBigEndian: isBigEndian)
                #expect(sums == reference(bytes, isBigEndian), "\(count) bytes")
            }
        }
    }

    @Test("4: a checkpoint copies the ciphertext as it is", arguments: writable)
    func checkpointCopies(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue(journal: "wal")
        try queue.write { _ = try fill($0, count: 700) }
        let wal = try scene.bytes("-wal")
        let frames = validFrames(wal)
        try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try queue.close()
        let main = try scene.bytes()
        var last: [UInt32: Int] = [:]
        for (index, page) in frames.enumerated() { last[page] = 32 + index * (pageSize + 24) + 24 }
        #expect(last.count > 10)
        for (page, start) in last {
            let place = Int(page - 1) * pageSize
            #expect(main[place..<place + pageSize] == wal[start..<start + pageSize])
        }
    }
}
