import CofferBase
import CofferEngine
import SystemPackage
import Testing
import TestSupport

@Suite("Files of two slots")
struct DualSlotFileTests {
    private let size = 512
    private func slot(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: size) }

    @Test("An update writes both slots of the same file, and a repair only one")
    func bothSlotsHoldWhatWasWrittenLast() throws {
        let scratch = try ScratchDirectory.make()
        try DualSlotFile.create("slots", in: scratch.descriptor, slot: slot(1).span)
        let before = try scratch.descriptor.status(of: "slots")
        let file = try DualSlotFile.open("slots", in: scratch.descriptor, slotSize: size, writable: true)
        for (byte, current) in [(2, 0), (3, 1)] as [(UInt8, Int)] {
            try file.update(slot(byte).span, current: current)
            #expect(try file.slot(0) == slot(byte))
            #expect(try file.slot(1) == slot(byte))
        }
        try file.repair(slot(4).span, slot: 1)
        #expect(try scratch.read("slots") == slot(3) + slot(4))
        let after = try scratch.descriptor.status(of: "slots")
        #expect(before?.inode == after?.inode)
        #expect(try scratch.names() == ["slots"])
    }

    /// The slot that does not count is written first. A number out of range makes one of the two writes fail
    /// and shows which one had been done by then.
    @Test("An update writes the slot that is not current first")
    func theOtherSlotIsWrittenFirst() throws {
        let scratch = try ScratchDirectory.make()
        try DualSlotFile.create("slots", in: scratch.descriptor, slot: slot(1).span)
        let file = try DualSlotFile.open("slots", in: scratch.descriptor, slotSize: size, writable: true)
        #expect(failure { try file.update(slot(2).span, current: 2) } == .inputOutput)
        #expect(try scratch.read("slots") == slot(1) + slot(1))
        #expect(failure { try file.update(slot(2).span, current: -1) } == .inputOutput)
        #expect(try scratch.read("slots") == slot(1) + slot(1) + slot(2))
    }

    @Test("A file that is not two slots long is corrupt", arguments: [0, 1, 511, 512, 1023, 1025, 2048])
    func aFileOfAnotherSizeIsCorrupt(count: Int) throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("slots", .counting(count))
        let code = failure {
            _ = try DualSlotFile.open("slots", in: scratch.descriptor, slotSize: size, writable: false)
        }
        #expect(code == .corrupt)
    }

    @Test("Bytes of another size are refused, and the slots stay", arguments: [0, 511, 513])
    func aSlotOfAnotherSizeIsNotWritten(count: Int) throws {
        let scratch = try ScratchDirectory.make()
        try DualSlotFile.create("slots", in: scratch.descriptor, slot: slot(1).span)
        let file = try DualSlotFile.open("slots", in: scratch.descriptor, slotSize: size, writable: true)
        let bytes = [UInt8].counting(count)
        #expect(failure { try file.update(bytes.span, current: 0) } == .invalidInput)
        #expect(failure { try file.repair(bytes.span, slot: 0) } == .invalidInput)
        #expect(try scratch.read("slots") == slot(1) + slot(1))
    }

    @Test("Links, folders, existing and read-only files are refused and stay as they are")
    func refusesWhatItMustNotTouch() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("real", slot(1) + slot(1))
        try scratch.link("link", to: "real")
        try scratch.descriptor.makeDirectory("folder")
        for (name, code) in [("link", .refused), ("missing", .absent)] as [(FilePath, CofferError.Code)] {
            let found = failure {
                _ = try DualSlotFile.open(name, in: scratch.descriptor, slotSize: size, writable: true)
            }
            #expect(found == code)
        }
        let folder = failure {
            _ = try DualSlotFile.open("folder", in: scratch.descriptor, slotSize: size, writable: false)
        }
        #expect(folder == .corrupt)
        for name in ["real", "link"] as [FilePath] {
            let code = failure { try DualSlotFile.create(name, in: scratch.descriptor, slot: slot(2).span) }
            #expect(code == .alreadyExists)
        }
        #expect(try scratch.read("real") == slot(1) + slot(1))
        let file = try DualSlotFile.open("real", in: scratch.descriptor, slotSize: size, writable: false)
        #expect(failure { try file.update(slot(2).span, current: 0) } == .inputOutput)
        #expect(try scratch.read("real") == slot(1) + slot(1))
    }

    @Test(
        "Creation on a full disk leaves no file, and an update needs no more space",
        .enabled(if: TinyFileSystem.isAvailable, "needs unshare -Urm"))
    func aFullDiskLeavesNoFile() throws {
        let tiny = try #require(try TinyFileSystem.make())
        let root = try tiny.open()
        let large = [UInt8](repeating: 1, count: 20_000)
        #expect(failure { try DualSlotFile.create("slots", in: root, slot: large.span) } == .noSpace)
        #expect(try root.names().isEmpty)
        // The space is reserved at creation: an update does not need more, however full the disk is.
        try DualSlotFile.create("slots", in: root, slot: slot(1).span)
        let filler = try root.open("filler", [.readWrite, .create])
        _ = failure { try filler.write([UInt8](repeating: 2, count: 20_000).span, at: 0) }
        #expect(failure { try filler.write([2].span, at: 20_000) } == .noSpace)
        let file = try DualSlotFile.open("slots", in: root, slotSize: size, writable: true)
        try file.update(slot(3).span, current: 0)
        #expect(try file.slot(0) == slot(3))
        #expect(try file.slot(1) == slot(3))
    }
}
