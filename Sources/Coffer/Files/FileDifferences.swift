import CofferBase
import CofferEngine

/// The differences between the containers in the vault directory and an undamaged index.
struct FileDifferences: Sendable, Equatable {
    /// The files in the index whose containers were deleted by another program.
    var missing: [FileID] = []
    /// This vault's containers that the index neither lists nor records as removed.
    var unlisted: [FileID] = []
}

extension FileStore {
    /// Compares a list of containers with an index that was read after the list. Does not acquire a lock.
    /// Ignores differences that a change in progress causes.
    func differences(
        _ present: Set<FileID>, _ contents: FileIndexContents
    ) throws(CofferError) -> FileDifferences {
        guard !contents.isDamaged else { return FileDifferences() }
        var found = FileDifferences()
        found.missing = contents.entries.keys.filter { !present.contains($0) }.sorted()
        found.unlisted = present.filter {
            contents.entries[$0] == nil && !contents.removed.contains($0)
        }.sorted()
        guard found != FileDifferences() else { return found }
        return try confirmed(found)
    }

    /// Returns the differences that a second comparison confirms. A file is added to the index before its
    /// container gets its final name, and removed from the index before its container, which then has its
    /// temporary name, is removed. An index that is read after the directory therefore accounts for every
    /// change that is visible in the directory.
    private func confirmed(_ found: FileDifferences) throws(CofferError) -> FileDifferences {
        let directory = try openDirectory()
        var kept = FileDifferences()
        for id in found.missing {
            if try !Self.isHere(id, directory) { kept.missing.append(id) }
        }
        for id in found.unlisted {
            if try isOwn(id, directory) { kept.unlisted.append(id) }
        }
        // Throws here if a wipe is in progress.
        let contents = try index.salvage(in: core.home.openVault())
        guard !contents.isDamaged else { return FileDifferences() }
        kept.missing.removeAll { contents.entries[$0] == nil }
        kept.unlisted.removeAll { contents.entries[$0] != nil || contents.removed.contains($0) }
        return kept
    }

    /// Returns whether the container exists, even if it is being added or removed and has its temporary name.
    private static func isHere(
        _ id: FileID, _ directory: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        // Check the final name again at the end: an unfinished file may have got its final name between the
        // first two checks.
        for name in [id.fileName, id.temporaryName, id.fileName] {
            if try directory.hasContainer(name) { return true }
        }
        return false
    }

    /// Returns whether there is a container with the given identifier and an authentic header.
    private func isOwn(_ id: FileID, _ directory: borrowing Descriptor) throws(CofferError) -> Bool {
        do throws(CofferError) {
            let file = try directory.openContainer(id.fileName, .read)
            _ = try ContainerReader.header(of: file, id: id, device: core.device, keys: fileKeys())
            return true
        } catch {
            switch error.code {
            // A link, or a file that this user cannot read, must not prevent the other files from being
            // listed either.
            case .absent, .corrupt, .foreign, .unsupportedVersion, .refused, .permissionDenied: return false
            default: throw error
            }
        }
    }

    /// Returns the error that states why the container of `id` is absent: no such file exists, or another
    /// program deleted its container.
    func absence(of id: FileID) throws(CofferError) -> CofferError {
        let none = CofferError(.absent, "The vault contains no file with the id \(id).", remedy: .listFiles)
        guard try fileKeys().hasIndex else { return none }
        let contents = try index.salvage(in: core.home.openVault())
        guard contents.entries[id] != nil else { return none }
        let suspected = FileDifferences(missing: [id])
        guard !contents.isDamaged, try confirmed(suspected) == suspected else { return none }
        return CofferError(
            .missing,
            "The container of file \(id) is missing because another program deleted the container from the "
                + "vault directory.",
            remedy: .restoreOrRemoveFile)
    }
}
