import CofferBase
import CofferDatabase
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@Suite("Paths of databases as text and as URLs")
struct PathFormTests {
    private let count = "SELECT count(*) FROM note"

    @Test("A database is the same by path, text and URL")
    func forms() throws {
        let scratch = try ScratchDirectory.make()
        let key = try DatabaseKey.random()
        let text = scratch.path(of: "my notes.db")
        let url = URL(filePath: text)
        try EncryptedDatabase.pool(at: text, key: key).write { try $0.execute(sql: "CREATE TABLE note (x)") }
        let queue = try EncryptedDatabase.queue(at: url, key: key)
        #expect(try queue.read { try Int.fetchOne($0, sql: count) } == 0)
        #expect(EncryptedDatabase.path(of: queue) == FilePath(text))
        try queue.close()
        #expect(try EncryptedDatabase.pool(at: url, key: key).read { try Int.fetchOne($0, sql: count) } == 0)
        #expect(
            try EncryptedDatabase.queue(at: text, key: key).read { try Int.fetchOne($0, sql: count) } == 0)
    }

    @Test("Conversions take text and URLs")
    func conversions() throws {
        let scratch = try ScratchDirectory.make()
        let key = try DatabaseKey.random()
        let next = try DatabaseKey.random()
        let folder = scratch.path
        func path(_ name: String) -> String { folder.appending(name).string }
        func url(_ name: String) -> URL { URL(filePath: path(name)) }
        try DatabaseQueue(path: path("plain")).write { try $0.execute(sql: "CREATE TABLE note (x)") }
        try EncryptedDatabase.encrypt(path("plain"), to: path("a"), key: key)
        try EncryptedDatabase.encrypt(url("plain"), to: url("b"), key: key)
        try EncryptedDatabase.convert(path("a"), key: key, to: path("c"), newKey: next)
        try EncryptedDatabase.convert(url("b"), key: key, to: url("d"), newKey: next)
        try EncryptedDatabase.rekey(at: path("c"), from: next, to: key)
        try EncryptedDatabase.rekey(at: url("d"), from: next, to: key)
        try EncryptedDatabase.exportPlain(path("c"), key: key, to: path("e"))
        try EncryptedDatabase.exportPlain(url("d"), key: key, to: url("f"))
        for name in ["e", "f"] {
            #expect(try DatabaseQueue(path: path(name)).read { try Int.fetchOne($0, sql: count) } == 0)
        }
    }

    @Test("A URL of another scheme and text with a NUL are refused before anything is created")
    func refused() throws {
        let scratch = try ScratchDirectory.make()
        let key = try DatabaseKey.random()
        let web = try #require(URL(string: "https://example.org/notes.db"))
        let cut = scratch.path(of: "notes.db") + "\u{0}x"
        #expect(failure(of: { _ = try EncryptedDatabase.queue(at: web, key: key) }) == .invalidInput)
        #expect(failure(of: { _ = try EncryptedDatabase.pool(at: web, key: key) }) == .invalidInput)
        #expect(failure(of: { _ = try EncryptedDatabase.queue(at: cut, key: key) }) == .invalidInput)
        #expect(failure(of: { _ = try EncryptedDatabase.pool(at: cut, key: key) }) == .invalidInput)
        #expect(failure(of: { try EncryptedDatabase.encrypt(web, to: web, key: key) }) == .invalidInput)
        #expect(failure(of: { try EncryptedDatabase.encrypt(cut, to: cut, key: key) }) == .invalidInput)
        #expect(try scratch.names().isEmpty)
    }
}
