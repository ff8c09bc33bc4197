import CofferBase
import CofferEngine
import CofferVault

/// Methods that begin sessions for session-only files and remove the files of ended sessions.
extension FileStore {
    /// Returns a class's session for a new file. Throws `locked` if the class is locked meanwhile. Call this
    /// method while holding the vault directory's lock.
    func currentSession(
        _ protection: ProtectionClass, _ classKey: ClassKey
    ) throws(CofferError) -> VolatileFileSession {
        let session = try volatileKeys.current(protection, classKey)
        // A session that began after a concurrent lock protects no file yet.
        guard core.keys.present(protection) != nil else { throw CofferError.locked }
        return session
    }

    /// Returns whether the index lists session-only files, ended or not.
    func hasVolatileFiles() throws(CofferError) -> Bool {
        try !index.salvage(in: core.home.openVault()).volatile.isEmpty
    }

    /// Removes the session-only files whose sessions have ended, and ignores any failure to do so: the files
    /// are unreadable, and the next call tries again. Call this method while holding the vault directory's
    /// lock.
    func removeEndedFiles(_ directory: borrowing Descriptor, in vault: borrowing Descriptor) {
        do throws(CofferError) {
            let keys = try FileKeysetRecord(device: core.device).read(in: vault).keys
            guard keys.hasIndex else { return }
            let contents = try index.salvage(in: vault)
            for id in contents.volatile.sorted() {
                guard let entry = contents.entries[id], try hasEnded(id, entry, keys, directory) else {
                    continue
                }
                try Self.destroy(id, of: core.device, index, directory, in: vault)
            }
        } catch {
            // The next file command tries again.
        }
    }

    /// Returns whether a file is session-only, according to both the index and its own container, and its
    /// session has ended. Both are authenticated under keys of this vault, so neither damage nor another
    /// program's file makes an ordinary file look like one.
    private func hasEnded(
        _ id: FileID, _ entry: FileIndex.Entry, _ keys: FileKeyset, _ directory: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        do throws(CofferError) {
            let file = try directory.openContainer(id.fileName, .read)
            let (header, protection) = try ContainerReader.header(
                of: file, id: id, device: core.device, keys: keys)
            guard header.keeper != nil, header.commitment == entry.commitment,
                header.contentGeneration == entry.generation,
                entry.protection == FileIndexFrame.field(protection, isVolatile: true)
            else { return false }
            return try volatileKeys.hasEnded(header, protection, file)
        } catch {
            // Where this process cannot tell, as without access to the kernel keyring, the file stays.
            return false
        }
    }
}
