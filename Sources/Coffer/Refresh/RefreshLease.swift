import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

/// The exclusive right to refresh one token: a lock on an empty file whose name is the keyed hash of the
/// token's name. The kernel releases the lock when the process that holds it dies.
///
/// Each lease opens the file separately, so the lock excludes other tasks and threads as well as other
/// processes.
final class RefreshLease: Sendable {
    private let file: Descriptor
    private let directory: Descriptor
    private let name: FilePath

    private init(file: consuming Descriptor, directory: consuming Descriptor, name: FilePath) {
        self.file = file
        self.directory = directory
        self.name = name
    }

    /// Waits for the lease without blocking a thread; throws `timedOut` if `deadline` passes first, or
    /// `cancelled` if the task is cancelled first.
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
                throw CofferError(
                    .timedOut, "Another refresh of this token did not finish in time. Try again later.")
            }
            do {
                try await Task.sleep(for: pause, clock: .continuous)
            } catch {
                throw CofferError(.cancelled, "The wait for another refresh of this token was cancelled.")
            }
            pause = min(pause * 2, .milliseconds(20))
        }
    }

    /// Ends the lease by removing the file: a lock on a file that no longer has its name does not count as a
    /// lease.
    func release() async {
        _ = try? await BlockingExecutor.run { [self] _ throws(CofferError) in try directory.remove(name) }
    }

    private static func open(_ token: [UInt8], home: VaultDirectory) throws(CofferError) -> RefreshLease {
        let name = FilePath(HexText.encode(token))
        return try home.withExclusiveVault { (vault) throws(CofferError) in
            if try vault.status(of: VaultDirectory.leasesName) == nil {
                try vault.makeDirectory(VaultDirectory.leasesName)
            }
            let directory = try vault.open(VaultDirectory.leasesName, [.read, .directory])
            let file = try directory.open(name, [.readWrite, .create])
            return RefreshLease(file: file, directory: directory, name: name)
        }
    }

    /// Returns whether the file still has its name: the previous owner may have removed it.
    private func isCurrent() throws(CofferError) -> Bool {
        try directory.status(of: name)?.isSameFile(as: file.status()) ?? false
    }
}
