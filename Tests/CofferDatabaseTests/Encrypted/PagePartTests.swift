import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import GRDB
import TestSupport
import Testing

private let pageSize = 4096
/// SQLite's own words for what these tests look at.
private enum SQLiteCode {
    static let ok: Int32 = 0
    static let inputOutput: Int32 = 10
    static let notADatabase: Int32 = 26
    static let shortRead: Int32 = 10 | 2 << 8
    static let damagedPage: Int32 = 10 | 32 << 8
}

/// SQLite 3.46 reads an overflow page without the bytes that each page reserves. For any part of a page, the
/// VFS decrypts and authenticates the whole page.
@Suite("Reads of a part of a page")
struct PagePartTests {
    private static let table = "CREATE TABLE t (x)"

    private func withProbe<Value>(
        _ scene: borrowing DatabaseFixture, _ format: CodecFormat, _ file: FileAccessProbe.File = .main,
        after sql: String, _ body: (FileAccessProbe) throws -> Value
    ) throws -> Value {
        let key = try GuardedBytes.copying(scene.keyBytes.span)
        let handle = try DatabaseKeyHandle.register(format, secret: key)
        let probe = try #require(FileAccessProbe.open(handle.uri(for: scene.pathText), file, after: sql))
        return try withExtendedLifetime(handle) { try body(probe) }
    }

    /// Every place and every size: one byte and the rest of the page from each place, and each size at the
    /// beginning and somewhere.
    private static func allParts() -> [Range<Int>] {
        var parts: [Range<Int>] = []
        for place in 0..<pageSize {
            let size = place + 1
            let start = Int.random(in: 0...(pageSize - size))
            parts += [place..<(place + 1), place..<pageSize, 0..<size, start..<(start + size)]
        }
        return parts
    }

    private static let someParts: [Range<Int>] = [
        0..<100, 24..<40, 28..<32, 0..<1, 1..<pageSize, 0..<(pageSize - 1), 4..<4000, 200..<277,
        (pageSize - 1)..<pageSize,
    ]

    /// Those of the parts that read otherwise than they are in `page`.
    private func wrong(
        _ parts: [Range<Int>], of page: [UInt8], _ number: Int, in file: FileAccessProbe
    ) -> [Range<Int>] {
        let page = Data(page)
        return parts.filter { part in
            let read = file.read(part.count, at: Int64(number * pageSize + part.lowerBound))
            return read.code != SQLiteCode.ok || Data(read.bytes) != page[part]
        }
    }

    @Test(
        "A part of any size at any place reads as it was written", arguments: [CodecFormat.gcm1, .sqlcipher4])
    func everyPart(format: CodecFormat) throws {
        let scene = try DatabaseFixture()
        try withProbe(scene, format, after: Self.table) { file in
            let zeros = [UInt8](repeating: 0, count: format.reserve)
            let page = (0..<(pageSize - format.reserve)).map { _ in UInt8.random(in: 0...255) } + zeros
            #expect(file.write(page, at: Int64(pageSize)) == SQLiteCode.ok)
            #expect(wrong(Self.allParts(), of: page, 1, in: file).isEmpty)
            // SQLite reads two parts of the first page in ways of their own: the header and the counters.
            let first = file.read(pageSize, at: 0).bytes
            #expect(first.starts(with: Array("SQLite format 3".utf8) + [0, 16, 0]))
            #expect(Int(first[20]) == format.reserve)
            #expect(wrong(Self.someParts + Self.allParts(), of: first, 0, in: file).isEmpty)
        }
    }

    @Test(
        "A part of a page that was changed elsewhere is an error, and gives nothing",
        arguments: [CodecFormat.gcm1, .sqlcipher4])
    func changedPages(format: CodecFormat) throws {
        let scene = try DatabaseFixture()
        try withProbe(scene, format, after: Self.table) { _ in }
        let whole = try scene.bytes()
        try #require(whole.count >= 2 * pageSize)
        let tail = pageSize - format.reserve
        // In the content, the nonce or IV, and the tag.
        let places = [40, 101, 2000, tail, tail + 24]
        for changedByte in places + places.map({ pageSize + $0 }) {
            var changed = whole
            changed[changedByte] ^= 4
            try scene.write(changed)
            let number = changedByte / pageSize
            let code = number == 0 ? SQLiteCode.notADatabase : SQLiteCode.damagedPage
            try withProbe(scene, format, after: "") { file in
                for (place, size) in [(200, 77), (4, 4000), (28, 4), (0, 1), (pageSize - 1, 1)] {
                    let read = file.read(size, at: Int64(number * pageSize + place))
                    #expect(read.code == code, "\(size) bytes at \(place), changed at \(changedByte)")
                    #expect(read.bytes.allSatisfy { $0 == 0 })
                }
            }
        }
        // The file ends within the page.
        try scene.write(Array(whole.prefix(2 * pageSize - 1)))
        try withProbe(scene, format, after: "") { file in
            let read = file.read(77, at: Int64(pageSize + 200))
            #expect(read.code == SQLiteCode.damagedPage && read.bytes.allSatisfy { $0 == 0 })
        }
    }

    /// The number of overflow pages in the file that hold pieces of `value`, which are read as parts: without
    /// the reserve, and without the number of the next page at the beginning.
    private func pieces(of value: Data, in file: FileAccessProbe, _ format: CodecFormat) -> Int {
        var found = 0
        for number in 1..<40 {
            let read = file.read(pageSize - format.reserve - 4, at: Int64(number * pageSize + 4))
            if read.code == SQLiteCode.ok, value.range(of: Data(read.bytes)) != nil { found += 1 }
        }
        return found
    }

    @Test(
        "With a WAL, a part is that of the database file, and SQLite still finds the page in the WAL",
        arguments: [CodecFormat.gcm1, .sqlcipher4])
    func besideWAL(format: CodecFormat) throws {
        let scene = try DatabaseFixture()
        let values = (0..<2).map { _ in Data((0..<40_000).map { _ in UInt8.random(in: 0...255) }) }
        let key = try GuardedBytes.copying(scene.keyBytes.span)
        let handle = try DatabaseKeyHandle.register(format, secret: key)
        let queue = try DatabaseQueue(path: handle.uri(for: scene.pathText))
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)"
        try queue.writeWithoutTransaction { db in
            _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = wal")
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            try db.execute(sql: "CREATE TABLE big (id INTEGER PRIMARY KEY, value BLOB)")
            try db.execute(sql: "INSERT INTO big (value) VALUES (?)", arguments: [values[0]])
            try db.execute(sql: checkpoint)
        }
        try withProbe(scene, format, after: "SELECT count(*) FROM big") { file in
            #expect(pieces(of: values[0], in: file, format) >= 8)
            try queue.write { try $0.execute(sql: "UPDATE big SET value = ?", arguments: [values[1]]) }
            #expect(pieces(of: values[0], in: file, format) >= 8)
            #expect(pieces(of: values[1], in: file, format) == 0)
            let other = try DatabaseQueue(path: handle.uri(for: scene.pathText))
            #expect(try other.read { try Data.fetchOne($0, sql: "SELECT value FROM big") } == values[1])
            try queue.writeWithoutTransaction { try $0.execute(sql: checkpoint) }
            #expect(pieces(of: values[1], in: file, format) >= 8)
            #expect(try other.read { try Data.fetchOne($0, sql: "SELECT value FROM big") } == values[1])
        }
        withExtendedLifetime(handle) {}
    }

    @Test(
        "A WAL has no parts of pages; a journal's are encrypted", arguments: [CodecFormat.gcm1, .sqlcipher4])
    func logs(format: CodecFormat) throws {
        let parts = [(77, 200), (1, 0), (4092, 4), (pageSize - format.reserve, 0), (pageSize - 1, 1)]
        let log = try DatabaseFixture()
        try withProbe(log, format, .journal, after: "PRAGMA journal_mode = WAL; " + Self.table) { file in
            let frame = 32 + 24
            #expect(file.read(pageSize, at: Int64(frame)).code == SQLiteCode.ok)
            for (size, place) in parts {
                let read = file.read(size, at: Int64(frame + place))
                #expect(read.code == SQLiteCode.inputOutput && read.bytes.allSatisfy { $0 == 0xee })
            }
        }
        let journal = try DatabaseFixture()
        let sql = Self.table + "; INSERT INTO t VALUES (1); BEGIN; UPDATE t SET x = 2"
        try withProbe(journal, format, .journal, after: sql) { file in
            let bytes = try journal.bytes("-journal")
            let image = 512 + 4
            try #require(bytes.count >= image + pageSize)
            for (size, place) in parts {
                let read = file.read(size, at: Int64(image + place))
                #expect(read.code == SQLiteCode.ok)
                #expect(read.bytes.elementsEqual(bytes[(image + place)..<(image + place + size)]))
            }
        }
    }

    @Test(
        "Beside a journal that a crash left, and after it was played back, parts are those of their pages",
        arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func besideJournal(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        let codec = try #require(CodecFormat(rawValue: format.rawValue))
        for sql in ["", "SELECT count(*) FROM t"] {
            try withProbe(hot.scene, codec, after: sql) { file in
                var number = 0
                var page = file.read(pageSize, at: 0)
                while page.code == SQLiteCode.ok {
                    #expect(wrong(Self.someParts, of: page.bytes, number, in: file).isEmpty)
                    number += 1
                    page = file.read(pageSize, at: Int64(number * pageSize))
                }
                #expect(page.code == SQLiteCode.shortRead && number > 8)
            }
        }
        #expect(try hot.read() == HotFixture.right)
    }
}
