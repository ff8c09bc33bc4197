package import CofferBase
package import CofferEngine
package import SystemPackage

/// A vault's state record, which states whether the vault is alive, is being wiped (entirely or only its
/// tokens) or was wiped. The record is one sector long. It is allocated when the vault is created and is
/// written in place, so a wipe requires no additional disk space.
///
/// Layout (512 bytes): magic (8), version (2; 2 while files are being replaced, so that earlier releases
/// refuse the vault, otherwise 1), the ``ReleaseNumber`` of the first release that reads the vault (6; zeros
/// if every release may), vault id (16), phase (8, ASCII, zero-padded), the reason for the wipe in a
/// tombstone (296), and zeros.
package struct VaultStateFile: Equatable {
    package enum Phase: String, CaseIterable {
        case active = "LIVE"
        case wiping = "WIPING"
        case wiped = "WIPED"
        /// The vault is alive and its tokens are being erased.
        case wipingTokens = "TOKENS"
        /// The vault is alive, and the files in ``VaultDirectory/nextName`` count instead of those that they
        /// are about to replace.
        case replacing = "REPLACE"

        /// The phase as stored in the record: 8 bytes, zero-padded.
        package var bytes: [UInt8] {
            Array(rawValue.utf8) + [UInt8](repeating: 0, count: 8 - rawValue.utf8.count)
        }

        /// The version of a record with this phase.
        fileprivate var version: UInt16 { self == .replacing ? 2 : 1 }
    }

    package static let fileName: FilePath = "state"
    package static let size = 512

    package let phase: Phase
    package let vaultID: VaultID
    /// The reason for the wipe; `nil` if the record has none.
    package var cause: WipeReason?
    /// The first release that reads the vault, as its last upgrade recorded it; `nil` if none did. Anyone who
    /// can write to the directory can change it, so use it only in messages.
    package var release: ReleaseNumber?

    package init(
        phase: Phase, vaultID: VaultID, cause: WipeReason? = nil, release: ReleaseNumber? = nil
    ) {
        self.phase = phase
        self.vaultID = vaultID
        self.cause = cause
        self.release = release
    }

    /// Whether the vault can be used.
    package var isAlive: Bool { phase == .active || phase == .wipingTokens || phase == .replacing }

    /// Returns the state record in the directory `home`; `nil` if there is none.
    package static func read(in home: borrowing Descriptor) throws(CofferError) -> VaultStateFile? {
        guard try home.status(of: fileName) != nil else { return nil }
        let file = try home.open(fileName, .read)
        let bytes = try CofferError.addingRemedy(.restoreOrWipeVault) { () throws(CofferError) in
            try file.readAll(limit: size)
        }
        var reader = BinaryReader(bytes, name: "vault's state record", remedy: .restoreOrWipeVault)
        guard try reader.take(8) == Array(FileMagic.state.utf8) else { throw reader.corruptError }
        let version = try reader.number(UInt16.self)
        let release = ReleaseNumber(bytes: try reader.take(ReleaseNumber.size))
        guard (1...2).contains(version) else {
            throw CofferError(
                .unsupportedVersion,
                "The vault was created by a newer release, or the vault's state record is damaged."
                    + ReleaseNumber.sentence(release), remedy: .useNewerRelease)
        }
        guard let vaultID = VaultID(bytes: try reader.take(16)) else { throw reader.corruptError }
        let text = try reader.take(8)
        guard let word = Phase.allCases.first(where: { $0.bytes == text }), version == word.version else {
            throw reader.corruptError
        }
        let cause = try reader.take(WipeReason.size)
        try reader.expectPadding()
        return VaultStateFile(phase: word, vaultID: vaultID, cause: WipeReason(cause), release: release)
    }

    /// Returns the release to record: this value's own or, while the vault is alive, the one that the present
    /// record has.
    private func recordedRelease(in home: borrowing Descriptor) -> ReleaseNumber? {
        guard release == nil, isAlive, let present = (try? Self.read(in: home)) ?? nil else { return release }
        return present.vaultID == vaultID ? present.release : nil
    }

    /// Writes this state to the directory `home` and flushes it. The first write creates the record by
    /// rename; later writes overwrite the record in place.
    package func write(in home: borrowing Descriptor) throws(CofferError) {
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.state.utf8))
        writer.append(phase.version)
        writer.append(recordedRelease(in: home)?.bytes ?? [])
        writer.pad(to: 16)
        writer.append(vaultID.bytes)
        writer.append(phase.bytes)
        writer.append(cause?.bytes ?? [])
        writer.pad(to: Self.size)
        let record = writer.bytes
        guard try home.status(of: Self.fileName) != nil else {
            return try home.replace(Self.fileName, with: record.span)
        }
        let file = try home.openForOverwriting(Self.fileName)
        try file.write(record.span, at: 0)
        // Only content changes, not metadata, so this does not wait for the file system's journal.
        try file.syncData()
    }

    /// Writes this state as a tombstone and replaces any existing entry that is not a regular file, cannot be
    /// written to, or is longer than the record. If the entry is a directory that is not empty, throws an
    /// error and does not change that directory.
    package func writeOverAnything(in home: borrowing Descriptor) throws(CofferError) {
        do throws(CofferError) {
            let status = try home.status(of: Self.fileName)
            guard let status, status.kind != .regular || status.size > Int64(Self.size) else {
                return try write(in: home)
            }
            if status.kind == .directory {
                try home.removeDirectory(Self.fileName)
                return try write(in: home)
            }
        } catch {
            guard ![.readOnly, .noSpace, .alreadyExists].contains(error.code) else { throw error }
        }
        try home.remove(Self.fileName)
        try write(in: home)
    }
}
