package import CofferBase
import CofferCrypto
package import CofferEngine
package import CofferVault
import FoundationEssentials
import SystemPackage

/// A stored file as the index lists it at one moment.
package struct FileSnapshot: Sendable {
    package let id: FileID
    package let protection: ProtectionClass
    /// The value that identifies the file's content.
    fileprivate let commitment: [UInt8]

    /// Returns whether the file has the same content in another snapshot.
    package func hasContent(of other: FileSnapshot) -> Bool { commitment == other.commitment }
}

/// A stored file that is open for a backup.
package struct SnapshotFile: Sendable {
    package let info: FileInfo
    /// The modification date in nanoseconds since 1970.
    package let modified: Int64
    /// Whether the file was changed after the snapshot was taken.
    package let isNewer: Bool
    package let reader: StoredFileReader
}

extension FileStore {
    /// Returns the stored files, in the order of their identifiers, except session-only ones. The caller
    /// holds the vault directory's lock.
    ///
    /// - Throws: `corrupt` if the index is damaged.
    func snapshot(in vault: borrowing Descriptor) throws(CofferError) -> [FileSnapshot] {
        guard try FileKeysetRecord(device: core.device).read(in: vault).keys.hasIndex else {
            guard try ids().isEmpty else { throw FileIndex.corruptError }
            return []
        }
        let contents = try index.snapshot(in: vault)
        var files: [FileSnapshot] = []
        for (id, entry) in contents.entries where !contents.volatile.contains(id) {
            guard let protection = entry.protectionClass else {
                throw CofferError(
                    .unsupportedVersion, "A file's protection class is not supported by this release.",
                    remedy: .useNewerRelease)
            }
            files.append(FileSnapshot(id: id, protection: protection, commitment: entry.commitment))
        }
        return files.sorted { $0.id.uuid.bytes.lexicographicallyPrecedes($1.id.uuid.bytes) }
    }

    /// Returns whether the index lists a file, after any change of the vault that is going on. Blocks.
    ///
    /// - Throws: `corrupt` if the index is damaged; `busy`, `wiped`.
    package func isListed(_ id: FileID) throws(CofferError) -> Bool {
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try index.snapshot(in: vault).entries[id] != nil
        }
    }

    /// Returns whether a file is bound to a context, so that it cannot be read without that. Blocks.
    ///
    /// - Throws: The errors of reading a container's header.
    package func isContextBound(_ id: FileID) throws(CofferError) -> Bool {
        try ContainerReader.header(
            of: openContainer(id, .read), id: id, device: core.device, keys: fileKeys()
        ).header.isContextBound
    }

    /// Opens a file for a backup. Blocks.
    ///
    /// - Returns: The open file; `nil` if its class is not that of the snapshot any more.
    /// - Throws: `locked`; `absent`, `missing` or `corrupt` if the file is gone or damaged.
    package func open(_ file: FileSnapshot) throws(CofferError) -> SnapshotFile? {
        let mark = core.keys.mark
        let container = try open(file.id)
        guard container.protection == file.protection else { return nil }
        let check = try cancellationCheck(
            BlockingExecutor.Cancellation(), since: mark, only: container.protection)
        return SnapshotFile(
            info: try info(of: container), modified: container.header.modified,
            isNewer: container.header.commitment != file.commitment,
            reader: StoredFileReader(container, check: check))
    }

    /// Opens the container of a file, sealed as it is. Blocks.
    ///
    /// - Returns: The container, whose size is that of the file on the disk.
    /// - Throws: `absent`, `missing` or `corrupt`.
    package func openSealed(_ id: FileID) throws(CofferError) -> Descriptor {
        let file = try openContainer(id, .read)
        _ = try ContainerReader.header(of: file, id: id, device: core.device, keys: fileKeys())
        return file
    }
}
