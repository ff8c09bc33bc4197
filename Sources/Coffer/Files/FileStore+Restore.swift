package import CofferBase
import CofferCrypto
import CofferEngine
package import CofferVault
import FoundationEssentials
package import SystemPackage

/// A file of a backup, without its content.
package struct RestoredFile: Sendable {
    package let id: FileID
    package let name: FilePath.Component
    /// The modification date in nanoseconds since 1970.
    package let modified: Int64
    package let protection: ProtectionClass

    package init(id: FileID, name: FilePath.Component, modified: Int64, protection: ProtectionClass) {
        self.id = id
        self.name = name
        self.modified = modified
        self.protection = protection
    }

    /// Returns whether a stored file can have this name.
    package static func isName(_ name: FilePath.Component) -> Bool {
        (try? FileStore.checked(name, [])) != nil
    }
}

extension FileStore {
    /// A function that fills the span with the next bytes of a content and returns their number, which is
    /// smaller than the span's size only at the end.
    package typealias Content = (inout MutableSpan<UInt8>) throws(CofferError) -> Int

    /// Returns a stored file as a restore compares it; `nil` if no file has that identifier. Blocks.
    ///
    /// - Throws: `locked`; `corrupt` or `missing` if the file is damaged or its container is gone.
    package func stored(_ id: FileID) throws(CofferError) -> SnapshotFile? {
        guard try openDirectory().status(of: id.fileName) != nil else { return nil }
        let mark = core.keys.mark
        let container = try open(id)
        let check = try cancellationCheck(
            BlockingExecutor.Cancellation(), since: mark, only: container.protection)
        return SnapshotFile(
            info: try info(of: container), modified: container.header.modified, isNewer: false,
            reader: StoredFileReader(container, check: check))
    }

    /// Returns whether the vault has a file with this identifier, or lists one. Blocks.
    package func isKnown(_ id: FileID) throws(CofferError) -> Bool {
        if try openDirectory().status(of: id.fileName) != nil { return true }
        return try index.snapshot(in: core.home.openVault()).entries[id] != nil
    }

    /// Adds a file of a backup under its identifier or, if `isCopy` is set, under a new one. Blocks.
    ///
    /// - Throws: `locked`, `noSpace`, `readOnly`; `refused` if the class needs a passcode and none is set, or
    ///   if the vault's settings or its medium forbid files; `alreadyExists`; `busy`, `wiped`.
    package func restore(
        _ file: RestoredFile, isCopy: Bool, _ content: Content
    ) throws(CofferError) {
        let name = try Self.checked(file.name, [])
        try core.checkMedium(allowingExternalMedia: false)
        _ = try core.keyForStoring(file.protection)
        let id = isCopy ? try FileID.random() : file.id
        let check = try cancellationCheck(BlockingExecutor.Cancellation())
        try addContainer(id, file.protection, [], check) { (target, keys) throws(CofferError) in
            let writer = ContainerWriter(
                id: id, device: core.device, classKey: keys.classKey, protection: file.protection,
                suite: .chaCha20Poly1305, context: [], outerKEK: keys.outer, innerKEK: keys.inner)
            return try writer.seal(
                pieces: content, name: name, modified: file.modified, into: target, check: check)
        }
    }

    /// Replaces the content, the date and the name of a stored file with those of a backup. The file keeps
    /// its class. Blocks.
    ///
    /// - Throws: The errors of ``restore(_:isCopy:_:)``; `conflict` if the file was changed meanwhile.
    package func replace(_ file: RestoredFile, _ content: Content) throws(CofferError) {
        let name = try Self.checked(file.name, [])
        try core.checkMedium(allowingExternalMedia: false)
        let check = try cancellationCheck(BlockingExecutor.Cancellation())
        let old = try open(file.id)
        try replaceContent(of: old, [], check: check) { (writer, target, name) throws(CofferError) in
            try writer.seal(
                pieces: content, name: name, modified: file.modified, into: target, check: check)
        }
        try changeName(of: file.id, to: name, [], BlockingExecutor.Cancellation())
    }

    /// Puts a sealed container of a backup of this vault back. Blocks.
    ///
    /// - Returns: Whether the vault's keys open the container; otherwise nothing has changed.
    /// - Throws: `alreadyExists`, `locked`, `noSpace`, `readOnly`, `busy`, `wiped`.
    package func restoreSealed(_ id: FileID, _ content: Content) throws(CofferError) -> Bool {
        try core.checkMedium(allowingExternalMedia: false)
        let directory = try openDirectory()
        let file: Descriptor = try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try cleanUpIfDue(directory, in: vault)
            guard try directory.status(of: id.fileName) == nil else { throw Self.isThere(id) }
            let file = try directory.open(id.temporaryName, [.readWrite, .exclusive])
            try file.lock()
            return file
        }
        do throws(CofferError) {
            try Self.copy(content, into: file)
            try file.sync()
            return try core.home.withExclusiveVault { (vault) throws(CofferError) in
                guard let (header, protection) = try sealedHeader(of: file, id) else {
                    try Self.removeContainer(id.temporaryName, in: directory)
                    return false
                }
                try insert(header, protection, in: vault)
                try directory.renameWithoutReplacing(id.temporaryName, to: id.fileName)
                try directory.sync()
                return true
            }
        } catch {
            rollBack(id, directory)
            throw error
        }
    }

    private static func isThere(_ id: FileID) -> CofferError {
        CofferError(.alreadyExists, "The file \(id) exists already.")
    }

    private static func copy(_ content: Content, into file: borrowing Descriptor) throws(CofferError) {
        let buffer = try AlignedBuffer.make(count: 1 << 20)
        while true {
            let count = try buffer.write(0..<buffer.count) { (span) throws(CofferError) in
                try content(&span)
            }
            try buffer.read(0..<count) { (bytes) throws(CofferError) in try file.append(bytes) }
            guard count == buffer.count else { return }
        }
    }

    /// Returns the header of a container that the vault's present keys open; `nil` for any other container.
    private func sealedHeader(
        of file: borrowing Descriptor, _ id: FileID
    ) throws(CofferError) -> (InnerHeader, ProtectionClass)? {
        do throws(CofferError) {
            let keys = try fileKeys()
            let (header, protection) = try ContainerReader.header(
                of: file, id: id, device: core.device, keys: keys)
            guard header.keeper == nil else { return nil }
            // A file that is bound to a context can be read only with that.
            if !header.isContextBound {
                _ = try ContainerReader.open(file.duplicate(), id: id, device: core.device, keys: keys) {
                    (protection) throws(CofferError) in try core.keys.key(protection)
                }
            }
            return (header, protection)
        } catch {
            switch error.code {
            case .corrupt, .foreign, .notAuthentic, .unsupportedVersion, .refused: return nil
            default: throw error
            }
        }
    }
}
