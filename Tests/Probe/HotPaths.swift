import Coffer
import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Dispatch
import Foundation
import GRDB
import Synchronization
import SystemPackage

/// The paths whose instructions Scripts/instructions counts: each is repeated as often as asked for, so that
/// the difference of two runs is the path alone.
enum HotPaths {
    typealias Path = @Sendable (_ times: Int) throws -> Void

    static let all: [String: Path] = [
        "documented-key": { times in
            let passcode = try SecretBytes.copying("123456")
            let uuid = "0F8FAD5B-D9CB-469F-A165-70867728950E"
            for _ in 0..<times { _ = try Insecure.DocumentedKey.key(uuid: uuid, passcode: passcode) }
        },
        "aes-gcm-seal-1KiB": { times in
            var aead = try AEAD.prepare(
                .aes256GCM, key: SymmetricKey.copying([UInt8](repeating: 1, count: 32).span))
            let plaintext = [UInt8](repeating: 2, count: 1024)
            for _ in 0..<times { _ = try aead.seal(plaintext.span) }
        },
        // Valgrind knows no SHA instructions: what is counted is the path of processors without them.
        "pbkdf2-sha256-1000-rounds": { times in
            let bytes = [UInt8](repeating: 1, count: 16)
            for _ in 0..<times {
                _ = try PBKDF2.derive(secret: bytes.span, salt: bytes.span, rounds: 1000, count: 32)
            }
        },
        "token-get": { times in try tokenGet(times) },
        "chunk-seal-64KiB": { times in try chunkSeal(times) },
        // With a page cache of 16 pages, a look-up reads and opens at least two pages.
        "database-1000-lookups": { times in
            try inDatabase { database in
                for turn in 0..<times {
                    try database.read { db in
                        let statement = try db.cachedStatement(sql: "SELECT body FROM doc WHERE tag = ?")
                        for number in 0..<1000 {
                            let tag = "tag-\((turn * 7919 + number * 104_729) % rows)"
                            guard try String.fetchOne(statement, arguments: [tag]) != nil else {
                                throw ProbeFailure("no row")
                            }
                        }
                    }
                }
            }
        },
        "database-1000-rows": { times in
            try inDatabase { database in
                for _ in 0..<times { try database.write { db in try insert(1000, into: db) } }
            }
        },
        "database-scan": { times in
            try inDatabase { database in
                for _ in 0..<times {
                    let sum = try database.read { db in
                        try Int.fetchOne(db, sql: "SELECT count(*) FROM doc WHERE body LIKE '%nowhere%'")
                    }
                    guard sum == 0 else { throw ProbeFailure("a row") }
                }
            }
        },
    ]

    private static let rows = 4000

    private static func insert(_ count: Int, into db: Database) throws {
        try db.execute(
            sql: """
                WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1) \
                INSERT INTO doc (tag, body) SELECT 'tag-' || i, printf('%.*c', 100 + i * 53 % 401, 'x') FROM n
                """, arguments: [count])
    }

    /// Runs `body` with an encrypted database of ``rows`` rows.
    private static func inDatabase(_ body: (DatabaseQueue) throws -> Void) throws {
        try inFolder { folder in
            var configuration = Configuration()
            configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA cache_size = 16") }
            let database = try EncryptedDatabase.queue(
                at: FilePath(folder + "/database"),
                key: .raw(SecretBytes.copying([UInt8](repeating: 3, count: 32).span), format: .gcm1),
                configuration: configuration)
            try database.write { db in
                try db.execute(sql: "CREATE TABLE doc (id INTEGER PRIMARY KEY, tag TEXT, body TEXT)")
                try insert(rows, into: db)
                try db.execute(sql: "CREATE INDEX doc_tag ON doc (tag)")
            }
            try body(database)
            try database.close()
        }
    }

    private static func tokenGet(_ times: Int) throws {
        try inHome { session, _ in
            let id = try TokenID(service: "api.example.org", account: "someone")
            try await session.tokens.put(Token(copying: "a token of usual length, about forty"), for: id)
            for _ in 0..<times {
                let count = try await session.tokens.get(id)?.token.count
                guard count != nil else { throw ProbeFailure("no token") }
            }
        }
    }

    private static func chunkSeal(_ times: Int) throws {
        try inHome { session, folder in
            let file = folder + "/file"
            try Data(repeating: 5, count: times << 16).write(to: URL(filePath: file))
            _ = try await session.files.add(contentsOf: FilePath(file))
        }
    }

    /// Runs `body` with a new folder, which is removed afterwards.
    private static func inFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path() + "/coffer-probe-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    /// Runs `body` in a new home, and waits for it on this thread.
    private static func inHome(_ body: @escaping @Sendable (Vault, String) async throws -> Void) throws {
        try inFolder { folder in try inHome(in: folder, body) }
    }

    private static func inHome(
        in folder: String, _ body: @escaping @Sendable (Vault, String) async throws -> Void
    ) throws {
        let failure = Mutex<(any Error)?>(nil)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                var options = VaultOptions()
                options.cost = .floor
                let session = try await Vault.create(
                    at: VaultLocation(path: FilePath(folder + "/home")), options: options, passcode: nil)
                try await body(session, folder)
                session.close()
            } catch {
                failure.withLock { $0 = error }
            }
            done.signal()
        }
        done.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
