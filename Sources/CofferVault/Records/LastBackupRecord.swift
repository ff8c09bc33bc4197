package import CofferBase
import CofferCrypto
import SystemPackage

/// A vault's `backup` file: the time of the last backup, authenticated under a key that is derived from the
/// device key.
///
/// Payload: the time in nanoseconds since 1970 (8), and the number of items that the backup can restore in
/// any vault (8).
package struct LastBackupRecord: Equatable, RecordPayload {
    package static let record = AuthenticatedRecord<LastBackupRecord>(
        name: "backup", magic: FileMagic.lastBackup, keyLabel: KDFLabel.lastBackupMAC, slotSize: 256,
        displayName: "record of the last backup")

    package let time: Int64
    package let movable: UInt64

    package init(time: Int64, movable: UInt64) {
        self.time = time
        self.movable = movable
    }

    package init(from reader: inout BinaryReader) throws(CofferError) {
        time = Int64(bitPattern: try reader.number(UInt64.self))
        movable = try reader.number(UInt64.self)
    }

    package func encode(to writer: inout BinaryWriter) {
        writer.append(UInt64(bitPattern: time))
        writer.append(movable)
    }
}
