import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// An operation that rewraps a container's two file keys under the current keys. The operation writes only
/// the two header slots, regardless of the file's size, and at least one slot is intact at any time.
struct ContainerRewrap {
    let device: DeviceKey
    let keys: FileKeyset
    /// The context that is bound to the container. If the value is empty but the container is bound to a
    /// context, only the outer layer is rewrapped.
    var context: [UInt8] = []

    /// The result of rewrapping a container.
    enum Outcome: Equatable {
        /// The file keys of both layers were already wrapped under the current keys.
        case unchanged
        /// The file keys of both layers are now wrapped under the current keys.
        case rewrapped
        /// A context is bound to the container, or a session's key wraps its inner file key, so only the
        /// outer layer was rewrapped.
        case outerOnly
    }

    private static var corruptError: CofferError { ContainerLayout.corruptError() }

    /// Rewraps the file keys in `file`. Does not change a container whose file keys are already wrapped under
    /// the current keys, unless `always` is `true`. Call this method while holding the vault directory's
    /// lock.
    func rewrap(
        _ file: borrowing Descriptor, id: FileID, always: Bool,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) -> Outcome {
        let slots = try ContainerHeader.read(file, keys: keys, device: device)
        var slot = slots.newest
        guard slot.id == id, let oldKEK = try keys.outer(slot.kekID, device: device),
            let newKEK = try keys.currentOuter(device)
        else { throw Self.corruptError }
        do throws(CofferError) {
            let fileKey = try oldKEK.unwrap(slot.wrappedKey)
            let header = try ContainerHeaderSlot.openInnerHeader(slots.newestBytes, keys: slots.outer)
            let classKey = try classKey(slot.protection)
            let inner = try rewrapInner(header, of: slot, classKey: classKey)
            if !always, slots.isSettled, slot.kekID == newKEK.id, inner.bytes == header { return .unchanged }
            guard slot.generation < .max else {
                throw CofferError(
                    .refused,
                    "The keys of this file's container were rewrapped too many times. Add the file "
                        + "again.")
            }
            slot.generation += 1
            slot.kekID = newKEK.id
            slot.wrappedKey = try newKEK.wrap(fileKey)
            let bytes = try slot.encode(innerHeader: inner.bytes, keys: slots.outer)
            for place in [1 - slots.index, slots.index] {
                try file.write(bytes.span, at: Int64(place * ContainerHeaderSlot.size))
                try file.syncData()
            }
            return inner.isCurrent ? .rewrapped : .outerOnly
        } catch {
            throw error.code == .notAuthentic ? Self.corruptError : error
        }
    }

    /// Returns the identifiers of all keys that wrap file keys in the header slots of `file`.
    func keysUsed(by file: borrowing Descriptor) throws(CofferError) -> Set<[UInt8]> {
        let slots = try ContainerHeader.read(file, keys: keys, device: device)
        var used: Set<[UInt8]> = []
        for bytes in [slots.newestBytes, slots.otherBytes] {
            guard let slot = try ContainerHeaderSlot.decode(bytes) else { continue }
            guard let kek = try keys.outer(slot.kekID, device: device),
                let layer = try slot.keys(bytes, kek: kek)
            else { continue }
            used.insert(slot.kekID)
            do throws(CofferError) {
                used.insert(
                    try InnerHeader.decode(ContainerHeaderSlot.openInnerHeader(bytes, keys: layer)).kekID)
            } catch {
                throw error.code == .notAuthentic ? Self.corruptError : error
            }
        }
        return used
    }

    /// Returns the inner header with its file key wrapped under the current key; if a required context is
    /// missing, returns the header unchanged.
    private func rewrapInner(
        _ bytes: [UInt8], of slot: ContainerHeaderSlot, classKey: ClassKey
    ) throws(CofferError) -> (bytes: [UInt8], isCurrent: Bool) {
        var header = try InnerHeader.decode(bytes)
        let (vaultID, protection) = (device.vaultID, slot.protection)
        // A recorded key would make a session-only file outlast its session.
        guard header.keeper == nil else {
            guard header.id == slot.id else { throw Self.corruptError }
            return (bytes, false)
        }
        guard header.id == slot.id, header.chunkSizeLog2 == slot.chunkSizeLog2,
            let oldKEK = try keys.inner(header.kekID, protection, classKey: classKey, vaultID: vaultID),
            let newKEK = try keys.currentInner(protection, classKey: classKey, vaultID: vaultID)
        else { throw Self.corruptError }
        if header.kekID == newKEK.id { return (bytes, true) }
        // Computing the tag of the inner header needs the context.
        if header.isContextBound, context.isEmpty { return (bytes, false) }
        let fileKey = try oldKEK.unwrap(header.wrappedKey)
        guard let layer = try header.layerKeys(fileKey, context: context, in: bytes) else {
            throw Self.corruptError
        }
        header.kekID = newKEK.id
        header.wrappedKey = try newKEK.wrap(fileKey)
        return (try header.encode(authenticationKey: layer.authenticationKey), true)
    }
}
