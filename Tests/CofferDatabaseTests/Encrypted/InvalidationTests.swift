import CofferBase
import CofferCrypto
@testable import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import GRDB
import SystemPackage
import TestSupport
import Testing

@Suite("A database that ends while others hold it")
struct InvalidationTests {
    /// With SQLCipher's format the key itself is what a connection's cipher begins with. In a process of its
    /// own, whose memory is small.
    @Test("No connection keeps its key", .enabled(if: OwnMemory.isReadable, "/proc/self/mem cannot be read"))
    func keys() async {
        await #expect(processExitsWith: .success) {
            let folder = try ScratchDirectory.make()
            let secret = try SecretBytes.random(count: 32)
            // What this test remembers; the key itself stands in guarded memory, and where it is used.
            let complement = secret.exposing { bytes in bytes.indices.map { ~bytes[$0] } }
            let handle = try DatabaseKey.raw(secret, format: .sqlcipher4).handle()
            let path = folder.path.appending("a.db")
            let queue = try EncryptedDatabase.queue(at: path, handle: handle, configuration: Configuration())
            try queue.write { try $0.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t (x)") }
            #expect(try OwnMemory.count(complementsOf: [complement]) > 0)
            EncryptedDatabase.invalidate(queue, handle)
            let halves = [Array(complement.prefix(16)), Array(complement.suffix(16))]
            #expect(try OwnMemory.count(complementsOf: halves) == 0)
            #expect(throws: DatabaseError.self) { try queue.read { try $0.tableExists("t") } }
        }
    }
}
