import CofferBase
import CofferEngine
import SystemPackage

/// A private directory for incomplete files, beside the place where they are needed. It is removed with its
/// contents when this value is destroyed.
///
/// A directory left by a killed process is removed when the next one is created in the same place.
struct WorkFolder: ~Copyable {
    /// The kind of files in such a directory, which is also the prefix of its name.
    enum Content: String, CaseIterable {
        /// The copy of a database in which an interrupted transaction is rolled back.
        case recovery = ".coffer-recovery-"
        /// A new database, until it is complete.
        case unfinished = ".coffer-unfinished-"
    }

    /// The parent directory.
    let folder: Descriptor
    /// Its name in the parent.
    let name: FilePath
    /// Locked while the directory is in use, so that other processes leave it alone.
    let inner: Descriptor

    deinit { try? folder.removeTree(name) }

    /// Creates one in `folder`.
    ///
    /// - Throws: `busy` when another process is removing leftovers at this moment.
    static func make(
        _ content: Content, in folder: consuming Descriptor
    ) throws(CofferError) -> WorkFolder {
        removeRemains(in: folder)
        let name = try FilePath(content.rawValue + HexText.encode(SecureRandom.bytes(8)))
        try folder.makeDirectory(name)
        let inner = try folder.open(name, [.read, .directory])
        guard try inner.tryLock() else {
            throw CofferError(.busy, "Another process is cleaning up in \(folder.path): try again.")
        }
        return WorkFolder(folder: folder, name: name, inner: inner)
    }

    /// Removes directories left by killed processes of this user. Ignores those that cannot be removed,
    /// because in a world-writable directory any user can create one.
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
