import CofferBase
import CofferEngine
import SystemPackage

/// A private directory for incomplete files, beside the place where the files are needed. The directory and
/// its contents are removed when this value is destroyed.
///
/// If a killed process leaves such a directory, the next process that creates one in the same place removes
/// it.
struct WorkFolder: ~Copyable {
    /// The kind of files in a work directory. The raw value is the prefix of its name.
    enum Content: String, CaseIterable {
        /// A copy of a database, in which SQLite rolls back an interrupted transaction.
        case recovery = ".coffer-recovery-"
        /// A new database, until it is complete.
        case unfinished = ".coffer-unfinished-"
    }

    /// The parent directory.
    let folder: Descriptor
    /// The work directory's name in ``folder``.
    let name: FilePath
    /// The work directory, locked while it is in use so that other processes do not remove it.
    let inner: Descriptor

    deinit { try? folder.removeTree(name) }

    private static let maxAttempts = 16

    /// Creates a work directory in `folder`.
    ///
    /// - Throws: `busy` if other processes remove each new directory as an abandoned one.
    static func make(
        _ content: Content, in folder: consuming Descriptor
    ) throws(CofferError) -> WorkFolder {
        removeRemains(in: folder)
        for _ in 0..<maxAttempts {
            let name = try FilePath(content.rawValue + HexText.encode(SecureRandom.bytes(8)))
            try folder.makeDirectory(name)
            guard let inner = try locked(name, in: folder) else { continue }
            return WorkFolder(folder: folder, name: name, inner: inner)
        }
        throw CofferError(.busy, "Other processes are cleaning up in \(folder.path). Try again.")
    }

    /// Opens and locks a new directory; returns `nil` if another process took it for an abandoned one before
    /// it was locked, and removed it or is about to.
    private static func locked(
        _ name: FilePath, in folder: borrowing Descriptor
    ) throws(CofferError) -> Descriptor? {
        let inner: Descriptor
        do throws(CofferError) {
            inner = try folder.open(name, [.read, .directory])
        } catch {
            guard error.code == .absent else { throw error }
            return nil
        }
        guard try inner.tryLock() else { return nil }
        let status = try inner.status()
        guard try folder.status(of: name)?.isSameFile(as: status) == true else { return nil }
        return inner
    }

    /// Removes the work directories that killed processes of this user left. Ignores directories that cannot
    /// be removed, because any user can create one in a world-writable directory.
    private static func removeRemains(in folder: borrowing Descriptor) {
        guard let names = try? folder.names() else { return }
        for name in names where isName(name) {
            guard let inner = try? folder.open(name, [.read, .directory]),
                (try? inner.status().isOwn) == true, (try? inner.tryLock()) == true
            else { continue }
            try? folder.removeTree(name)
        }
    }

    private static func isName(_ name: FilePath) -> Bool {
        let bytes = FileNameBytes.of(name)
        return Content.allCases.contains { bytes.starts(with: $0.rawValue.utf8) }
    }
}
