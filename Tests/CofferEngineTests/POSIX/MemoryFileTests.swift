import CofferBase
import CofferEngine
import SystemPackage
import TestSupport
import Testing

@Suite("Files in memory")
struct MemoryFileTests {
    private func code(_ body: () throws(CofferError) -> Void) -> CofferError.Code? {
        do throws(CofferError) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test("A sealed file cannot be written, resized or sealed again, but can be read")
    func aSealedFileCannotBeChanged() throws {
        let bytes = Array("sealed content".utf8)
        let file = try Descriptor.sealableMemory()
        try file.write(bytes.span, at: 0)
        try file.seal()
        let codes = [
            code { () throws(CofferError) in try file.write(bytes.span, at: 0) },
            code { () throws(CofferError) in try file.truncate(to: 3) },
            code { () throws(CofferError) in try file.truncate(to: 300) },
            code { () throws(CofferError) in try file.seal() },
        ]
        #expect(codes.allSatisfy { $0 == .permissionDenied })
        let reader = try file.reopenedForReading()
        #expect(try reader.readAll(limit: 100) == bytes)
    }

    @Test("A replaced descriptor keeps its number and refers to an empty file")
    func aReplacedNumberRefersToAnEmptyFile() throws {
        let bytes = Array("sealed content".utf8)
        let file = try Descriptor.inMemory(bytes.span)
        let other = try file.reopenedForReading()
        let number = file.number
        file.replaceWithEmptyFile()
        #expect(file.number == number)
        var buffer = [UInt8](repeating: 0, count: 4)
        var span = buffer.mutableSpan
        #expect(try file.read(at: 0, into: &span) == 0)
        #expect(try other.readAll(limit: 100) == bytes)
    }

    @Test(
        "Only swap on an unencrypted disk counts as readable",
        arguments: [
            ("Filename Type Size Used Priority", false),
            ("Filename Type Size Used Priority\n/dev/zram0 partition 100 0 -2", false),
            ("Filename Type Size Used Priority\n/dev/dm-1 partition 100 0 -2", false),
            ("Filename Type Size Used Priority\n/dev/dm-2 partition 100 0 -2", true),
            ("Filename Type Size Used Priority\n/dev/zram0 partition 1 0 5\n/swapfile file 100 0 -2", true),
        ])
    func swapThatCanBeReadIsFound(table: String, isReadable: Bool) {
        #expect(FileSystemInfo.readableSwap(table) { $0 == "dm-1" } == isReadable)
    }

    @Test("Available memory is read from the kernel's table, and a malformed table has none")
    func freeMemoryIsRead() {
        let table = "MemTotal:       24684416 kB\nMemFree:         1 kB\nMemAvailable:   22000000 kB"
        let expected: Int64 = 22_528_000_000
        #expect(FileSystemInfo.availableMemory(in: table) == expected)
        for wrong in ["", "MemAvailable: x kB", "MemAvailable: 5", "MemAvailable: 9223372036854775807 kB"] {
            #expect(FileSystemInfo.availableMemory(in: wrong) == nil)
        }
        #expect(FileSystemInfo.availableMemory() != 0)
    }
}
