import CofferBase
import CofferEngine
import SystemPackage

/// The remains of files that interrupted commands left in the store's directory and nobody works on any more.
struct FileRemains: Equatable {
    var count = 0
    var bytes: Int64 = 0
}

extension FileStore {
    /// Returns the remains in the directory. Changes nothing.
    func remains() throws(CofferError) -> FileRemains {
        let directory = try openDirectory()
        var remains = FileRemains()
        guard try !directory.temporaries().isEmpty else { return remains }
        // Who begins a file makes and locks it under the home's lock: one that is not locked has no owner.
        try core.home.changingVault { (_) throws(CofferError) in
            for name in try directory.temporaries() {
                let file = try directory.open(name, .read)
                let size = try file.status().size
                guard try FileLock.tryAcquire(file) != nil else { continue }
                remains.count += 1
                remains.bytes += size
            }
        }
        return remains
    }

    /// Removes it, where that can be done now; files that others are adding stay.
    func removeRemains() {
        do throws(CofferError) {
            try core.home.changingVault { (vault) throws(CofferError) in
                try cleanUp(openDirectory(), in: vault)
            }
        } catch {
            // The next command tries again, and the status says what there is.
        }
    }
}
