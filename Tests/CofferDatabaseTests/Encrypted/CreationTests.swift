import CofferBase
import CofferDatabase
import Foundation
import GRDB
import TestSupport
import Testing

private let writable: [DatabaseFormat] = [.gcm1, .sqlcipher4]

/// Several connections, with a salt of their own each, that make one database at the same time.
@Suite struct CreationTests {
    @Test(
        "Who opened a database before another made it finds its rows", arguments: writable, ["wal", "delete"])
    func overtaken(format: DatabaseFormat, journal: String) throws {
        let scene = try DatabaseScene(format)
        let early = try scene.queue()
        let queue = try scene.queue(journal: journal)
        try queue.write { _ = try fill($0, count: 50) }
        #expect(try early.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 50)
        try early.write { _ = try fill($0, count: 50) }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 100)
        #expect(try queue.read { try integrity($0) } == "ok")
    }

    @Test("Processes that make one at once all open it", arguments: writable)
    func together(format: DatabaseFormat) throws {
        let script = "for number in 1 2 3 4 5; do \"$@\" & done; wait"
        for _ in 0..<5 {
            let scene = try DatabaseScene(format)
            let run = try CommandRun.run(
                "sh",
                [
                    "-c", script, "sh", DatabaseAgent.path, "create", format.rawValue, scene.keyBytes.hex,
                    scene.pathText, "wal",
                ], seconds: 60)
            #expect(run.text.split(separator: "\n") == Array(repeating: "ready", count: 5), "\(run.text)")
        }
    }
}
