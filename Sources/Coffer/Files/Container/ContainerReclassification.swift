import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// An operation that gives a container another protection class. The operation writes only the two header
/// slots, regardless of the file's size, and at least one slot is intact at any time.
struct ContainerReclassification {
    let device: DeviceKey
    let keys: FileKeyset
    let protection: ProtectionClass
    /// The context that is bound to the container.
    let context: [UInt8]

    private static var corruptError: CofferError { ContainerLayout.corruptError() }

    /// Gives the container `file` the class. Call this method while holding the vault directory's lock.
    func apply(
        to file: borrowing Descriptor, id: FileID,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) {
        let slots = try ContainerHeader.read(file, keys: keys, device: device)
        var slot = slots.newest
        guard slot.id == id else { throw Self.corruptError }
        do throws(CofferError) {
            let former = try ContainerHeaderSlot.openInnerHeader(slots.newestBytes, keys: slots.outer)
            let header = try rewrapped(former, of: slot, classKey: classKey)
            guard slot.generation < .max else {
                throw CofferError(
                    .refused,
                    "The header of this file's container was rewritten too many times. Add the file "
                        + "again.")
            }
            slot.generation += 1
            slot.protection = protection
            let bytes = try slot.encode(innerHeader: header, keys: slots.outer)
            try HeaderBatch.NewHeader(bytes: bytes, current: slots.index, isSettled: slots.isSettled)
                .write(to: file)
        } catch {
            throw error.code == .notAuthentic ? Self.corruptError : error
        }
    }

    /// Returns the inner header with its file key wrapped under the new class's current key.
    private func rewrapped(
        _ bytes: [UInt8], of slot: ContainerHeaderSlot,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) -> [UInt8] {
        var header = try InnerHeader.decode(bytes)
        let (vaultID, oldKey, newKey) = (
            device.vaultID, try classKey(slot.protection), try classKey(protection)
        )
        guard header.id == slot.id, header.chunkSizeLog2 == slot.chunkSizeLog2, header.keeper == nil,
            let oldKEK = try keys.inner(header.kekID, slot.protection, classKey: oldKey, vaultID: vaultID),
            let newKEK = try keys.currentInner(protection, classKey: newKey, vaultID: vaultID)
        else { throw Self.corruptError }
        let fileKey = try oldKEK.unwrap(header.wrappedKey)
        guard let layer = try header.layerKeys(fileKey, context: context, in: bytes) else {
            throw Self.corruptError
        }
        header.kekID = newKEK.id
        header.wrappedKey = try newKEK.wrap(fileKey)
        return try header.encode(authenticationKey: layer.authenticationKey)
    }
}
