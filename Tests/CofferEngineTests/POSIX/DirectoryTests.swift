import CofferBase
import CofferEngine
import SystemPackage
import Testing
import TestSupport

@Suite("Directories")
struct DirectoryTests {
    @Test("A listing has every name, and so has a second one")
    func listsEveryName() throws {
        let scratch = try ScratchDirectory.make()
        #expect(try scratch.names().isEmpty)
        let names = (0..<300).map { "file-\($0)" }.sorted()
        for name in names { try scratch.write(FilePath(name), []) }
        #expect(try scratch.names() == names)
        #expect(try scratch.names() == names, "a second listing starts at the beginning")
        try scratch.write("plain", [])
        let file = try scratch.descriptor.open("plain", .read)
        #expect(failure { _ = try file.names() } == .refused)
    }

    @Test("A rename replaces its target only where it may")
    func renames() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("a", [1])
        try scratch.write("b", [2])
        #expect(failure { try scratch.descriptor.renameWithoutReplacing("a", to: "b") } == .alreadyExists)
        #expect(try scratch.read("b") == [2])
        try scratch.descriptor.rename("a", to: "b")
        #expect(try scratch.read("b") == [1])
        try scratch.descriptor.renameWithoutReplacing("b", to: "c")
        #expect(try scratch.names() == ["c"])
        #expect(failure { try scratch.descriptor.rename("missing", to: "d") } == .absent)
    }

    /// To write a hole could fill the disk.
    @Test("Overwriting leaves holes as they are, and every byte reads as zero")
    func overwritesWithoutHoles() throws {
        let scratch = try ScratchDirectory.make()
        let file = try scratch.descriptor.open("sparse", [.readWrite, .create])
        let places: [Int64] = [0, 5 << 20, (64 << 20) + 1234]
        for place in places { try file.write([UInt8].counting(100, from: 1).span, at: place) }
        try file.truncate(to: 1 << 30)
        func blocks() throws -> Int {
            let run = try CommandRun.run("stat", ["-c", "%b", scratch.path(of: "sparse")])
            return try #require(Int(run.text.trimmingPrefix(" ").prefix { $0.isNumber }))
        }
        let before = try blocks()
        try scratch.descriptor.overwrite("sparse")
        #expect(try blocks() == before)
        for place in places {
            var bytes = [UInt8](repeating: 1, count: 100)
            var span = bytes.mutableSpan
            #expect(try file.read(at: place, into: &span) == 100)
            #expect(bytes.allSatisfy { $0 == 0 })
        }
    }

    @Test("Removal tells files from directories and reports what was absent")
    func removesWhatIsThere() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("file", [1])
        try scratch.descriptor.makeDirectory("folder")
        #expect(failure { try scratch.descriptor.makeDirectory("folder") } == .alreadyExists)
        #expect(failure { try scratch.descriptor.remove("folder") } == .refused)
        #expect(try scratch.descriptor.remove("file"))
        #expect(try !scratch.descriptor.remove("file"))
        #expect(try scratch.descriptor.removeDirectory("folder"))
        #expect(try !scratch.descriptor.removeDirectory("folder"))
        #expect(try scratch.descriptor.status(of: "file") == nil)
    }

    @Test("Removing a tree follows no link out of it", arguments: [false, true])
    func removesTreesWithoutFollowingLinks(overwriting: Bool) throws {
        let scratch = try ScratchDirectory.make()
        try scratch.descriptor.makeDirectory("kept")
        try scratch.descriptor.makeDirectory("tree")
        let kept = try scratch.descriptor.open("kept", [.read, .directory])
        let tree = try scratch.descriptor.open("tree", [.read, .directory])
        try kept.replace("file", with: [1, 2, 3].span)
        try tree.makeDirectory("inner")
        let inner = try tree.open("inner", [.read, .directory])
        try inner.replace("file", with: [4].span)
        try scratch.link("tree/folder-link", to: "../kept")
        try scratch.link("tree/inner/file-link", to: "../../kept/file")
        #expect(failure { try scratch.descriptor.removeDirectory("tree") } == .alreadyExists)
        try scratch.descriptor.removeTree("tree", overwriting: overwriting)
        #expect(try scratch.names() == ["kept"])
        #expect(try kept.open("file", .read).readAll(limit: 3) == [1, 2, 3])
        try scratch.descriptor.removeTree("tree")
    }

    @Test("Overwriting fills the same file with zeros in place", arguments: [0, 1, 65_536, 65_537, 200_000])
    func overwritesInPlace(size: Int) throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("file", [UInt8](repeating: 0xff, count: size))
        let before = try scratch.descriptor.status(of: "file")
        try scratch.descriptor.overwrite("file")
        let after = try scratch.descriptor.status(of: "file")
        #expect(try scratch.read("file") == [UInt8](repeating: 0, count: size))
        #expect(before?.inode == after?.inode)
    }
}

@Suite("Atomic replacement")
struct AtomicReplaceTests {
    @Test("Replacement creates a file or exchanges its content, and leaves no other file")
    func createsAndReplaces() throws {
        let scratch = try ScratchDirectory.make()
        for bytes in [[1, 2, 3], [], [UInt8](repeating: 7, count: 100_000)] {
            try scratch.descriptor.replace("file", with: bytes.span)
            #expect(try scratch.read("file") == bytes)
            #expect(try scratch.descriptor.status(of: "file")?.permissions == 0o600)
            #expect(try scratch.names() == ["file"])
        }
    }

    @Test("Replacing a link leaves its target unchanged")
    func replacesLinksThemselves() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("target", [1])
        try scratch.link("link", to: "target")
        try scratch.descriptor.replace("link", with: [2].span)
        #expect(try scratch.read("target") == [1])
        #expect(try scratch.read("link") == [2])
    }

    @Test("A failed replacement leaves no temporary file")
    func aFailedRenameLeavesNothingBehind() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.descriptor.makeDirectory("folder")
        #expect(failure { try scratch.descriptor.replace("folder", with: [1].span) } == .refused)
        #expect(failure { try scratch.descriptor.replace("no/folder", with: [1].span) } == .absent)
        #expect(try scratch.names() == ["folder"])
    }

    @Test(
        "A full disk leaves the old content, and a smaller one still fits",
        .enabled(if: TinyFileSystem.isAvailable, "needs unshare -Urm"))
    func aFullDiskLeavesTheOldBytes() throws {
        let tiny = try #require(try TinyFileSystem.make())
        let root = try tiny.open()
        let old = [UInt8](repeating: 1, count: 6000)
        try root.replace("file", with: old.span)
        let new = [UInt8](repeating: 2, count: 60_000)
        #expect(failure { try root.replace("file", with: new.span) } == .noSpace)
        #expect(try root.names() == ["file"])
        #expect(try root.open("file", .read).readAll(limit: 6000) == old)
        try root.replace("file", with: [3].span)
        #expect(try root.open("file", .read).readAll(limit: 1) == [3])
    }

    @Test("Temporary files left by a crash are removed, and similar names stay")
    func whatACrashLeftIsRemoved() throws {
        let scratch = try ScratchDirectory.make()
        let (first, second) = (try Descriptor.temporaryName(), try Descriptor.temporaryName())
        #expect(first != second)
        try scratch.write(first, [1])
        try scratch.write("kept", [2])
        try scratch.write("kept.tmp-1", [3])
        try scratch.descriptor.removeTemporaries()
        #expect(try scratch.names() == ["kept", "kept.tmp-1"])
    }
}
