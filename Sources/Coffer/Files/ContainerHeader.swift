import CofferBase
import CofferEngine

/// Both slots of a container's header as they are on the disk, and which of them counts.
///
/// A slot is valid when its key-encryption key is known, its file key unwraps, its commitment and its tag
/// hold. Of two valid ones that with the higher generation counts; two of one generation have to be the same
/// byte for byte, and two of different generations have to agree in every immutable field.
struct ContainerHeader {
    /// The slot that counts.
    let newest: ContainerHeaderSlot
    /// Its bytes.
    let newestBytes: [UInt8]
    /// Where it is: 0 or 1.
    let index: Int
    /// What is in the other place.
    let otherBytes: [UInt8]

    private static var corruptError: CofferError { ContainerLayout.corruptError() }

    /// Whether the other place holds nothing that an interrupted update left.
    var isSettled: Bool { otherBytes == newestBytes || otherBytes.allSatisfy { $0 == 0 } }

    /// Reads the header of `file`.
    ///
    /// - Throws: `corrupt`; `foreign` when no slot names a key of this vault; `unsupportedVersion`.
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
                    // An unauthenticated field only chooses between two refusals.
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
