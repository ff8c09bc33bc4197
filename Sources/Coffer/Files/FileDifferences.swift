import CofferBase
import CofferEngine

/// Where the containers in the home and an undamaged index do not agree.
struct FileDifferences: Sendable, Equatable {
    /// Files that the index has and whose containers somebody else deleted.
    var missing: [FileID] = []
    /// Containers of this vault that the index neither has nor had.
    var unlisted: [FileID] = []
}

extension FileStore {
    /// Compares the containers that were seen with an index that was read after that. Takes no lock: a
    /// difference that comes from a change under way is none.
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

    /// A file is entered before its container gets its name and struck out before the last of the container
    /// goes: what the index says after a look at the directory holds for that look, too.
    private func confirmed(_ found: FileDifferences) throws(CofferError) -> FileDifferences {
        let directory = try openDirectory()
        var kept = FileDifferences()
        for id in found.missing {
            if try !Self.isHere(id, directory) { kept.missing.append(id) }
        }
        for id in found.unlisted {
            if try isOwn(id, directory) { kept.unlisted.append(id) }
        }
        // A wipe under way ends here.
        let contents = try index.salvage(in: core.home.openVault())
        guard !contents.isDamaged else { return FileDifferences() }
        kept.missing.removeAll { contents.entries[$0] == nil }
        kept.unlisted.removeAll { contents.entries[$0] != nil || contents.removed.contains($0) }
        return kept
    }

    /// Whether there is a container, or one that is being added or removed.
    private static func isHere(
        _ id: FileID, _ directory: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        // Once more at the end: between the first two looks an unfinished file may have got its name.
        for name in [id.fileName, id.temporaryName, id.fileName] {
            if try directory.status(of: name) != nil { return true }
        }
        return false
    }

    /// Whether there is a container of that id whose header is authentic.
    private func isOwn(_ id: FileID, _ directory: borrowing Descriptor) throws(CofferError) -> Bool {
        do throws(CofferError) {
            let file = try directory.open(id.fileName, .read)
            guard try file.status().kind == .regular else { return false }
            _ = try ContainerReader.header(of: file, id: id, device: core.device, keys: fileKeys())
            return true
        } catch {
            switch error.code {
            // Nor may a link, or a file that this user cannot read, keep the others from being listed.
            case .absent, .corrupt, .foreign, .unsupportedVersion, .refused, .permissionDenied: return false
            default: throw error
            }
        }
    }

    /// Why there is no container of that id: there is no such file, or somebody else deleted it.
    func absence(of id: FileID) throws(CofferError) -> CofferError {
        let none = CofferError(.absent, "There is no file \(id): coffer file list names those there are.")
        guard try fileKeys().hasIndex else { return none }
        let contents = try index.salvage(in: core.home.openVault())
        guard contents.entries[id] != nil else { return none }
        let suspected = FileDifferences(missing: [id])
        guard !contents.isDamaged, try confirmed(suspected) == suspected else { return none }
        return CofferError(
            .missing,
            "The container of \(id) is not in the home any more: something else than Coffer deleted it. Put "
                + "it back from a copy of the home, or clear the entry with coffer file remove \(id).")
    }
}
