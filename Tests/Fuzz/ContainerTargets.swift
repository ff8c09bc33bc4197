@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization
import SystemPackage
import TestSupport

/// Containers: their header, their sizes, and whole ones that were tampered with.
extension FuzzTarget {
    static let containers = [
        FuzzTarget("container-slot") { bytes, world in try readSlot(bytes, world) },
        FuzzTarget("container-inner") { bytes, _ in
            let header = try InnerHeader.decode(bytes.resized(to: InnerHeader.size))
            try FuzzFinding.require(
                header.length >= 0 && header.name.count <= InnerHeader.maxNameLength
                    && header.mediaType.utf8.count <= 127, "an inner header is out of bounds")
        },
        FuzzTarget("container-size") { bytes, _ in
            guard bytes.count >= 9, ContainerLayout.chunkSizeLog2Range.contains(bytes[0]) else { return }
            let size = Int64(bitPattern: bytes.span.bigEndian(UInt64.self, at: 1)) >> Int64(bytes[0] & 7)
            let layout = try ContainerLayout(chunkSizeLog2: bytes[0], containerSize: size)
            try FuzzFinding.require(layout.containerSize == size, "a container has another size")
            let last = layout.plaintextCount(layout.chunkCount - 1)
            try FuzzFinding.require((0..<layout.chunkSize).contains(last), "the last chunk is a full one")
        },
        FuzzTarget("container") { bytes, world in try openTampered(bytes, world) },
    ]

    /// A slot of 2048 bytes. It was not sealed, so it must be refused or contain no usable keys.
    private static func readSlot(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        let slot = bytes.resized(to: ContainerHeaderSlot.size)
        guard let decoded = try ContainerHeaderSlot.decode(slot) else { return }
        let vaultID = world.device.vaultID.bytes
        guard let kek = try FileKeyset().outer(vaultID, device: world.device) else { return }
        switch try decoded.keys(slot, kek: kek) {
        case .some: throw FuzzFinding("a slot that nobody made gives keys")
        case .none: return
        }
    }

    /// A whole container under a list of edits: position (2 bytes), what to do there (1), with what (1).
    private static func openTampered(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        guard let first = bytes.first else { return }
        let (original, plaintext) = world.containers[Int(first) % world.containers.count]
        var container = original
        for start in stride(from: 1, to: bytes.count - 3, by: 4) {
            edit(&container, Array(bytes[start..<start + 4]))
        }
        try world.scratch.write("container", container)
        let reader = try ContainerReader.open(
            world.scratch.descriptor.open("container", .read), id: nil, device: world.device
        ) { (_) throws(CofferError) in world.classKey }
        let opened = Mutex<[UInt8]>([])
        try reader.forEachRun(in: 0..<reader.layout.chunkCount, threads: 1) {
            (piece, _) throws(CofferError) in
            let copy = piece.copied()
            opened.withLock { $0 += copy }
        }
        let isSame = opened.withLock { $0 == plaintext } && reader.header.name == Array("name".utf8)
        try FuzzFinding.require(isSame, "a container that was tampered with opens as something else")
    }

    private static func edit(_ container: inout [UInt8], _ edit: [UInt8]) {
        guard !container.isEmpty else { return }
        let position = Int(edit.span.bigEndian(UInt16.self, at: 0)) % container.count
        switch edit[2] & 7 {
        case 0: container[position] ^= edit[3]
        case 1: container[position] = edit[3]
        case 2: container.removeLast(container.count - position)
        case 3: container += [UInt8](repeating: edit[3], count: Int(edit[2] >> 3) + 1)
        case 4: container.remove(at: position)
        case 5: container.insert(edit[3], at: position)
        case 6: container.swapAt(position, (position + Int(edit[3])) % container.count)
        default:
            // One slot of the header in the place of the other.
            guard container.count >= 2 * ContainerHeaderSlot.size else { return }
            let slot = Array(container[..<ContainerHeaderSlot.size])
            container.replaceSubrange(ContainerHeaderSlot.size..<2 * ContainerHeaderSlot.size, with: slot)
        }
    }
}
