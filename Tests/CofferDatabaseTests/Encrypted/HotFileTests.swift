import CofferBase
import CofferCrypto
import CofferDatabase
import Foundation
import SystemPackage
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]
private let journals = ["delete", "persist", "truncate"]
private let all = ["delete", "persist", "truncate", "wal"]

/// The table "What a crash left" of CofferDatabase's documentation, cell by cell: the rows are right, or
/// there is an error and no byte of the evidence is gone.
@Suite("Journals and WALs that a crash left")
struct HotFileTests {
    @Test("A whole journal or WAL: the rows are right", arguments: writable, all)
    func whole(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        #expect(try hot.read() == HotFixture.right)
    }

    @Test("A journal torn in its unflushed part: the rows are right", arguments: writable, journals)
    func tornJournal(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        let end = hot.syncedEnd
        #expect(end > 4096 && end < hot.log.count)
        var garbled = hot.log
        for index in max(end, garbled.count - 3000)..<garbled.count { garbled[index] ^= 0x5a }
        for torn in [garbled, Array(hot.log[..<max(end, hot.log.count - 3000)]), Array(hot.log[..<end])] {
            try hot.restore(log: torn)
            #expect(try hot.read() == HotFixture.right)
        }
    }

    @Test("A WAL torn at its end: only the transactions that it holds are there", arguments: writable)
    func tornWAL(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "wal")
        for count in [0, 20, 32, 40, 5000, hot.log.count - 1] {
            try hot.restore(log: Array(hot.log[..<count]))
            #expect(try hot.read() == [])
        }
    }

    @Test("A journal that is cut in its flushed part is an error", arguments: writable, journals)
    func cutJournal(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        for count in [4000, 600 + 4104, hot.syncedEnd - 4000] {
            let cut = Array(hot.log[..<count])
            try hot.restore(log: cut)
            #expect(hot.failureCode() == .corrupt)
            #expect(try hot.isUntouched(log: cut))
        }
    }

    /// The first header of a hot journal and its records, after `garble` has gone over them.
    private func firstSegment(_ hot: HotFixture, _ garble: (inout [UInt8]) -> Void) -> [UInt8] {
        let count = Int(number(hot.log[8..<12]))
        var log = Array(hot.log[..<(512 + count * (4096 + 8))])
        garble(&log)
        return log
    }

    private func garbage(_ range: Range<Int>, _ log: inout [UInt8]) {
        for index in range { log[index] = .random(in: 1...255) ^ log[index] }
        log[range.lowerBound] |= 1
    }

    @Test(
        "A header that a crash garbled while the journal was flushed: the rows are right",
        arguments: writable,
        ["delete", "persist"])
    func garbledHeader(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        #expect(try hot.read() == HotFixture.right)
        let main = try hot.scene.bytes()
        let logs = [
            firstSegment(hot) { garbage(0..<512, &$0) },
            // Some records did not come to the disk either.
            firstSegment(hot) {
                garbage(0..<512, &$0)
                garbage(4616..<5000, &$0)
            },
            firstSegment(hot) {
                garbage(0..<512, &$0)
                $0.removeLast(5000)
            },
            Array(firstSegment(hot) { garbage(0..<512, &$0) }[..<512]),
        ]
        for log in logs {
            try hot.restore(main: main, log: log)
            #expect(try hot.read() == HotFixture.right)
        }
    }

    @Test("A garbled header of a journal that the database needs is an error", arguments: writable)
    func garbledHeaderOfNeeded(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        var whole = hot.log
        garbage(0..<512, &whole)
        let one = firstSegment(hot) { garbage(0..<512, &$0) }
        for log in [whole, one] {
            try hot.restore(log: log)
            #expect(hot.failureCode() == .corrupt)
            #expect(try hot.isUntouched(log: log))
        }
        // Nor is a journal given up in which nothing opens, or whose later headers say that it was whole.
        try hot.restore()
        _ = try hot.read()
        let main = try hot.scene.bytes()
        let foreign = firstSegment(hot) { garbage(0..<$0.count, &$0) }
        for log in [whole, foreign] {
            try hot.restore(main: main, log: log)
            #expect(hot.failureCode() == .corrupt)
            #expect(try hot.isUntouched(main: main, log: log))
        }
    }

    @Test("Another key is an error, and the right one finds the rows", arguments: writable, all)
    func otherKey(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        let other = [UInt8].counting(32, from: 99)
        let salt = [UInt8].counting(16)
        let keys: [() throws -> DatabaseKey] = [
            { try .raw(SecretBytes.copying(other.span), format: format) },
            { try .raw(SecretBytes.copying(other.span), format: format, salt: salt) },
            { try .passphrase(SecretBytes.copying(other.span), format: format) },
        ]
        for key in keys {
            #expect(hot.failureCode(key) == .notAuthentic)
            #expect(try hot.isUntouched())
        }
        #expect(try hot.read() == HotFixture.right)
    }

    @Test("Another format is an error, and the right one finds the rows", arguments: writable, all)
    func otherFormat(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        let others: [DatabaseFormat] = [.gcm1, .sqlcipher4, .sqlcipher3]
        for other in others where other != format {
            let code = try #require(hot.failureCode { try hot.scene.key(other) })
            #expect([.foreign, .notAuthentic, .readOnly].contains(code), "\(other): \(code)")
            #expect(try hot.isUntouched())
        }
        #expect(try hot.read() == HotFixture.right)
    }

    @Test("Another database's journal or WAL is an error", arguments: writable, all)
    func foreign(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        let others = [
            try HotFixture(format, journal, keyBytes: .counting(32, from: 40)).log,
            try HotFixture(format == .gcm1 ? .sqlcipher4 : .gcm1, journal).log,
        ]
        _ = try hot.read()
        let main = try hot.scene.bytes()
        for log in others {
            try hot.restore(main: main, log: log)
            #expect(hot.failureCode() != nil)
            #expect(try hot.isUntouched(main: main, log: log))
        }
        try hot.restore(main: main, log: [])
        #expect(try hot.read() == HotFixture.right)
    }

    @Test("One flipped bit in a journal: right rows or an error", arguments: writable, journals)
    func flippedJournal(format: DatabaseFormat, journal: String) throws {
        let hot = try HotFixture(format, journal)
        var source = SystemRandomNumberGenerator()
        var refused = 0
        // Some bits of the first header, then some anywhere. Tests/Faults/database_hot.py does more.
        let header = (0..<28 * 8).shuffled().prefix(60).map { ($0 / 8, UInt8($0 % 8)) }
        let others = (0..<40).map { _ in
            (Int.random(in: 28..<hot.syncedEnd, using: &source), UInt8.random(in: 0..<8, using: &source))
        }
        for (place, bit) in header + others {
            var flipped = hot.log
            flipped[place] ^= 1 << bit
            try hot.restore(log: flipped)
            do throws(CofferError) {
                #expect(try hot.read() == HotFixture.right, "byte \(place), bit \(bit)")
            } catch {
                refused += 1
                #expect(error.code == .corrupt, "byte \(place), bit \(bit): \(error)")
                #expect(try hot.isUntouched(log: flipped), "byte \(place), bit \(bit)")
            }
        }
        #expect(refused > 40)
    }

    @Test(
        "One flipped bit in a journal without seals, as SQLCipher and earlier releases write them",
        arguments: writable)
    func flippedWithoutSeal(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete", isFirstVersion: format == .gcm1)
        let log = hot.unsealed
        try hot.restore(log: log)
        #expect(try hot.read() == HotFixture.right)
        var source = SystemRandomNumberGenerator()
        // The former size of the database, 16 to 19, stands nowhere else.
        let fields = (Array(0..<16) + Array(20..<28)).flatMap { place in (0..<8).map { (place, UInt8($0)) } }
        let header = fields.shuffled().prefix(80)
        let others = (0..<60).map { _ in
            (Int.random(in: 28..<hot.syncedEnd, using: &source), UInt8.random(in: 0..<8, using: &source))
        }
        for (place, bit) in header + others {
            var flipped = log
            flipped[place] ^= 1 << bit
            try hot.restore(log: flipped)
            if let rows = try? hot.read() {
                #expect(rows == HotFixture.right, "byte \(place), bit \(bit)")
            } else {
                #expect(try hot.isUntouched(log: flipped), "byte \(place), bit \(bit)")
            }
        }
    }

    @Test("A journal without seals beside a database that always had them is an error", arguments: journals)
    func missingSeals(journal: String) throws {
        let hot = try HotFixture(.gcm1, journal)
        let log = hot.unsealed
        // One header, and all of them.
        var first = hot.log
        first.replaceSubrange(28..<512, with: log[28..<512])
        for changed in [log, first] {
            try hot.restore(log: changed)
            #expect(hot.failureCode() == .corrupt)
            #expect(try hot.isUntouched(log: changed))
        }
        try hot.restore()
        #expect(try hot.read() == HotFixture.right)
    }

    @Test(
        "With a super-journal: played back while that is there, else the transaction is committed",
        arguments: writable)
    func superJournals(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "delete")
        let name = hot.scene.pathText + "-mj0A1B2C9D3"
        let log = hot.log(naming: name)
        try hot.restore(log: log)
        try Data((hot.scene.pathText + "-journal").utf8 + [0]).write(to: URL(filePath: name))
        #expect(try hot.read() == HotFixture.right)
        try hot.restore(log: log)
        _ = try? hot.read()
        #expect(try hot.scene.bytes() == hot.main)
        #expect(try hot.scene.bytes("-journal").isEmpty)
    }

    @Test("One flipped bit in a WAL: the rows as SQLite recovers them, or an error", arguments: writable)
    func flippedWAL(format: DatabaseFormat) throws {
        let hot = try HotFixture(format, "wal")
        var source = SystemRandomNumberGenerator()
        for _ in 0..<60 {
            var flipped = hot.log
            flipped[Int.random(in: 0..<flipped.count, using: &source)] ^= 1 << UInt8.random(in: 0..<8)
            try hot.restore(log: flipped)
            guard let rows = try? hot.read() else {
                #expect(try hot.isUntouched(log: flipped))
                continue
            }
            // One transaction: it is there, or SQLite's checksum ended before it.
            #expect(rows == HotFixture.right || rows == [])
        }
    }
}
