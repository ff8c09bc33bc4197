package import CofferBase
package import CofferEngine
package import SystemPackage

/// A database file in a private directory beside a vault's databases, which is removed with this value.
package struct PrivateDatabaseFile: ~Copyable {
    private static let name: FilePath = "database"

    private let folder: WorkFolder

    /// Creates a directory for the file, which does not exist yet.
    ///
    /// - Parameter folder: The directory in which to create the private one.
    /// - Returns: The file that is to be.
    /// - Throws: `busy`, `noSpace` or another error of the file system.
    package static func make(in folder: FilePath) throws(CofferError) -> PrivateDatabaseFile {
        let parent = try Descriptor.open(folder, [.read, .directory])
        return PrivateDatabaseFile(folder: try WorkFolder.make(.unfinished, in: parent))
    }

    /// The file's absolute path.
    package var path: FilePath { folder.inner.path.pushing(Self.name) }

    /// Creates the empty file.
    package func create() throws(CofferError) {
        _ = try folder.inner.open(Self.name, [.readWrite, .exclusive])
    }

    /// Flushes the file to the disk.
    package func sync() throws(CofferError) {
        try folder.inner.open(Self.name, [.readWrite]).sync()
    }

    /// Opens the file for reading it as it is.
    package func open() throws(CofferError) -> Descriptor { try folder.inner.open(Self.name, .read) }

    /// Opens the file for writing it as it is.
    package func openForWriting() throws(CofferError) -> Descriptor {
        try folder.inner.open(Self.name, .readWrite)
    }

    /// Moves the file into the directory that contains the private one.
    ///
    /// - Parameters:
    ///   - name: The file's new name.
    ///   - replacing: Whether the file replaces another one of that name.
    /// - Throws: `alreadyExists`.
    package func move(to name: FilePath, replacing: Bool) throws(CofferError) {
        let own = folder.name.pushing(Self.name)
        if replacing {
            try folder.folder.rename(own, to: name)
        } else {
            try folder.folder.moveWithoutReplacing(own, to: name)
        }
        try folder.folder.sync()
    }
}
