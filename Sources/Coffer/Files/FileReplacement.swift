import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// A new content for a file that there is. The new container is written beside the old one and takes its
/// place by one exchange of names; the index, which names the content that counts, is changed just before.
/// After a crash in between, the new container is whole and the index names it: the next cleaning moves it to
/// its name. The old one goes last, with its wrapped keys overwritten.
extension FileStore {
    /// Replaces the content that `old` read by what `source` holds.
    ///
    /// - Throws: `conflict` when the file has another content by now, or is gone, or the source changes.
    func replaceContent(
        of old: ContainerReader, by source: borrowing Descriptor, _ context: [UInt8],
        check: @escaping @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) {
        let (id, protection) = (old.header.id, old.protection)
        guard old.header.contentGeneration < .max else {
            throw CofferError(.refused, "This file was replaced too often: add it anew.")
        }
        let classKey = try core.keyForStoring(protection)
        let directory = try openDirectory()
        let begun: PendingContainer = try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try requireCurrent(old.header, directory, in: vault)
            return try beginWrite(id, protection, classKey, directory, in: vault)
        }
        var writer = ContainerWriter(
            id: id, device: core.device, classKey: classKey, protection: protection, suite: old.suite,
            context: context, outerKEK: begun.outer, innerKEK: begun.inner)
        writer.contentGeneration = old.header.contentGeneration + 1
        writer.mediaType = old.header.mediaType
        do throws(CofferError) {
            let header = try writer.seal(
                source, name: old.header.name, into: begun.file, check: check, progress: nil)
            try begun.file.sync()
            try core.home.withExclusiveVault { (vault) throws(CofferError) in
                try check()
                if protection.requiresPasscode { _ = try core.keyForStoring(protection) }
                try requireCurrent(old.header, directory, in: vault)
                try insert(header, protection, in: vault)
                try takePlace(id, directory)
            }
        } catch {
            rollBack(id, directory)
            throw error
        }
    }

    /// The new container gets the file's name, and the old one goes. Its keys are of no use any more; readers
    /// that have it open keep theirs.
    private func takePlace(_ id: FileID, _ directory: borrowing Descriptor) throws(CofferError) {
        guard try directory.exchangeIfPossible(id.temporaryName, id.fileName) else {
            // A crash before the header is destroyed leaves it in freed blocks.
            let former = try directory.open(id.fileName, .readWrite)
            try directory.rename(id.temporaryName, to: id.fileName)
            try directory.sync()
            _ = try? Self.destroyHeader(of: former)
            return
        }
        try directory.sync()
        // If this fails, the next cleaning does it.
        _ = try? Self.removeContainer(id.temporaryName, in: directory)
    }

    private func requireCurrent(
        _ header: InnerHeader, _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard try commitment(of: header.id.fileName, header.id, directory, in: vault) == header.commitment
        else {
            throw CofferError(.conflict, "The file was changed or removed in the vault meanwhile.")
        }
    }

    /// What tells the content of a container from others; `nil` when there is none, or none that is whole.
    private func commitment(
        of name: FilePath, _ id: FileID, _ directory: borrowing Descriptor, in vault: borrowing Descriptor
    ) throws(CofferError) -> [UInt8]? {
        do throws(CofferError) {
            let keys = try FileKeysetRecord(device: core.device).read(in: vault).keys
            let file = try directory.open(name, .read)
            return try ContainerReader.header(of: file, id: id, device: core.device, keys: keys).header
                .commitment
        } catch {
            switch error.code {
            case .absent, .corrupt, .foreign: return nil
            default: throw error
            }
        }
    }

    /// Ends what a crash or a failure left of a file under its temporary name: gives it its name when the
    /// index means it, and removes it otherwise. Under the home's lock, when its owner is dead.
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
