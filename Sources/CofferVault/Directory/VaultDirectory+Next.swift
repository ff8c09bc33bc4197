package import CofferBase
package import CofferEngine
package import SystemPackage

/// The replacement of several of the vault's files in one step.
///
/// The new files are written to ``nextName``, flushed and read back. One write of the state record then
/// switches to them (``VaultStateFile/Phase/replacing``), and each is moved to its place. After a crash
/// before that write, the old files count; after it, the new ones: the next caller that acquires the vault
/// directory's lock moves the rest. The state record is also written last. The old files are then
/// overwritten, as every update of a record in place does.
extension VaultDirectory {
    /// The directory of files that are about to replace the vault's files of the same names.
    package static let nextName: FilePath = "vault.next"
    /// The directory of files that do not count and are being overwritten: new ones, or those that were
    /// replaced.
    package static let discardedName: FilePath = "vault.discarded"
    /// The directories that may contain files with the vault's keys.
    package static let keyDirectoryNames = [vaultName, nextName, discardedName]
    /// The beginning of the second name of a file that was replaced, by which it is overwritten.
    private static let formerPrefix = ".former-"

    /// A file that replaces the vault's file of the same name.
    package struct NextFile {
        package let name: FilePath
        package let bytes: [UInt8]

        package init(_ name: FilePath, _ bytes: [UInt8]) { (self.name, self.bytes) = (name, bytes) }
    }

    /// Replaces files of the vault, all or none. The caller holds the vault directory's lock.
    ///
    /// - Parameters:
    ///   - files: The new files, which need not exist yet.
    ///   - release: The first release that reads them; `nil` to leave the vault's record of it as it is.
    ///   - verify: A closure that reads the new files in their directory and throws if one is not as it
    ///     should be. Then nothing is replaced.
    /// - Throws: `busy` if the vault's tokens are being erased; the system's errors. If the switch to the new
    ///   files fails, the next caller that acquires the lock finds out which files count.
    package func replaceFiles(
        _ files: [NextFile], needing release: ReleaseNumber?,
        verifying verify: (borrowing Descriptor) throws(CofferError) -> Void
    ) throws(CofferError) {
        guard let state = try state(), belongsToThisVault(state) else { throw CofferError.wiped }
        guard state.phase == .active else {
            throw CofferError(.busy, "The vault's tokens are being erased. Open the vault again.")
        }
        try discardNext()
        do throws(CofferError) {
            try directory.makeDirectory(Self.nextName)
            let next = try directory.open(Self.nextName, [.read, .directory])
            for file in files { try Self.write(file, in: next) }
            try next.sync()
            try directory.sync()
            for file in files {
                let read = try next.open(file.name, .read).readAll(limit: file.bytes.count)
                guard read == file.bytes else {
                    throw CofferError(.inputOutput, "The disk returned other data than was written to it.")
                }
            }
            try verify(next)
        } catch {
            try? discardNext()
            throw error
        }
        let switched = VaultStateFile(
            phase: .replacing, vaultID: state.vaultID, release: release ?? state.release)
        try switched.write(in: directory)
        try finishReplacing()
    }

    private static func write(
        _ file: NextFile, in next: borrowing Descriptor
    ) throws(CofferError) {
        let written = try next.open(file.name, [.readWrite, .exclusive])
        try written.reserve(Int64(file.bytes.count))
        try written.write(file.bytes.span, at: 0)
        try written.sync()
    }

    /// Finishes a replacement of files that was interrupted after the switch, or removes what one left behind
    /// that was interrupted before it. The caller holds the vault directory's lock.
    func settleNext() throws(CofferError) {
        removeDiscarded()
        guard try directory.status(of: Self.nextName) != nil, let state = try state() else { return }
        switch state.phase {
        case .replacing: try finishReplacing()
        case .active:
            // A switch that failed may be on the disk although the record shows none. What cannot be removed
            // now does no harm.
            if (try? state.write(in: directory)) != nil { try? discardNext() }
        // A wipe removes it.
        case .wiping, .wiped, .wipingTokens: break
        }
    }

    /// Moves the new files to their places and records that they are there.
    private func finishReplacing() throws(CofferError) {
        guard let state = try state(), state.phase == .replacing, belongsToThisVault(state) else { return }
        let next = try directory.open(Self.nextName, [.read, .directory])
        let vault = try directory.open(Self.vaultName, [.read, .directory])
        // In the order of names, so that the index of files precedes the record that says what it must have.
        let names = try next.names().filter { !$0.string.utf8.hasPrefix(Self.formerPrefix) }
        for name in names.sorted(by: { $0.string.utf8.lexicographicallyPrecedes($1.string.utf8) }) {
            // A file system without links keeps no second name, and the old blocks stay as they are.
            if let former = try? vault.open(name, .read) {
                try? next.link(former, as: FilePath(Self.formerPrefix + name.string))
            }
            try directory.rename(Self.nextName.pushing(name), to: Self.vaultName.pushing(name))
        }
        try vault.sync()
        try next.sync()
        try VaultStateFile(phase: .active, vaultID: state.vaultID, release: state.release)
            .write(in: directory)
        try? discardNext()
    }

    /// Overwrites and removes files that do not count. One rename takes them away, so that no later switch
    /// can count a part of them.
    private func discardNext() throws(CofferError) {
        guard try directory.status(of: Self.nextName) != nil else { return }
        removeDiscarded()
        try directory.rename(Self.nextName, to: Self.discardedName)
        try directory.sync()
        removeDiscarded()
    }

    /// Overwrites and removes what a call discarded, perhaps one that was killed. What cannot be removed now
    /// is removed by the next caller that acquires the lock.
    private func removeDiscarded() {
        _ = directory.removeAll(of: Self.discardedName, overwriting: true)
    }

    /// Adds to an error about a newer version the release that reads it, if the vault says so.
    func namingRelease(_ error: CofferError) -> CofferError {
        guard error.code == .unsupportedVersion, let release = (try? state())??.release else { return error }
        return CofferError(
            error.code, error.message + ReleaseNumber.sentence(release), remedy: error.remedy,
            systemError: error.systemError, entries: error.entries)
    }
}
