import CofferBase
import CofferEngine
import Testing

@testable import CofferBackup

@Suite("TarHeader")
struct TarHeaderTests {
    @Test("a header that was written is read, and a change of any byte is refused")
    func strict() throws {
        let header = TarHeader("files/x/content", size: 12345, modified: 1_700_000_000)
        let block = header.encoded
        #expect(try TarHeader(block) == header)
        for index in block.indices {
            for bit in [UInt8(1), 0x80] {
                var damaged = block
                damaged[index] ^= bit
                // A digit of the size or the time with another checksum is another header, not a damaged one.
                #expect(throws: CofferError.self, "byte \(index)") { try TarHeader(damaged) }
            }
        }
    }

    @Test("links, devices, directories, sparse files and other types are refused")
    func types() throws {
        for type in UInt8.min...UInt8.max where type != 0x30 && type != 0x78 {
            var block = TarHeader("manifest.json", size: 0, modified: 0).encoded
            block[156] = type
            Self.fixChecksum(&block)
            #expect(throws: CofferError.self, "type \(type)") { try TarHeader(block) }
        }
    }

    @Test("names, owners, modes and links other than Coffer's are refused, also with a right checksum")
    func fields() throws {
        for offset in [100, 108, 116, 157, 265, 297, 329, 337, 345, 400, 499, 500, 511] {
            var block = TarHeader("manifest.json", size: 0, modified: 0).encoded
            block[offset] = block[offset] == 0x31 ? 0x32 : 0x31
            Self.fixChecksum(&block)
            #expect(throws: CofferError.self, "offset \(offset)") { try TarHeader(block) }
        }
    }

    @Test("the size of a large file is in a pax record, which says exactly that")
    func paxRecord() throws {
        for size in [Int64(1) << 33, 9_999_999_999, 10_000_000_000, 1 << 60] {
            let record = TarHeader.sizeRecord(size)
            let text = String(decoding: record, as: UTF8.self)
            #expect(text == "\(record.count) size=\(size)\n")
            #expect(try TarHeader.size(inRecord: record) == size)
        }
        for text in [
            "", "9 size=1\n", "20 size=9999999999\n", "21 path=../../../etc\n", "19 size=-9999999999\n",
        ] {
            #expect(throws: CofferError.self, "\(text)") {
                try TarHeader.size(inRecord: Array(text.utf8))
            }
        }
    }

    /// Puts the right checksum into a changed header.
    static func fixChecksum(_ block: inout [UInt8]) {
        for index in 148..<156 { block[index] = 0x20 }
        let sum = block.reduce(0) { $0 + Int($1) }
        let text = String(sum, radix: 8)
        let digits = String(repeating: "0", count: 6 - text.count) + text
        for (index, byte) in digits.utf8.enumerated() { block[148 + index] = byte }
        block[154] = 0
    }
}
