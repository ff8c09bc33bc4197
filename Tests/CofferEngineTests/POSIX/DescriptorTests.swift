import CofferBase
import CofferEngine
import Foundation
import Glibc
import SystemPackage
import Testing
import TestSupport

@Suite("File descriptors")
struct DescriptorTests {
    @Test("Each fault of a path has its own error code")
    func namesWhatIsWrongWithAPath() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("file", [1])
        try scratch.descriptor.makeDirectory("folder")
        let cases: [(FilePath, Descriptor.Mode, CofferError.Code)] = [
            ("folder", .readWrite, .refused), ("missing", .read, .absent),
            ("file", .exclusive, .alreadyExists), ("file", [.read, .directory], .refused),
            ("file/below", .read, .refused),
        ]
        for (name, mode, code) in cases {
            #expect(failure { _ = try scratch.descriptor.open(name, mode) } == code, "\(name)")
            #expect(failure { _ = try Descriptor.open(scratch.path.pushing(name), mode) } == code, "\(name)")
        }
    }

    @Test("A name relative to a directory is not opened through a link; an absolute path is")
    func refusesSymbolicLinks() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("file", [1, 2])
        try scratch.link("link", to: "file")
        try scratch.link("dangling", to: "nowhere")
        for mode: Descriptor.Mode in [.read, .readWrite, [.readWrite, .create]] {
            #expect(failure { _ = try scratch.descriptor.open("link", mode) } == .refused)
            #expect(failure { _ = try scratch.descriptor.open("dangling", mode) } == .refused)
        }
        #expect(failure { _ = try scratch.descriptor.open("dangling", .exclusive) } == .alreadyExists)
        #expect(try scratch.names() == ["dangling", "file", "link"])
        let file = try Descriptor.open(FilePath(scratch.path(of: "link")), .read)
        #expect(try file.readAll(limit: 2) == [1, 2])
    }

    @Test("New files and directories are accessible to their owner alone")
    func newFilesAreTheirOwnersOnly() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("file", [])
        try scratch.descriptor.makeDirectory("folder")
        #expect(try scratch.descriptor.status(of: "file")?.permissions == 0o600)
        #expect(try scratch.descriptor.status(of: "folder")?.permissions == 0o700)
        #expect(try scratch.descriptor.status(of: "folder")?.isOwn == true)
    }

    @Test("A file is read, written, cut and reserved at any offset")
    func readsAndWritesAtAnyPlace() throws {
        let scratch = try ScratchDirectory.make()
        let file = try scratch.descriptor.open("file", [.readWrite, .create])
        try file.write([1, 2, 3].span, at: 5)
        #expect(try file.readAll(limit: 8) == [0, 0, 0, 0, 0, 1, 2, 3])
        var buffer = [UInt8](repeating: 9, count: 4)
        var span = buffer.mutableSpan
        #expect(try file.read(at: 6, into: &span) == 2)
        #expect(buffer == [2, 3, 9, 9])
        var past = buffer.mutableSpan
        #expect(try file.read(at: 100, into: &past) == 0)
        try file.truncate(to: 2)
        #expect(try file.status().size == 2)
        try file.reserve(4096)
        #expect(try file.status().size == 4096)
        #expect(failure { _ = try file.readAll(limit: 4095) } == .corrupt)
    }

    @Test("Offsets beyond 2^31 and 2^32 do not wrap", arguments: [1 << 31, (1 << 32) + 5] as [Int64])
    func offsetsAreWide(offset: Int64) throws {
        let scratch = try ScratchDirectory.make()
        let file = try scratch.descriptor.open("sparse", [.readWrite, .create])
        try file.write([7].span, at: offset)
        #expect(try file.status().size == offset + 1)
        var buffer: [UInt8] = [0]
        var span = buffer.mutableSpan
        #expect(try file.read(at: offset, into: &span) == 1)
        #expect(buffer == [7])
        #expect(failure { _ = try file.readAll(limit: 1 << 20) } == .corrupt)
    }

    @Test("A write to a full device fails with noSpace")
    func saysWhenTheDeviceIsFull() throws {
        let full = try Descriptor.open("/dev/full", .readWrite)
        #expect(failure { try full.write([1].span, at: 0) } == .noSpace)
        #expect(failure { try full.append([1].span) } == .noSpace)
    }

    @Test("A file open for reading cannot be written")
    func whatIsNotOpenForWritingIsNotWritten() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("file", [1])
        let file = try scratch.descriptor.open("file", .read)
        #expect(failure { try file.write([2].span, at: 0) } == .inputOutput)
        #expect(try scratch.read("file") == [1])
    }

    @Test("A duplicate outlives its original")
    func aDuplicateOutlivesItsOriginal() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("file", [1, 2])
        let copy = try duplicate(of: "file", in: scratch)
        #expect(try copy.readAll(limit: 2) == [1, 2])
    }

    private func duplicate(of name: FilePath, in scratch: borrowing ScratchDirectory) throws -> Descriptor {
        let file = try scratch.descriptor.open(name, .read)
        let copy = try file.duplicate()
        try file.close()
        return copy
    }

    @Test("Only a number that is open can be adopted as a descriptor")
    func adoptsOnlyWhatIsOpen() throws {
        #expect(failure { _ = try Descriptor.adopting(-1) } == .invalidInput)
        #expect(failure { _ = try Descriptor.adopting(1 << 20) } == .invalidInput)
        let pipe = Pipe()
        let output = try Descriptor.adopting(dup(pipe.fileHandleForWriting.fileDescriptor))
        let input = try Descriptor.adopting(dup(pipe.fileHandleForReading.fileDescriptor))
        try output.append([1, 2, 3].span)
        var buffer = [UInt8](repeating: 0, count: 8)
        var span = buffer.mutableSpan
        #expect(try input.readSome(into: &span) == 3)
        let isTerminal = input.isTerminal
        #expect(!isTerminal)
    }

    /// Root passes every permission check, so this runs as the user `nobody` if possible, in a separate
    /// process.
    @Test("Every change in a read-only directory fails with permissionDenied")
    func aReadOnlyDirectoryIsPermissionDenied() async {
        await #expect(processExitsWith: .success) {
            let scratch = try ScratchDirectory.make()
            try scratch.write("file", [1])
            try scratch.descriptor.setPermissions(0o555)
            let wasRoot = geteuid() == 0
            if wasRoot { try #require(setegid(65534) == 0 && seteuid(65534) == 0) }
            defer {
                if wasRoot { _ = seteuid(0) }
                try? scratch.descriptor.setPermissions(0o700)
            }
            #expect(failure { _ = try scratch.descriptor.open("new", .exclusive) } == .permissionDenied)
            #expect(failure { try scratch.descriptor.replace("file", with: [2].span) } == .permissionDenied)
            #expect(failure { try scratch.descriptor.remove("file") } == .permissionDenied)
            #expect(failure { try scratch.descriptor.makeDirectory("new") } == .permissionDenied)
            #expect(try scratch.names() == ["file"])
        }
    }

    @Test(
        "A system error keeps its number and path and has a code of its own",
        arguments: zip(
            [
                ENOENT, EEXIST, ENOTEMPTY, ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM, ELOOP, EISDIR, ENOMEM,
                EIO,
            ],
            [
                .absent, .alreadyExists, .alreadyExists, .noSpace, .noSpace, .noSpace, .readOnly,
                .permissionDenied,
                .permissionDenied, .refused, .refused, .outOfMemory, .inputOutput,
            ] as [CofferError.Code]))
    func errorsKeepTheirNumber(number: Int32, code: CofferError.Code) {
        let error = CofferEngine.Errno.failure("open", "/some/file", errno: number)
        #expect(error.code == code)
        #expect(error.systemError == number)
        #expect(error.message.contains("/some/file"))
    }
}
