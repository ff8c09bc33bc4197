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

    /// Creates a work directory in `folder`.
    ///
    /// - Throws: `busy` if another process is removing abandoned work directories at the same time.
    static func make(
        _ content: Content, in folder: consuming Descriptor
    ) throws(CofferError) -> WorkFolder {
        removeRemains(in: folder)
        let name = try FilePath(content.rawValue + HexText.encode(SecureRandom.bytes(8)))
        try folder.makeDirectory(name)
        let inner = try folder.open(name, [.read, .directory])
        guard try inner.tryLock() else {
            throw CofferError(.busy, "Another process is cleaning up in \(folder.path). Try again.")
        }
        return WorkFolder(folder: folder, name: name, inner: inner)
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
