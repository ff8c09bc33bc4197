import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// An operation that rewraps a container's two file keys under the current keys. Regardless of the file's
/// size, only the two header slots are written, by a `HeaderBatch`.
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

    /// Returns the header that replaces `slots` and wraps the file keys under the current keys, and the
    /// result once it is written. There is no new header if the file keys are already wrapped under the
    /// current keys, unless `always` is `true`. Read `slots`, call this method and write the header under one
    /// hold of the vault directory's lock.
    func newHeader(
        replacing slots: borrowing ContainerHeader, id: FileID, always: Bool, classKey: ClassKey
    ) throws(CofferError) -> (outcome: Outcome, header: HeaderBatch.NewHeader?) {
        var slot = slots.newest
        guard slot.id == id, let oldKEK = try keys.outer(slot.kekID, device: device),
            let newKEK = try keys.currentOuter(device)
        else { throw Self.corruptError }
        do throws(CofferError) {
            let fileKey = try oldKEK.unwrap(slot.wrappedKey)
            let header = try ContainerHeaderSlot.openInnerHeader(slots.newestBytes, keys: slots.outer)
            let inner = try rewrapInner(header, of: slot, classKey: classKey)
            if !always, slots.isSettled, slot.kekID == newKEK.id, inner.bytes == header {
                return (.unchanged, nil)
            }
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
            return (
                inner.isCurrent ? .rewrapped : .outerOnly,
                HeaderBatch.NewHeader(bytes: bytes, current: slots.index, isSettled: slots.isSettled)
            )
        } catch {
            throw error.code == .notAuthentic ? Self.corruptError : error
        }
    }

    /// Returns the identifiers of all keys that wrap file keys in the header slots of `file`.
    func keysUsed(by file: borrowing Descriptor) throws(CofferError) -> Set<[UInt8]> {
        let slots = try ContainerHeader.read(file, keys: keys, device: device)
        var used: Set<[UInt8]> = [slots.newest.kekID]
        used.insert(try Self.innerKey(slots.newestBytes, slots.outer))
        guard slots.otherBytes != slots.newestBytes,
            let other = try ContainerHeaderSlot.decode(slots.otherBytes),
            let kek = try keys.outer(other.kekID, device: device),
            let layer = try other.keys(slots.otherBytes, kek: kek)
        else { return used }
        used.insert(other.kekID)
        used.insert(try Self.innerKey(slots.otherBytes, layer))
        return used
    }

    /// Returns the identifier of the key that wraps the inner file key in the slot `bytes`.
    private static func innerKey(
        _ bytes: [UInt8], _ layer: borrowing LayerKeySchedule
    ) throws(CofferError) -> [UInt8] {
        do throws(CofferError) {
            return try InnerHeader.decode(ContainerHeaderSlot.openInnerHeader(bytes, keys: layer)).kekID
        } catch {
            throw error.code == .notAuthentic ? corruptError : error
        }
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
