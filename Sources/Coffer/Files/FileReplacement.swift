import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// Methods that replace the content of an existing file. The new container is written next to the old one,
/// and the two containers then exchange names in one step. Immediately before the exchange, the index is
/// updated to list the new content. Finally, the old container's wrapped keys are overwritten, and the old
/// container is removed. If a crash occurs after the index is updated but before the names are exchanged, the
/// new container is complete and listed, so the next cleanup moves it to the file's name.
extension FileStore {
    /// Replaces the content that `old` read with the content of `source`.
    ///
    /// - Throws: `conflict` if the file's content was replaced in the meantime, if the file no longer exists,
    ///   or if the source changes while it is being read.
    func replaceContent(
        of old: ContainerReader, by source: borrowing Descriptor, _ context: [UInt8],
        check: @escaping @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) {
        try replaceContent(of: old, context, check: check) {
            (writer, file, name) throws(CofferError) in
            try writer.seal(source, name: name, into: file, check: check, progress: nil)
        }
    }

    /// Replaces the content that `old` read with the content that `seal` writes into a new container, under
    /// the name that it receives.
    ///
    /// - Throws: `conflict` if the file's content was replaced in the meantime, or if the file no longer
    ///   exists; the error that `seal` throws.
    func replaceContent(
        of old: ContainerReader, _ context: [UInt8], check: () throws(CofferError) -> Void,
        _ seal: (ContainerWriter, borrowing Descriptor, _ name: [UInt8]) throws(CofferError) -> InnerHeader
    ) throws(CofferError) {
        let (id, protection) = (old.header.id, old.protection)
        // The new container would have an ordinary file's key.
        guard old.header.keeper == nil else {
            throw CofferError(.refused, "A session-only file cannot be changed: add it again.")
        }
        guard old.header.contentGeneration < .max else {
            throw CofferError(
                .refused, "The content of this file was replaced too many times. Add the file again.")
        }
        let directory = try openDirectory()
        let begun: PendingContainer = try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try requireCurrent(old.header, directory, in: vault)
            return try beginWrite(id, protection, directory, in: vault)
        }
        let keys = begun.keys
        var writer = ContainerWriter(
            id: id, device: core.device, classKey: keys.classKey, protection: protection, suite: old.suite,
            context: context, outerKEK: keys.outer, innerKEK: keys.inner)
        writer.contentGeneration = old.header.contentGeneration + 1
        writer.mediaType = old.header.mediaType
        do throws(CofferError) {
            let name = try currentName(of: old)
            var header = try seal(writer, begun.file, name)
            try begun.file.sync()
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try check()
                try requireCurrent(old.header, directory, in: vault)
                try takeCurrentKeys(begun, id, protection, context, in: vault)
                // The file may have been renamed while the new content was sealed.
                let current = try currentName(of: old)
                if current != name {
                    header = try containerRename(protection, context, in: vault).rename(
                        begun.file, id: id, to: current)
                }
                try insert(header, protection, in: vault)
                try takePlace(id, directory)
            }
        } catch {
            rollBack(id, directory)
            throw error
        }
    }

    /// Moves the new container to the file's name and removes the old container with its wrapped keys.
    /// Readers that have the old container open keep the keys that they unwrapped.
    private func takePlace(_ id: FileID, _ directory: borrowing Descriptor) throws(CofferError) {
        guard try directory.exchangeIfPossible(id.temporaryName, id.fileName) else {
            // If a crash comes before the old header is destroyed, freed blocks still contain that header.
            let former = try directory.openContainer(id.fileName, .readWrite)
            try directory.rename(id.temporaryName, to: id.fileName)
            try directory.sync()
            _ = try? Self.destroyHeader(of: former)
            return
        }
        try directory.sync()
        // If this fails, the next cleanup removes the old container.
        _ = try? Self.removeContainer(id.temporaryName, in: directory)
    }

    /// Throws `conflict` unless the container with this header still has the file's name. Call this method
    /// while holding the vault directory's lock.
    func requireCurrent(
        _ header: InnerHeader, _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard try commitment(of: header.id.fileName, header.id, directory, in: vault) == header.commitment
        else {
            throw CofferError(
                .conflict, "The file was changed or removed in the vault during the operation. Try again.")
        }
    }

    /// Returns the commitment that identifies a container's content; `nil` if there is no intact container.
    private func commitment(
        of name: FilePath, _ id: FileID, _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) -> [UInt8]? {
        do throws(CofferError) {
            let keys = try FileKeysetRecord(device: core.device).read(in: vault).keys
            let file = try directory.openContainer(name, .read)
            return try ContainerReader.header(of: file, id: id, device: core.device, keys: keys).header
                .commitment
        } catch {
            switch error.code {
            case .absent, .corrupt, .foreign: return nil
            default: throw error
            }
        }
    }

    /// Completes or undoes work that a crash or a failure interrupted. If the index already lists the
    /// unfinished file as the new content of an existing file, moves it to its final name. Otherwise removes
    /// the unfinished file; if no container has the final name, also removes the index entry. Call this
    /// method while holding the vault directory's lock, when no process is working on the unfinished file.
    func recoverInterrupted(
        _ id: FileID, _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let name = id.temporaryName
        if try directory.status(of: id.fileName) == nil {
            try removeIfInserted(id, in: vault)
        } else if let new = try commitment(of: name, id, directory, in: vault),
            try FileKeysetRecord(device: core.device).read(in: vault).keys.hasIndex,
            try index.snapshot(in: vault).entries[id]?.commitment == new
        {
            return try takePlace(id, directory)
        }
        try Self.removeContainer(name, in: directory)
    }

    private func removeIfInserted(_ id: FileID, in vault: borrowing Descriptor) throws(CofferError) {
        guard try FileKeysetRecord(device: core.device).read(in: vault).keys.hasIndex else { return }
        try index.remove(id, in: vault)
    }
}
