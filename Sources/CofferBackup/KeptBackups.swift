import CofferBase
import CofferEngine
import SystemPackage

/// The earlier backups beside a new one: `NAME.1` is the newest of them, `NAME.2` the one before, and so on
/// up to the first number that does not exist.
///
/// Only files that begin as age files do are renamed or removed: anything else under these names belongs to
/// someone else. As long as the object exists, no other process changes the same backups.
final class KeptBackups {
    /// The maximum number of backups that are kept.
    static let maxCount = 1000
    /// The time for which another process may be exchanging the same backups.
    private static let deadline = Duration.seconds(10)

    private let folder: Descriptor
    private let name: FilePath
    private let path: FilePath

    /// Waits until no other process changes the backups.
    ///
    /// - Throws: `busy` if one goes on doing so.
    private init(locking path: FilePath, _ name: FilePath.Component) throws(CofferError) {
        let parent = path.removingLastComponent()
        folder = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        (self.path, self.name) = (path, FilePath(root: nil, [name]))
        let end = Clock.sinceBoot + Self.deadline
        // Some network file systems lock no directories: then nothing is waited for.
        while (try? folder.tryLock()) == false {
            guard Clock.sinceBoot < end else {
                throw CofferError(.busy, "Another process is replacing \(path). Try again.")
            }
            Clock.sleep(for: .milliseconds(20))
        }
    }

    /// Throws unless a new backup may take the place of what is at `path`, and that the place of the next
    /// older one.
    ///
    /// - Throws: `refused` if one of them is not a backup.
    static func check(at path: FilePath, keeping count: Int) throws(CofferError) {
        guard let name = path.lastComponent else { return }
        let kept = try KeptBackups(locking: path, name)
        guard try kept.requireBackup(kept.name) else { return }
        _ = try kept.numbers(keeping: count)
    }

    /// Makes way for a new backup at `path`. The present one keeps its own name, too, until the new one
    /// replaces it.
    ///
    /// - Parameters:
    ///   - path: The path of the newest backup.
    ///   - count: The number of backups to keep, including the new one; `nil` to remove none.
    /// - Returns: The backups, which stay locked; `nil` if `path` has no file name.
    /// - Throws: `refused` if something else than a backup is in the way; `busy`; the system's error.
    static func shift(at path: FilePath, keeping count: Int?) throws(CofferError) -> KeptBackups? {
        guard let name = path.lastComponent else { return nil }
        let kept = try KeptBackups(locking: path, name)
        try kept.shift(keeping: count ?? maxCount)
        return kept
    }

    private func shift(keeping count: Int) throws(CofferError) {
        try removeUnfinished()
        guard try requireBackup(name) else { return }
        let numbers = try numbers(keeping: count)
        for number in numbers.reversed() where number >= count { try folder.remove(older(number)) }
        guard count > 1 else { return }
        let present = try folder.status(of: name)
        let newest = try folder.status(of: older(1))
        // The process was killed here before: the present backup has its place already.
        guard newest == nil || newest?.inode != present?.inode || newest?.device != present?.device else {
            return
        }
        for number in numbers.reversed() where number + 1 < count {
            try folder.rename(older(number), to: older(number + 1))
        }
        if try folder.status(of: older(1)) != nil { try folder.remove(older(1)) }
        do throws(CofferError) {
            try folder.link(folder.open(name, .read), as: older(1))
        } catch {
            // A file system without links.
            guard error.code != .alreadyExists else { throw error }
            try folder.rename(name, to: older(1))
        }
        try folder.sync()
    }

    /// Returns the numbers of the earlier backups, ascending and without a gap.
    ///
    /// - Throws: `refused` if something else has the name of one that is kept.
    private func numbers(keeping count: Int) throws(CofferError) -> [Int] {
        var found: [Int] = []
        while found.count < Self.maxCount {
            let number = found.count + 1
            let isBackup = number < count ? try requireBackup(older(number)) : try isBackup(older(number))
            guard isBackup else { break }
            found.append(number)
        }
        return found
    }

    private func older(_ number: Int) throws(CofferError) -> FilePath {
        guard let path = FileNameBytes.path(FileNameBytes.of(name) + Array(".\(number)".utf8)) else {
            throw CofferError(
                .invalidInput, "The name of the backup is too long for numbered ones beside it.")
        }
        return path
    }

    /// Returns whether `name` is a backup; `false` if nothing has that name.
    ///
    /// - Throws: `refused` if it is something else.
    private func requireBackup(_ name: FilePath) throws(CofferError) -> Bool {
        guard try folder.status(of: name) != nil else { return false }
        guard try isBackup(name) else {
            throw CofferError(
                .refused,
                "\(path.removingLastComponent().pushing(name)) is not a backup, and was not replaced. Choose "
                    + "another name for the backup, or move that file away.")
        }
        return true
    }

    /// Returns whether a regular file begins as age files do.
    private func isBackup(_ name: FilePath) throws(CofferError) -> Bool {
        guard try folder.status(of: name)?.kind == .regular else { return false }
        let start = Array(VaultBackup.magic.utf8)
        var bytes = [UInt8](repeating: 0, count: start.count)
        var span = bytes.mutableSpan
        let count = try folder.open(name, [.read, .nonBlocking]).read(at: 0, into: &span)
        return count == start.count && bytes == start
    }

    /// Removes new backups that a process was killed with before they had their name. One that is locked is
    /// being written, perhaps by this very call.
    private func removeUnfinished() throws(CofferError) {
        for name in try folder.temporaries() {
            guard let status = try folder.status(of: name), status.isOwn, (try? isBackup(name)) == true,
                let file = try? folder.open(name, [.read, .nonBlocking]), (try? file.tryLock()) == true
            else { continue }
            try folder.remove(name)
        }
    }
}
