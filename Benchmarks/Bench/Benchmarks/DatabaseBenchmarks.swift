import CofferBase
import CofferDatabase
import SystemPackage

/// Databases of documents: encrypted ones compared with plain SQLite and with SQLCipher.
enum DatabaseBenchmarks {
    static let all: [Benchmark] = [
        Benchmark("db-insert", insert),
        Benchmark("db-scan") { (runner) async throws(CofferError) in
            try await compare(
                runner, "db-scan", ours: { (db, _) throws(CofferError) in try db.run(DatabaseWork.scan) },
                theirs: { (db, _) throws(CofferError) in try db.run(DatabaseWork.scan) })
        },
        Benchmark("db-point") { (runner) async throws(CofferError) in
            try await compare(
                runner, "db-point", ours: { (db, work) throws(CofferError) in try db.run(work.points) },
                theirs: { (db, work) throws(CofferError) in try db.run(work.points) })
        },
        // On a disk, because a commit exists to write to one.
        Benchmark("db-commit") { (runner) async throws(CofferError) in
            try await compare(
                runner, "db-commit", onDisk: true,
                ours: { (db, work) throws(CofferError) in
                    try db.commit(work)
                    return ""
                },
                theirs: { (db, work) throws(CofferError) in
                    try db.commit(work)
                    return ""
                })
        },
    ]

    private static let plainPeer = Peer(name: "sqlite", version: DatabaseContenders.sqliteVersion)

    /// Each run builds a whole database: documents in one transaction, two indices, the last checkpoint.
    private static func insert(_ runner: Runner) async throws(CofferError) {
        let name = "db-insert"
        guard let sides = try DatabaseContenders.make(runner, name) else { return }
        let before = { () async throws(CofferError) in try sides.remove() }
        let plain: Runner.Work = { (_) async throws(CofferError) in try sides.make(nil) }
        try await runner.compare(
            name, with: plainPeer, note: sides.note, before: before,
            ours: { (_) async throws(CofferError) in try sides.make(.gcm1) }, theirs: plain,
            agree: { () async throws(CofferError) in try sides.sum(.gcm1) == sides.sum(nil) })
        guard let cipher = sides.cipher else { return sides.skip(runner, name) }
        for format in [DatabaseFormat.gcm1, .sqlcipher4] {
            try await runner.compare(
                sides.name(name, format), with: cipher.peer, clock: .wall, note: sides.note, before: before,
                ours: { (_) async throws(CofferError) in try sides.make(format) },
                theirs: { (_) async throws(CofferError) in try sides.makeByCipher() },
                agree: { () async throws(CofferError) in try sides.sum(format) == sides.sumByCipher() })
        }
        try sides.remove()
    }

    /// The same work on finished databases that stay open.
    private static func compare(
        _ runner: Runner, _ name: String, onDisk: Bool = false,
        ours: @escaping (BenchDatabase, DatabaseWork) throws(CofferError) -> String,
        theirs: @escaping (SQLCipherPeer, DatabaseWork) throws(CofferError) -> String
    ) async throws(CofferError) {
        guard let sides = try DatabaseContenders.make(runner, name, onDisk: onDisk) else { return }
        let plain = try sides.opened(nil)
        let own = try sides.opened(.gcm1)
        var last = (ours: "", theirs: "")
        try await runner.compare(
            name, with: plainPeer, note: sides.note,
            ours: { (count) async throws(CofferError) in
                for _ in 0..<count { last.ours = try ours(own, sides.work) }
            },
            theirs: { (count) async throws(CofferError) in
                for _ in 0..<count { last.theirs = try ours(plain, sides.work) }
            },
            agree: { () async throws(CofferError) in
                let (first, second) = (try own.run(DatabaseWork.sum), try plain.run(DatabaseWork.sum))
                return last.ours == last.theirs && first == second
            })
        try plain.close()
        try own.close()
        guard let cipher = sides.cipher else { return sides.skip(runner, name) }
        try sides.remove()
        for format in [DatabaseFormat.gcm1, .sqlcipher4] {
            try sides.makeByCipher()
            try cipher.open(sides.cipherPath)
            let own = try sides.opened(format)
            try await runner.compare(
                sides.name(name, format), with: cipher.peer, clock: .wall, note: sides.note,
                ours: { (count) async throws(CofferError) in
                    for _ in 0..<count { last.ours = try ours(own, sides.work) }
                },
                theirs: { (count) async throws(CofferError) in
                    for _ in 0..<count { last.theirs = try theirs(cipher, sides.work) }
                },
                agree: { () async throws(CofferError) in
                    let (first, second) = (try own.run(DatabaseWork.sum), try cipher.run(DatabaseWork.sum))
                    return last.ours == last.theirs && first == second
                })
            try own.close()
            try cipher.close()
            try sides.remove()
        }
    }
}
