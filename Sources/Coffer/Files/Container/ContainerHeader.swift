import CofferBase
import CofferEngine
import CofferVault

/// A container's header as stored on disk: two slots, one of which is current.
///
/// A slot is valid if its key-encryption key is known, its file key can be unwrapped, and its commitment and
/// tag verify. Of two valid slots, the one with the higher generation is current. Two slots with the same
/// generation must be identical byte for byte; two slots with different generations must agree in every
/// immutable field.
struct ContainerHeader: ~Copyable {
    /// The current slot.
    let newest: ContainerHeaderSlot
    /// The current slot's bytes.
    let newestBytes: [UInt8]
    /// The current slot's position: 0 or 1.
    let index: Int
    /// The other slot's bytes.
    let otherBytes: [UInt8]
    /// The outer layer's keys, with which the current slot was authenticated.
    let outer: LayerKeySchedule

    private static var corruptError: CofferError { ContainerLayout.corruptError() }

    /// Whether the other slot is free of remains from an interrupted update.
    var isSettled: Bool { otherBytes == newestBytes || otherBytes.allSatisfy { $0 == 0 } }

    /// Returns the header of `file`.
    ///
    /// - Throws: `corrupt`; `foreign` if no slot contains the identifier of one of this vault's keys;
    ///   `unsupportedVersion` if a newer release wrote the container.
    static func read(
        _ file: borrowing Descriptor, keys: FileKeyset, device: DeviceKey
    ) throws(CofferError) -> ContainerHeader {
        var header = [UInt8](repeating: 0, count: Int(ContainerLayout.headerSize))
        var span = header.mutableSpan
        guard try file.read(at: 0, into: &span) == header.count else { throw corruptError }
        let slots = [Array(header[..<ContainerHeaderSlot.size]), Array(header[ContainerHeaderSlot.size...])]
        var failure = corruptError
        let front = valid(0, of: slots, keys: keys, device: device, failure: &failure)
        if slots[0] == slots[1] {
            guard let only = consume front else { throw failure }
            return only
        }
        let back = valid(1, of: slots, keys: keys, device: device, failure: &failure)
        guard let first = consume front else {
            guard let only = consume back else { throw failure }
            return only
        }
        guard let second = consume back else { return first }
        let (one, other) = (first.newest, second.newest)
        guard one.isSameFile(as: other), one.generation != other.generation else { throw corruptError }
        if other.generation > one.generation { return second }
        return first
    }

    /// Returns the header with the slot at `index` as the current one; `nil` if that slot is not valid. Sets
    /// `failure` if the slot is invalid for a reason other than damage.
    private static func valid(
        _ index: Int, of slots: [[UInt8]], keys: FileKeyset, device: DeviceKey, failure: inout CofferError
    ) -> ContainerHeader? {
        do throws(CofferError) {
            guard let slot = try ContainerHeaderSlot.decode(slots[index]) else { return nil }
            guard let kek = try keys.outer(slot.kekID, device: device) else {
                // This unauthenticated field only chooses between two errors.
                throw ContainerLayout.corruptError(
                    "The container belongs to another vault, the key of the container was destroyed, or the "
                        + "container is damaged",
                    .foreign)
            }
            guard let outer = try slot.keys(slots[index], kek: kek) else { return nil }
            return ContainerHeader(
                newest: slot, newestBytes: slots[index], index: index, otherBytes: slots[1 - index],
                outer: outer)
        } catch {
            if error.code != .corrupt { failure = error }
            return nil
        }
    }
}
