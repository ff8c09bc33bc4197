import CofferBase
import CofferEngine
import CofferVault

/// Both slots of a container's header as stored on disk, and which of them is current.
///
/// A slot is valid if its key-encryption key is known, its file key unwraps, and its commitment and its tag
/// verify. Of two valid slots, the one with the higher generation is current. Two slots of one generation
/// must be identical byte for byte, and two of different generations must agree in every immutable field.
struct ContainerHeader {
    /// The current slot.
    let newest: ContainerHeaderSlot
    /// The bytes of the current slot.
    let newestBytes: [UInt8]
    /// The position of the current slot: 0 or 1.
    let index: Int
    /// The bytes of the other slot.
    let otherBytes: [UInt8]

    private static var corruptError: CofferError { ContainerLayout.corruptError() }

    /// Whether the other slot holds no remains of an interrupted update.
    var isSettled: Bool { otherBytes == newestBytes || otherBytes.allSatisfy { $0 == 0 } }

    /// Reads the header of `file`.
    ///
    /// - Throws: `corrupt`; `foreign` if no slot names a key of this vault; `unsupportedVersion`.
    static func read(
        _ file: borrowing Descriptor, keys: FileKeyset, device: DeviceKey
    ) throws(CofferError) -> ContainerHeader {
        var header = [UInt8](repeating: 0, count: Int(ContainerLayout.headerSize))
        var span = header.mutableSpan
        guard try file.read(at: 0, into: &span) == header.count else { throw corruptError }
        var valid: [(slot: ContainerHeaderSlot, index: Int)] = []
        var failure = corruptError
        let places = [Array(header[..<ContainerHeaderSlot.size]), Array(header[ContainerHeaderSlot.size...])]
        for index in places.indices {
            do throws(CofferError) {
                guard let slot = try ContainerHeaderSlot.decode(places[index]) else { continue }
                if let kek = try keys.outer(slot.kekID, device: device) {
                    if try slot.keys(places[index], kek: kek) != nil { valid.append((slot, index)) }
                } else {
                    // This unauthenticated field only chooses between two errors.
                    failure = ContainerLayout.corruptError(
                        "The container is of another vault, its key was destroyed, or it is damaged", .foreign
                    )
                }
            } catch {
                if error.code != .corrupt { failure = error }
            }
        }
        guard let best = valid.max(by: { $0.slot.generation < $1.slot.generation }) else { throw failure }
        for other in valid {
            guard other.slot.isSameFile(as: best.slot),
                other.slot.generation != best.slot.generation || places[0] == places[1]
                    || other.index == best.index
            else { throw corruptError }
        }
        return ContainerHeader(
            newest: best.slot, newestBytes: places[best.index], index: best.index,
            otherBytes: places[1 - best.index])
    }
}
