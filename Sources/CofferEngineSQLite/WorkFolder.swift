import CofferBase
import CofferEngine
import SystemPackage

/// A private directory for files that are not complete, beside the place where they are needed; removed with
/// all that is in it when this value goes.
///
/// One that a killed process left goes with the next that is made in the same place.
struct WorkFolder: ~Copyable {
    /// The files in such a directory, as the beginning of its name says.
    enum Content: String, CaseIterable {
        /// The copy of a database in which an interrupted transaction is taken back.
        case recovery = ".coffer-recovery-"
        /// A new database, until it is complete.
        case unfinished = ".coffer-unfinished-"
    }

    /// Where it is.
    let folder: Descriptor
    /// Its name there.
    let name: FilePath
    /// Locked as long as the directory is in use, so that others leave it alone.
    let inner: Descriptor

    deinit { try? folder.removeTree(name) }

    /// Makes one in `folder`.
    ///
    /// - Throws: `busy` when somebody removes remains at this moment.
    static func make(
        _ content: Content, in folder: consuming Descriptor
    ) throws(CofferError) -> WorkFolder {
        removeRemains(in: folder)
        let digits = try SecureRandom.bytes(8).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }
        let name = FilePath(content.rawValue + digits.joined())
        try folder.makeDirectory(name)
        let inner = try folder.open(name, [.read, .directory])
        guard try inner.tryLock() else {
            throw CofferError(.busy, "Somebody removes remains in \(folder.path): try again.")
        }
        return WorkFolder(folder: folder, name: name, inner: inner)
    }

    /// Removes what was left when a process of this user was killed. What cannot be removed stays: everybody
    /// can put such a directory where everybody may write.
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
