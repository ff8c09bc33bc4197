package import CofferBase
package import CofferEngine
package import SystemPackage

/// A vault's state record, which states whether the vault is alive, is being wiped (entirely or only its
/// tokens) or was wiped. The record is one sector long. It is allocated when the vault is created and is
/// written in place, so a wipe requires no additional disk space.
///
/// Layout (512 bytes): magic (8), version (2), 6 zero bytes, vault id (16), phase (8, ASCII, zero-padded),
/// the reason for the wipe in a tombstone (296), and zeros.
package struct VaultStateFile: Equatable {
    package enum Phase: String, CaseIterable {
        case active = "LIVE"
        case wiping = "WIPING"
        case wiped = "WIPED"
        /// The vault is alive and its tokens are being erased.
        case wipingTokens = "TOKENS"

        /// The phase as stored in the record: 8 bytes, zero-padded.
        package var bytes: [UInt8] {
            Array(rawValue.utf8) + [UInt8](repeating: 0, count: 8 - rawValue.utf8.count)
        }
    }

    package static let fileName: FilePath = "state"
    package static let size = 512

    package let phase: Phase
    package let vaultID: VaultID
    /// The reason for the wipe; `nil` if the record has none.
    package var cause: WipeReason?

    package init(phase: Phase, vaultID: VaultID, cause: WipeReason? = nil) {
        self.phase = phase
        self.vaultID = vaultID
        self.cause = cause
    }

    /// Whether the vault can be used.
    package var isAlive: Bool { phase == .active || phase == .wipingTokens }

    /// Returns the state record in the directory `home`; `nil` if there is none.
    package static func read(in home: borrowing Descriptor) throws(CofferError) -> VaultStateFile? {
        guard try home.status(of: fileName) != nil else { return nil }
        let file = try home.open(fileName, .read)
        let bytes = try CofferError.addingRemedy(.restoreOrWipeVault) { () throws(CofferError) in
            try file.readAll(limit: size)
        }
        var reader = BinaryReader(bytes, name: "vault's state record", remedy: .restoreOrWipeVault)
        guard try reader.take(8) == Array(FileMagic.state.utf8) else { throw reader.corruptError }
        guard try reader.number(UInt16.self) == 1 else {
            throw CofferError(
                .unsupportedVersion,
                "The vault was created by a newer release, or the vault's state record is damaged.",
                remedy: .useNewerRelease)
        }
        try reader.skip(6)
        guard let vaultID = VaultID(bytes: try reader.take(16)) else { throw reader.corruptError }
        let text = try reader.take(8)
        guard let word = Phase.allCases.first(where: { $0.bytes == text }) else { throw reader.corruptError }
        let cause = try reader.take(WipeReason.size)
        try reader.expectPadding()
        return VaultStateFile(phase: word, vaultID: vaultID, cause: WipeReason(cause))
    }

    /// Writes this state to the directory `home` and flushes it. The first write creates the record by
    /// rename; later writes overwrite the record in place.
    package func write(in home: borrowing Descriptor) throws(CofferError) {
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.state.utf8))
        writer.append(UInt16(1))
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
