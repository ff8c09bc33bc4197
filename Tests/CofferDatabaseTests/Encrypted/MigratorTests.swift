import CofferDatabase
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// GRDB's migrator opens a database of its own to compare schemas.
@Suite("GRDB's migrator")
struct MigratorTests {
    private static let canary = "canary-71d0c4"

    private func migrator(_ columns: String) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("one") { db in
            try db.execute(sql: "CREATE TABLE note (\(columns)); INSERT INTO note VALUES ('\(Self.canary)')")
            // While the migration runs, nothing of it stands in a file.
            let path = try String.fetchOne(
                db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
            if let path, !path.isEmpty, !path.hasSuffix("test.db"),
                let bytes = FileManager.default.contents(atPath: path)
            {
                #expect(bytes.range(of: Data(Self.canary.utf8)) == nil)
                #expect(bytes.range(of: Data("SQLite format".utf8)) == nil)
            }
        }
        return migrator
    }

    @Test(
        "The migrator finds schema changes and erases the database only on request",
        arguments: [DatabaseFormat.gcm1, .sqlcipher4])
    func schemaChanges(format: DatabaseFormat) throws {
        let scene = try DatabaseFixture(format)
        let queue = try scene.queue()
        let first = migrator("a TEXT")
        try first.migrate(queue)
        #expect(try queue.read { try first.hasSchemaChanges($0) } == false)
        var second = migrator("b TEXT")
        #expect(try queue.read { try second.hasSchemaChanges($0) })
        second.eraseDatabaseOnSchemaChange = true
        try second.migrate(queue)
        #expect(try queue.read { try $0.columns(in: "note").map(\.name) } == ["b"])
        let pool = try scene.pool()
        #expect(try pool.read { try second.hasSchemaChanges($0) } == false)
    }

    @Test("A plain database is refused under an encrypted database's configuration")
    func otherPlainDatabase() throws {
        let scene = try DatabaseFixture()
        let configuration = try scene.queue().configuration
        let path = scene.scratch.path.appending("plain.db").string
        #expect(throws: (any Error).self) { try DatabaseQueue(path: path, configuration: configuration) }
    }
}
