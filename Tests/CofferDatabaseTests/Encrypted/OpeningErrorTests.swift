import CofferBase
import CofferCrypto
import CofferDatabase
import CofferTesting
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@Suite("Errors and paths of an opening")
struct OpeningErrorTests {
    private struct AppError: Error, Equatable { let number: Int }

    private func failing(with error: any Error) -> Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { _ in throw error }
        return configuration
    }

    @Test("A program's own error in prepareDatabase comes back as itself")
    func ownErrors() async throws {
        let scene = try DatabaseFixture()
        let configuration = failing(with: AppError(number: 7))
        #expect(throws: AppError(number: 7)) {
            try EncryptedDatabase.queue(at: scene.path, key: scene.key(), configuration: configuration)
        }
        #expect(throws: AppError(number: 7)) {
            try EncryptedDatabase.pool(at: scene.path, key: scene.key(), configuration: configuration)
        }
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let databases = VaultDatabases(temporary.vault)
            await #expect(throws: AppError(number: 7)) {
                _ = try await databases.pool("notes", configuration: configuration)
            }
            await #expect(throws: AppError(number: 7)) {
                _ = try await databases.queue("notes", configuration: configuration)
            }
            // The next one gets in.
            let pool = try await databases.pool("notes")
            try await pool.write { _ = try fill($0, count: 5) }
        }
    }

    @Test("An error of SQLite or of this package in prepareDatabase has its code")
    func typedErrors() throws {
        let scene = try DatabaseFixture()
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "SELECT nonsense") }
        #expect(
            failure {
                _ = try EncryptedDatabase.queue(
                    at: scene.path, key: scene.key(), configuration: configuration)
            } == .invalidInput)
        #expect(
            failure {
                _ = try EncryptedDatabase.pool(
                    at: scene.path, key: scene.key(),
                    configuration: failing(with: CofferError(.conflict, "mine")))
            } == .conflict)
    }

    @Test("The path of a queue, a pool and a snapshot is the file's, whatever is in it")
    func paths() throws {
        let scene = try DatabaseFixture()
        for name in ["notes.db", "a b?c#d%e&f=g.db", "ü\u{308}.db", "it's %00.db"] {
            let path = scene.scratch.path.appending(name)
            let pool = try EncryptedDatabase.pool(at: path, key: scene.key())
            #expect(EncryptedDatabase.path(of: pool) == path)
            #expect(EncryptedDatabase.path(of: try pool.makeSnapshot()) == path)
            #expect(FileManager.default.fileExists(atPath: EncryptedDatabase.path(of: pool).string))
            #expect(
                EncryptedDatabase.path(of: try EncryptedDatabase.queue(at: path, key: scene.key())) == path)
        }
        let plain = scene.scratch.path(of: "plain.db")
        #expect(EncryptedDatabase.path(of: try DatabaseQueue(path: plain)) == FilePath(plain))
        #expect(EncryptedDatabase.path(of: try DatabaseQueue()) == ":memory:")
    }
}
