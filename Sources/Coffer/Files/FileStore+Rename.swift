public import CofferBase
import CofferEngine
import CofferVault
public import SystemPackage

/// Methods that rename files. A file's name is stored both in the index and in the container. The index is
/// authoritative, so the name changes when the new index entry is added, after the new name has been written
/// to the container. The name in the container is used only if there is no index or when the index is
/// rebuilt.
extension FileStore {
    /// Renames a file. The operation is fast, regardless of the file's size. After a crash, the file has
    /// either the old name or the new one. Other files may have the same name.
    ///
    /// - Parameters:
    ///   - id: The file's identifier.
    ///   - name: The new name.
    ///   - context: The context that was bound to the file when it was added.
    /// - Throws: `absent` if there is no such file; `missing` if another program deleted the file's
    ///   container; `locked`, `wiped`, `corrupt`; `invalidInput` if the name is too long; `conflict` if the
    ///   file was changed or removed at the same time; `noSpace`; `readOnly` if the vault's file system is
    ///   read-only; `busy` if another process holds the vault directory's lock for too long.
    public func rename(
        _ id: FileID, to name: FilePath.Component, context: [UInt8] = []
    ) async throws(CofferError) {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            try changeName(of: id, to: Self.checked(name, context), context, cancellation)
        }
    }

    func changeName(
        of id: FileID, to name: [UInt8], _ context: [UInt8], _ cancellation: BlockingExecutor.Cancellation
    ) throws(CofferError) {
        let mark = core.keys.mark
        // This checks the container against the index, and the context.
        let reader = try open(id, context: context)
        let check = try cancellationCheck(cancellation, since: mark, only: reader.protection)
        let directory = try openDirectory()
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try check()
            try requireCurrent(reader.header, directory, in: vault)
            let former = try currentName(of: reader)
            let container = try containerRename(reader.protection, context, in: vault)
            let file = try directory.openContainer(id.fileName, .readWrite)
            let header = try container.rename(file, id: id, to: name)
            do throws(CofferError) {
                try insert(header, reader.protection, in: vault)
            } catch {
                // The file was not renamed. A later rebuild of the index would show the container's name.
                _ = try? container.rename(file, id: id, to: former)
                throw error
            }
        }
    }

    /// Returns a value that renames containers of the given class. Call this method while holding the vault
    /// directory's lock.
    func containerRename(
        _ protection: ProtectionClass, _ context: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) -> ContainerRename {
        ContainerRename(
            device: core.device, keys: try FileKeysetRecord(device: core.device).read(in: vault).keys,
            classKey: try core.keys.key(protection), context: context, volatileKeys: volatileKeys)
    }

    /// Returns the name of a file whose container is open.
    func currentName(of reader: ContainerReader) throws(CofferError) -> [UInt8] {
        let header = reader.header
        guard try fileKeys().hasIndex else { return header.name }
        let contents = try index.salvage(in: core.home.openVault())
        guard contents.entries[header.id]?.commitment == header.commitment else { return header.name }
        let found = try index.records(of: [header.id], in: contents) { (protection) throws(CofferError) in
            try core.keys.key(protection)
        }
        return found.first?.record.name ?? header.name
    }

    /// Returns the description of a file whose container is open.
    func info(of reader: ContainerReader) throws(CofferError) -> FileInfo {
        try reader.info(named: currentName(of: reader))
    }
}
