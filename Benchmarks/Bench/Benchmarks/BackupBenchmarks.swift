import BenchPeers
import Coffer
import CofferBackup
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// Backups of a vault with one large file against age, which encrypts and decrypts that file itself. A backup
/// also decrypts the vault's container, and hashes and lists what is in it; a restore checks the whole backup
/// before it stores anything.
enum BackupBenchmarks {
    static let all: [Benchmark] = [
        Benchmark("backup-create/1GiB", create), Benchmark("backup-verify/1GiB", verify),
        Benchmark("backup-restore/1GiB", restore),
    ]

    private static let aim = "aim: at least 0.8 times as fast"

    /// A vault with one movable file, and what backups of it are encrypted for.
    private struct Scene {
        let bench: FileBench
        let age: AgePeer
        let vault: Vault
        let file: FileID
        let backup: FilePath
        /// Where age writes.
        let theirs: FilePath
        let recipient: AgeRecipient
        let opening: BackupOpeningKey

        var note: String { [bench.note, aim].compactMap(\.self).joined(separator: "; ") }

        /// Returns `nil`, with a line in the report, if something is missing.
        static func make(_ runner: Runner, _ name: String) async throws(CofferError) -> Scene? {
            guard let bench = try await FileBench.make(runner, name, size: 1 << 30),
                let age = try bench.age(runner)
            else { return nil }
            let home = "home-" + (try Workspace.randomName())
            let vault = try await VaultBench.session(home, tokens: 0, in: bench.workspace).session
            let file = try await vault.files.add(contentsOf: bench.plain, class: .whenUnlocked)
            let identity = try Descriptor.open(age.identity, .read).readAll(limit: 4096)
            return Scene(
                bench: bench, age: age, vault: vault, file: file,
                backup: bench.workspace.file("vault.age"), theirs: bench.workspace.file("theirs"),
                recipient: try AgeRecipient(age.recipient),
                opening: .identities(try AgeIdentity.list(in: identity.span)))
        }

        func write() async throws(CofferError) {
            try await vault.createBackup(at: backup, for: .recipients([recipient]))
        }

        /// Returns whether the backup has the file, and age opens it.
        func isWhole() async throws(CofferError) -> Bool {
            try bench.workspace.remove(theirs)
            try age.open(backup, to: theirs)
            return try await VaultBackup.contents(at: backup, with: opening).counts.files == 1
        }

        func end() async throws(CofferError) {
            _ = try await vault.wipe(reason: "the benchmark is over")
            try bench.workspace.remove(backup, theirs)
        }
    }

    private static func create(_ runner: Runner) async throws(CofferError) {
        guard let scene = try await Scene.make(runner, "backup-create/1GiB") else { return }
        let files = scene.bench.workspace
        try await runner.compare(
            scene.bench.name, with: scene.age.peer, clock: .wall, note: scene.note,
            before: { () async throws(CofferError) in try files.remove(scene.backup, scene.theirs) },
            ours: { (_) async throws(CofferError) in try await scene.write() },
            theirs: { (_) async throws(CofferError) in try scene.age.seal(scene.bench.plain, to: scene.theirs)
            },
            agree: scene.isWhole)
        try await scene.end()
    }

    private static func verify(_ runner: Runner) async throws(CofferError) {
        guard let scene = try await Scene.make(runner, "backup-verify/1GiB") else { return }
        let files = scene.bench.workspace
        try await scene.write()
        try await runner.compare(
            scene.bench.name, with: scene.age.peer, clock: .wall, note: scene.note,
            before: { () async throws(CofferError) in try files.remove(scene.theirs) },
            ours: { (_) async throws(CofferError) in
                _ = try await VaultBackup.contents(at: scene.backup, with: scene.opening)
            },
            theirs: { (_) async throws(CofferError) in try scene.age.open(scene.backup, to: scene.theirs) },
            agree: scene.isWhole)
        try await scene.end()
    }

    private static func restore(_ runner: Runner) async throws(CofferError) {
        guard let scene = try await Scene.make(runner, "backup-restore/1GiB") else { return }
        let (files, vault) = (scene.bench.workspace, scene.vault)
        try await scene.write()
        try await runner.compare(
            scene.bench.name, with: scene.age.peer, clock: .wall, note: scene.note,
            before: { () async throws(CofferError) in
                try files.remove(scene.theirs)
                _ = try await vault.files.remove(scene.file)
            },
            ours: { (_) async throws(CofferError) in
                _ = try await vault.restoreBackup(from: scene.backup, with: scene.opening)
            },
            theirs: { (_) async throws(CofferError) in try scene.age.open(scene.backup, to: scene.theirs) },
            agree: { () async throws(CofferError) in
                try await vault.restoreBackup(from: scene.backup, with: scene.opening)
                return try await vault.files.info(for: scene.file).length == Int64(scene.bench.size)
            })
        try await scene.end()
    }
}
