import CofferDatabase
import CofferEngineSQLite
import Foundation
import GRDB
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// Tests `ATTACH ?`: the name is known when the statement begins, and no sooner.
@Suite("Databases attached by bound names")
struct AttachBoundNameTests {
    /// A database with a guarded connection, and another one to attach, beside it.
    private final class World {
        let scene: DatabaseFixture
        let queue: DatabaseQueue
        let other: DatabaseQueue

        init(_ format: DatabaseFormat = .gcm1, configuration: Configuration = Configuration()) throws {
            let scene = try DatabaseFixture(format)
            queue = try EncryptedDatabase.queue(
                at: scene.path, key: scene.key(), configuration: configuration)
            try queue.write { _ = try fill($0, count: 10) }
            other = try EncryptedDatabase.queue(
                at: scene.scratch.path.appending("other.db"), key: scene.key())
            try other.write { try $0.execute(sql: "CREATE TABLE o (x); INSERT INTO o VALUES ('kept')") }
            self.scene = scene
        }

        /// Where nothing may appear.
        var outside: String { scene.scratch.path.appending("outside.db").string }

        func name(_ template: String) -> String {
            template.replacingOccurrences(of: "OTHER", with: other.path)
                .replacingOccurrences(of: "PATH", with: outside)
        }

        /// Whether the connection has its own database alone, and no file was made.
        func isAsItWas() throws -> Bool {
            let names = try scene.scratch.names().filter { $0.hasPrefix("outside") }
            let attached = try queue.inDatabase { try Self.attached($0) }
            return names.isEmpty && attached.isEmpty
        }

        static func attached(_ db: Database) throws -> [String] {
            try Row.fetchAll(db, sql: "PRAGMA database_list").map { $0["name"] }
                .filter { $0 != "main" && $0 != "temp" }
        }
    }

    @Test(
        "An encrypted database is attached, read and written", arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func encrypted(format: DatabaseFormat) throws {
        let world = try World(format)
        let name = world.other.path
        try world.queue.inDatabase { db in
            try db.execute(literal: "ATTACH DATABASE \(name) AS x")
            #expect(try String.fetchOne(db, sql: "SELECT x FROM x.o") == "kept")
            try db.execute(sql: "INSERT INTO x.o SELECT body FROM main.t; DETACH x")
            try db.execute(sql: " \n\tattach:name as x", arguments: ["name": name])
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM x.o") == 11)
            try db.execute(sql: "DETACH x; ATTACH ?2 AS ?1", arguments: ["quo'te", name])
            #expect(try World.attached(db) == ["quo'te"])
            try db.execute(sql: "DETACH \"quo'te\"; ATTACH '' AS x; CREATE TABLE x.t (a)")
            try db.execute(sql: "DETACH x; VACUUM; ATTACH '\(name)' AS x")
        }
        #expect(try world.other.read { try integrity($0) } == "ok")
    }

    @Test(
        "Any other name is refused before a file is opened",
        arguments: [
            "PATH", "file:PATH", "file:PATH?vfs=unix", "file:PATH?vfs=unix-none&mode=rwc",
            "file:PATH?vfs=coffer",
            "file:PATH?\u{301}&vfs=unix", "file:PATH?\u{301}=1&vfs=unix", "OTHER&vfs=unix", "OTHER&vfs=unix&",
            "OTHER#", "OTHER&modeof=/etc/passwd", "file:?vfs=unix", "file::memory:?vfs=unix",
            "file:PATH?vfs=memdb", "file:PATH?vfs=unix' AS y --", "' || 'file:PATH?vfs=unix",
        ])
    func refused(template: String) throws {
        let world = try World()
        let name = world.name(template)
        for sql in ["ATTACH ? AS x", "ATTACH DATABASE ?1 AS x", "ATTACH ? AS x KEY ''"] {
            #expect(throws: DatabaseError.self, "\(sql)") {
                try world.queue.inDatabase { try $0.execute(sql: sql, arguments: [name]) }
            }
            #expect(try world.isAsItWas(), "\(sql)")
        }
        // The same rule as for a literal.
        #expect(throws: DatabaseError.self) {
            try world.queue.inDatabase {
                try $0.execute(
                    sql: "ATTACH '\(name.replacingOccurrences(of: "'", with: "''"))' AS x; SELECT * FROM x.o")
            }
        }
    }

    @Test(
        "A name that is an expression is refused, also when it would be allowed by itself",
        arguments: [
            "(?)", "? || ''", "'' || ?", "(SELECT ?)", "CAST(? AS TEXT)", "lower(?)", "? COLLATE NOCASE",
            "coalesce(NULL, ?)", "+?", "/**/ ?", "(SELECT 'file:PATH?vfs=unix' WHERE ?)",
            "iif(? = '', '', 'file:PATH?vfs=unix')",
        ])
    func expressions(template: String) throws {
        let world = try World()
        for name in [world.other.path, world.name("file:PATH?vfs=unix")] {
            #expect(throws: DatabaseError.self, "\(name)") {
                try world.queue.inDatabase {
                    try $0.execute(sql: "ATTACH \(world.name(template)) AS x", arguments: [name])
                }
            }
            #expect(try world.isAsItWas())
        }
    }

    @Test("A value that is no text is refused")
    func values() throws {
        let world = try World()
        let name = Data(world.other.path.utf8)
        for value: DatabaseValue in [.null, name.databaseValue, 1.databaseValue, 1.5.databaseValue] {
            #expect(throws: DatabaseError.self, "\(value)") {
                try world.queue.inDatabase { try $0.execute(sql: "ATTACH ? AS x", arguments: [value]) }
            }
            #expect(try world.isAsItWas())
        }
    }

    @Test("A statement is judged at each of its runs")
    func prepared() throws {
        let world = try World()
        let (good, bad) = (world.other.path, world.name("file:PATH?vfs=unix"))
        try world.queue.inDatabase { db in
            let attach = try db.makeStatement(sql: "ATTACH ? AS x")
            for _ in 0..<3 {
                try attach.execute(arguments: [good])
                try db.execute(sql: "DETACH x")
                // Compiled, and not run.
                _ = try db.makeStatement(sql: "ATTACH '\(good)' AS y")
                #expect(throws: DatabaseError.self) { try attach.execute(arguments: [bad]) }
                try db.execute(sql: "VACUUM")
                #expect(throws: DatabaseError.self) { try attach.execute(arguments: [bad]) }
                #expect(try World.attached(db).isEmpty)
            }
        }
        #expect(try world.isAsItWas())
    }

    @Test("VACUUM INTO with a bound name makes an encrypted copy, or nothing")
    func vacuumInto() throws {
        let world = try World()
        try world.queue.inDatabase { db in
            try db.execute(sql: "ATTACH ? AS x; DETACH x", arguments: [world.other.path])
            for template in ["file:PATH", "file:PATH?vfs=unix", "file:PATH?\u{301}&vfs=unix"] {
                #expect(throws: DatabaseError.self, "\(template)") {
                    try db.execute(sql: "VACUUM INTO ?", arguments: [world.name(template)])
                }
            }
        }
        #expect(try world.isAsItWas())
        try world.queue.inDatabase {
            try $0.execute(sql: "VACUUM INTO ?", arguments: [world.outside])
            #expect(try World.attached($0).isEmpty)
        }
        let copy = try world.scene.scratch.read("outside.db")
        #expect(!copy.contains(text: "plain text canary") && !copy.starts(with: "SQLite format".utf8))
        let opened = try EncryptedDatabase.queue(
            at: world.scene.scratch.path.appending("outside.db"), key: world.scene.key())
        #expect(try opened.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 10)
    }

    @Test("A program's tracer is told what it asked for, and the guard holds when it changes")
    func tracer() throws {
        let seen = Seen()
        var configuration = Configuration()
        configuration.prepareDatabase { db in db.trace { seen.note($0.expandedDescription) } }
        let world = try World(configuration: configuration)
        let (good, bad) = (world.other.path, world.name("file:PATH?vfs=unix"))
        try world.queue.inDatabase { db in
            let attach = try db.makeStatement(sql: "ATTACH ? AS x")
            _ = seen.take()
            try attach.execute(arguments: [good])
            try db.execute(sql: "DETACH x")
            #expect(seen.take() == ["ATTACH '\(good)' AS x", "DETACH x"])
            // Replaced behind the guard's back: what is compiled already attaches nothing.
            let late = try db.makeStatement(sql: "ATTACH ? AS x")
            db.trace { seen.note($0.expandedDescription) }
            for name in [good, bad] {
                #expect(throws: DatabaseError.self) { try late.execute(arguments: [name]) }
            }
            #expect(throws: DatabaseError.self) {
                try db.execute(sql: "ATTACH ? AS x", arguments: [bad])
            }
            _ = seen.take()
            try db.execute(sql: "ATTACH ? AS x", arguments: [good])
            #expect(seen.take() == ["ATTACH '\(good)' AS x"])
            db.trace(nil)
            try db.execute(sql: "DETACH x")
            #expect(throws: DatabaseError.self) { try attach.execute(arguments: [bad]) }
            try db.execute(sql: "ATTACH ? AS x; DETACH x", arguments: [good])
            #expect(seen.take().isEmpty)
            // Asks for the end of statements alone.
            db.trace(options: .profile) { seen.note("\($0)".hasSuffix("DETACH x") ? "end" : "other") }
            try db.execute(sql: "ATTACH ? AS x; DETACH x", arguments: [good])
            #expect(seen.take() == ["other", "end"])
        }
        #expect(try world.isAsItWas())
    }

    @Test("The guard belongs to the connection, also when an attached database is asked and leaves")
    func guardOfAttached() throws {
        let world = try World()
        let bad = world.name("file:PATH?vfs=unix")
        try world.queue.inDatabase { db in
            for _ in 0..<20 {
                try db.execute(sql: "ATTACH ? AS x", arguments: [world.other.path])
                #expect(try String.fetchOne(db, sql: "PRAGMA x.coffer_guard") == "on")
                try db.execute(sql: "DETACH x")
                #expect(throws: DatabaseError.self) {
                    try db.execute(sql: "ATTACH ? AS x", arguments: [bad])
                }
                #expect(throws: DatabaseError.self) { try db.execute(sql: "ATTACH '\(bad)' AS x") }
            }
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM t") == 10)
        }
        #expect(try world.isAsItWas())
    }

    @Test("Only a plain ATTACH has a name")
    func statement() {
        func name(_ sql: String) -> String? {
            AttachStatement.name(in: Array(sql.utf8)).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(name("ATTACH 'a' AS x") == "a")
        #expect(name("attach\tdatabase\n'it''s'aS x KEY 'k'") == "it's")
        #expect(name("ATTACH'' AS x") == "")
        #expect(name("ATTACH \"a\"\"b\" AS x") == "a\"b")
        for sql in [
            "", "ATTACH", "ATTACH 'a'", "ATTACH 'a AS x", "ATTACH 'a' 'b' AS x", "ATTACH 'a'||'b' AS x",
            "ATTACH x'61' AS x", "ATTACH NULL AS x", "ATTACH 1 AS x", "ATTACH ('a') AS x", "ATTACH a AS x",
            "ATTACH 'a' ASx", "ATTACH 'a' AS\u{e9} x", "ATTACHED 'a' AS x", "ATTACH DATABASES 'a' AS x",
            "-- ATTACH 'a' AS x", "EXPLAIN ATTACH 'a' AS x", "ATTACH \u{b}'a' AS x", "SELECT 1",
            "ATTACH 'a' /**/AS x",
        ] { #expect(name(sql) == nil, "\(sql)") }
    }
}

/// Keeps what a tracer was told.
private final class Seen: Sendable {
    private let events = Mutex<[String]>([])

    func note(_ event: String) { events.withLock { $0.append(event) } }

    func take() -> [String] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }
}
