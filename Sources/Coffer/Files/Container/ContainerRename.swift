import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// An operation that changes the file name in a container's header. The operation writes only the two header
/// slots, regardless of the file's size, and at least one slot is intact at any time.
struct ContainerRename {
    let device: DeviceKey
    let keys: FileKeyset
    let classKey: ClassKey
    /// The context that is bound to the container.
    let context: [UInt8]
    let volatileKeys: VolatileFileKeys

    private static var corruptError: CofferError { ContainerLayout.corruptError() }

    /// Renames the file in the container `file` and returns the new header. Call this method while holding
    /// the vault directory's lock.
    func rename(
        _ file: borrowing Descriptor, id: FileID, to name: [UInt8]
    ) throws(CofferError) -> InnerHeader {
        let slots = try ContainerHeader.read(file, keys: keys, device: device)
        var slot = slots.newest
        guard slot.id == id else { throw Self.corruptError }
        do throws(CofferError) {
            let former = try ContainerHeaderSlot.openInnerHeader(slots.newestBytes, keys: slots.outer)
            var header = try InnerHeader.decode(former)
            let kek: FileKEK?
            if header.keeper == nil {
                kek = try keys.inner(
                    header.kekID, slot.protection, classKey: classKey, vaultID: device.vaultID)
            } else {
                kek = try volatileKeys.kek(of: header, slot.protection, classKey)
                guard kek != nil else { throw VolatileFileKeys.absentError(id) }
            }
            guard header.id == slot.id, header.chunkSizeLog2 == slot.chunkSizeLog2, let kek else {
                throw Self.corruptError
            }
            let fileKey = try kek.unwrap(header.wrappedKey)
            guard let layer = try header.layerKeys(fileKey, context: context, in: former) else {
                throw Self.corruptError
            }
            guard slot.generation < .max else {
                throw CofferError(
                    .refused,
                    "The header of this file's container was rewritten too many times. Add the file "
                        + "again.")
            }
            header.name = name
            slot.generation += 1
            let inner = try header.encode(authenticationKey: layer.authenticationKey)
            let bytes = try slot.encode(innerHeader: inner, keys: slots.outer)
            try HeaderBatch.NewHeader(bytes: bytes, current: slots.index, isSettled: slots.isSettled)
                .write(to: file)
            return header
        } catch {
            throw error.code == .notAuthentic ? Self.corruptError : error
        }
    }
}
