package import CofferBase
package import SystemPackage

/// A file that contains two slots of equal size, is preallocated, and is updated in place.
///
/// Replacing the file by a rename would leave the old bytes readable on the disk, so each update overwrites
/// them in place. One slot is always complete: the first slot is written and flushed before the second is
/// changed. The caller, who can authenticate the slots, decides which one is current.
package struct DualSlotFile: ~Copyable, Sendable {
    private let file: Descriptor
    package let slotSize: Int

    private init(file: consuming Descriptor, slotSize: Int) {
        self.file = file
        self.slotSize = slotSize
    }

    /// Creates the file with `slot` in both places. Throws an error if the file already exists. If the
    /// creation fails, no file remains.
    package static func create(
        _ name: FilePath, in directory: borrowing Descriptor, slot: Span<UInt8>
    ) throws(CofferError) {
        let file = try directory.open(name, [.readWrite, .exclusive])
        do throws(CofferError) {
            try file.reserve(Int64(slot.count * 2))
            try file.write(slot, at: 0)
            try file.write(slot, at: Int64(slot.count))
            try file.sync()
        } catch {
            _ = try? directory.remove(name)
            throw error
        }
    }

    /// Opens the file. Throws `corrupt` if its size is wrong.
    package static func open(
        _ name: FilePath, in directory: borrowing Descriptor, slotSize: Int, writable: Bool
    ) throws(CofferError) -> DualSlotFile {
        let file = try directory.open(name, writable ? .readWrite : .read)
        let status = try file.status()
        guard status.kind == .regular, status.size == Int64(slotSize * 2) else {
            throw CofferError(
                .corrupt, "\(file.path) must be a regular file of exactly \(slotSize * 2) bytes.")
        }
        return DualSlotFile(file: file, slotSize: slotSize)
    }

    /// Returns the bytes of slot 0 or 1.
    package func slot(_ index: Int) throws(CofferError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: slotSize)
        var span = bytes.mutableSpan
        guard try file.read(at: Int64(index * slotSize), into: &span) == slotSize else {
            throw CofferError(
                .corrupt, "\(file.path) must be \(slotSize * 2) bytes long, but the file is shorter.")
        }
        return bytes
    }

    /// Writes `bytes` first to the slot that is not current, and then to the other slot.
    package func update(_ bytes: Span<UInt8>, current: Int) throws(CofferError) {
        guard bytes.count == slotSize else { throw CofferError.wrongOutputSize }
        for index in [1 - current, current] {
            try file.write(bytes, at: Int64(index * slotSize))
            try file.syncData()
        }
    }

    /// Overwrites only one slot, to replace the outdated contents that an interrupted update left there.
    package func repair(_ bytes: Span<UInt8>, slot index: Int) throws(CofferError) {
        guard bytes.count == slotSize else { throw CofferError.wrongOutputSize }
        try file.write(bytes, at: Int64(index * slotSize))
        try file.syncData()
    }
}
