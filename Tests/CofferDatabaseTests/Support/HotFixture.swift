import CofferBase
import CofferCrypto
import CofferDatabase
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// A database as a killed process left it, with its journal or its WAL, to be damaged and opened again and
/// again.
///
/// With a WAL its rows are committed there; with a journal they are in the database, and a change of all of
/// them was under way.
final class HotFixture {
    static let rows = 300
    static let right = (0..<rows).map { "row \($0) " + String(repeating: "y", count: 900) }

    let scene: DatabaseFixture
    let suffix: String
    let main: [UInt8]
    let log: [UInt8]

    /// With `isFirstVersion` the database has the first version of `gcm1`'s header.
    init(
        _ format: DatabaseFormat, _ journal: String, keyBytes: [UInt8] = .counting(32, from: 7),
        isFirstVersion: Bool = false
    ) throws {
        let scene = try DatabaseFixture(format, keyBytes: keyBytes)
        if isFirstVersion {
            let key = try DatabaseKey.raw(SecretBytes.copying(keyBytes.span), salt: .counting(6))
            let queue = try EncryptedDatabase.queue(at: scene.path, key: key)
            try queue.write { try $0.execute(sql: "CREATE TABLE first (x)") }
            try queue.close()
        }
        let suffix = journal == "wal" ? "-wal" : "-journal"
        let agent = try #require(
            Helper([
                DatabaseAgent.path, "hot", format.rawValue, keyBytes.hex, scene.pathText, journal,
                "\(Self.rows)",
            ]))
        agent.kill()
        let (main, log) = (try scene.bytes(), try scene.bytes(suffix))
        guard log.count > 3 * 4096 else { throw CofferError(.internalFailure, "The journal is not hot.") }
        (self.main, self.log, self.suffix) = (main, log, suffix)
        self.scene = scene
    }

    /// Puts the files there: as they were found, but for what is said otherwise.
    func restore(main: [UInt8]? = nil, log: [UInt8]? = nil) throws {
        for name in try scene.scratch.names() {
            try FileManager.default.removeItem(atPath: scene.scratch.path.appending(name).string)
        }
        try scene.write(main ?? self.main)
        try scene.write(log ?? self.log, suffix)
    }

    /// The rows under the scene's own key, or another.
    func read(_ key: (() throws -> DatabaseKey)? = nil) throws(CofferError) -> [String] {
        do {
            let queue = try EncryptedDatabase.queue(at: scene.path, key: key?() ?? scene.key())
            return try queue.read { db in
                guard try integrity(db) == "ok" else { throw CofferError(.corrupt, "integrity") }
                guard try db.tableExists("t") else { return [] }
                return try String.fetchAll(db, sql: "SELECT body FROM t ORDER BY id")
            }
        } catch {
            throw EncryptedDatabase.failure(error)
        }
    }

    /// The code that reading fails with.
    func failureCode(_ key: (() throws -> DatabaseKey)? = nil) -> CofferError.Code? {
        failure { _ = try read(key) }
    }

    /// Whether the files still are what was put there.
    func isUntouched(main: [UInt8]? = nil, log: [UInt8]? = nil) throws -> Bool {
        let found = (try scene.bytes(), try scene.bytes(suffix))
        return found.0 == main ?? self.main && found.1 == log ?? self.log
    }

    /// Where a journal's headers stand that SQLite has marked, and where the records end that they count.
    private var layout: (headers: [Int], end: Int) {
        var (headers, end, place): ([Int], Int, Int) = ([], 0, 0)
        while place + 512 <= log.count, log[place..<place + 4].elementsEqual([0xd9, 0xd5, 0x05, 0xf9]) {
            headers.append(place)
            end = place + 512 + Int(number(log[place + 8..<place + 12])) * (4096 + 8)
            place = (end + 511) / 512 * 512
        }
        return (headers, end)
    }

    /// The journal without the seals of its headers.
    var unsealed: [UInt8] {
        layout.headers.reduce(into: log) { log, header in
            log.replaceSubrange(header + 28..<header + 512, with: [UInt8](repeating: 0, count: 484))
        }
    }

    var syncedEnd: Int { layout.end }

    /// The end of a journal whose transaction went over several databases: the name of its super-journal.
    /// SQLite adds the bytes up as C's `char`.
    static func ending(naming name: String) -> [UInt8] {
        func word(_ value: UInt32) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
        }
        let bytes = Array(name.utf8)
        let sum = bytes.reduce(UInt32(0)) { $0 &+ UInt32(truncatingIfNeeded: CChar(bitPattern: $1)) }
        return word((1 << 30) / 4096 + 1) + bytes + word(UInt32(bytes.count)) + word(sum)
            + [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    }

    /// The journal as it was flushed, with such an end.
    func log(naming name: String) -> [UInt8] {
        let flushed = Array(log[..<syncedEnd])
        let gap = [UInt8](repeating: 0, count: (512 - flushed.count % 512) % 512)
        return flushed + gap + Self.ending(naming: name)
    }
}
