import CofferBase
import CofferEngine
import SystemPackage

/// The right to refresh one token: a lock on an empty file of the token's own, under its keyed hash, that the
/// kernel drops when its owner dies.
///
/// Each lease opens the file anew, so that it holds between tasks and threads as between processes.
final class RefreshLease: Sendable {
    private let file: Descriptor
    private let directory: Descriptor
    private let name: FilePath

    private init(file: consuming Descriptor, directory: consuming Descriptor, name: FilePath) {
        self.file = file
        self.directory = directory
        self.name = name
    }

    /// Waits for the lease without blocking a thread, at most until `deadline`; then `timedOut`.
    static func acquire(
        _ token: [UInt8], home: VaultDirectory, deadline: Duration
    ) async throws(CofferError) -> RefreshLease {
        let end = Clock.sinceBoot + deadline
        var lease = try await BlockingExecutor.run { _ throws(CofferError) in try open(token, home: home) }
        var pause = Duration.milliseconds(1)
        while true {
            if try lease.file.tryLock() {
                if try lease.isCurrent() { return lease }
                lease = try await BlockingExecutor.run { _ throws(CofferError) in try open(token, home: home)
                }
                continue
            }
            guard Clock.sinceBoot < end else {
                throw CofferError(.timedOut, "Somebody else refreshes this token and does not finish.")
            }
            do {
                try await Task.sleep(for: pause, clock: .continuous)
            } catch {
                throw CofferError(.cancelled, "Cancelled while waiting for somebody else's refresh.")
            }
            pause = min(pause * 2, .milliseconds(20))
        }
    }

    /// Gives the lease back and removes the file: one that is locked under another's name is no lease.
    func release() async {
        _ = try? await BlockingExecutor.run { [self] _ throws(CofferError) in try directory.remove(name) }
    }

    private static func open(_ token: [UInt8], home: VaultDirectory) throws(CofferError) -> RefreshLease {
        let name = FilePath(String(decoding: try Encoding.hexText(token), as: UTF8.self))
        return try home.withExclusiveVault { (vault) throws(CofferError) in
            if try vault.status(of: VaultDirectory.leasesName) == nil {
                try vault.makeDirectory(VaultDirectory.leasesName)
            }
            let directory = try vault.open(VaultDirectory.leasesName, [.read, .directory])
            let file = try directory.open(name, [.readWrite, .create])
            return RefreshLease(file: file, directory: directory, name: name)
        }
    }

    /// Whether the file still has its name: the owner before may have removed it.
    private func isCurrent() throws(CofferError) -> Bool {
        try directory.status(of: name)?.isSameFile(as: file.status()) ?? false
    }
}
