import CofferBase
import CofferDatabase
import SystemPackage

/// The databases to compare, and how each is created.
struct DatabaseContenders {
    let work: DatabaseWork
    /// `nil` if SQLCipher is not installed.
    let cipher: SQLCipherPeer?
    /// A note if there are fewer documents than the name promises.
    let note: String?
    private let workspace: Workspace

    /// The size of a document in one of them, with its index entries and its part of the WAL.
    private static let bytesOfDocument: Int64 = 1024
    /// The maximum number of databases at a time.
    private static let most: Int64 = 3

    /// The version of the SQLite in this process.
    static var sqliteVersion: String {
        (try? BenchDatabase.open(":memory:", nil).run("SELECT sqlite_version()")) ?? "unknown"
    }

    /// `nil`, with a line in the report, if there is not enough space.
    static func make(
        _ runner: Runner, _ name: String, onDisk: Bool = false
    ) throws(CofferError) -> DatabaseContenders? {
        let work = DatabaseWork(quick: runner.quick)
        let workspace = try onDisk ? runner.filesOnDisk() : runner.files()
        let needed = Int64(work.rows) * bytesOfDocument * most + Int64(64 << 20)
        guard workspace.available >= needed else {
            runner.skip(
                name, peer: nil, reason: "needs \(needed >> 20) MiB of free \(onDisk ? "disk" : "memory")")
            return nil
        }
        let note = runner.quick ? "quick: \(work.rows) documents" : nil
        return DatabaseContenders(work: work, cipher: SQLCipherPeer.start(), note: note, workspace: workspace)
    }

    func skip(_ runner: Runner, _ name: String) {
        runner.skip(
            name, peer: "sqlcipher",
            reason: "SQLCipher for Python is not installed: Scripts/setup-packages --tests")
    }

    /// The name of a figure against SQLCipher, which includes the format of our pages.
    func name(_ name: String, _ format: DatabaseFormat) -> String {
        format == .gcm1 ? name : "\(name)/\(format.rawValue)"
    }

    private func path(_ format: DatabaseFormat?) -> FilePath {
        workspace.file("database-\(format?.rawValue ?? "plain")")
    }

    var cipherPath: FilePath { workspace.file("database-theirs") }

    /// Creates a database of this process from nothing and closes it.
    func make(_ format: DatabaseFormat?) throws(CofferError) {
        let database = try BenchDatabase.open(path(format), format)
        try database.run(DatabaseWork.table)
        try database.run(work.insertion)
        for index in DatabaseWork.indices { try database.run(index) }
        try database.close()
    }

    /// Opens a database of this process, creating it if needed.
    func opened(_ format: DatabaseFormat?) throws(CofferError) -> BenchDatabase {
        try remove(path(format))
        try make(format)
        return try BenchDatabase.open(path(format), format)
    }

    /// Creates SQLCipher's database from nothing and closes it.
    func makeByCipher() throws(CofferError) {
        guard let cipher else { return }
        try cipher.open(cipherPath)
        try cipher.run(DatabaseWork.table)
        try cipher.run(work.insertion)
        for index in DatabaseWork.indices { try cipher.run(index) }
        try cipher.close()
    }

    /// The contents of a closed database, summed up in one line.
    func sum(_ format: DatabaseFormat?) throws(CofferError) -> String {
        let database = try BenchDatabase.open(path(format), format)
        let sum = try database.run(DatabaseWork.sum)
        try database.close()
        return sum
    }

    func sumByCipher() throws(CofferError) -> String {
        guard let cipher else { return "" }
        try cipher.open(cipherPath)
        let sum = try cipher.run(DatabaseWork.sum)
        try cipher.close()
        return sum
    }

    /// Removes every database.
    func remove() throws(CofferError) {
        for format in [nil, DatabaseFormat.gcm1, .sqlcipher4] { try remove(path(format)) }
        try remove(cipherPath)
    }

    private func remove(_ path: FilePath) throws(CofferError) {
        let files = ["", "-wal", "-shm"].map { FilePath(path.string + $0) }
        for file in files { try workspace.remove(file) }
    }
}
