@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// Names of files as the kernel keeps them, and what our checks of names make of them.
@Suite("Names of files, byte for byte")
struct FileNameTests {
    /// 4000 names here; as many as COFFER_NAMES says by hand. A million take a release build: in others the
    /// path library examines each byte in unoptimised code.
    private static let count =
        ProcessInfo.processInfo.environment["COFFER_NAMES"].flatMap { Int($0) } ?? 4000
    /// So many are in the directory at once: a file of a file system may have no more names.
    private static let batch = 20_000

    private static let pieces: [[UInt8]] =
        [
            ".tmp-", ".tmp", "damaged-", "0000000000000007-1", "0123456789abcdef", "-1", "-", ".", "..", "a",
            ".order", ".db", "user", "\u{301}", "\u{338}", "e\u{301}", "é", "\u{212a}", "K", "\u{200d}", "\n",
            " ", "\\", "%2f", "00000000-0000-4000-8000-00000000000a", ".new-",
        ].map { Array($0.utf8) } + [[0xff], [0xcc], [0x81], [0xc0, 0xaf], [0xed, 0xa0, 0x80]]

    private static func names(_ count: Int) -> Set<[UInt8]> {
        var names: Set<[UInt8]> = []
        var random = SystemRandomNumberGenerator()
        while names.count < count {
            var name: [UInt8] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                name += pieces[Int.random(in: 0..<pieces.count, using: &random)]
                if Bool.random(using: &random) { name.append(.random(in: 1...255, using: &random)) }
            }
            name.removeAll { $0 == UInt8(ascii: "/") }
            guard (1...255).contains(name.count), ![[0x2e], [0x2e, 0x2e]].contains(name) else { continue }
            names.insert(name)
        }
        return names
    }

    @Test("The kernel keeps every name apart, and each check sees the bytes that it keeps")
    func againstTheKernel() throws {
        let scratch = try ScratchDirectory.make()
        let aside = try ScratchDirectory.make()
        let file = try aside.descriptor.open("file", [.readWrite, .create])
        var left = Self.count
        while left > 0 {
            let wanted = Self.names(min(left, Self.batch))
            left -= wanted.count
            try checkAtOnce(wanted, of: file, in: scratch.descriptor)
        }
        #expect(try scratch.names().isEmpty)
    }

    /// Gives one file all of the names: the kernel takes longer to make a file for each.
    private func checkAtOnce(
        _ wanted: Set<[UInt8]>, of file: borrowing Descriptor, in directory: borrowing Descriptor
    ) throws {
        for name in wanted {
            guard let component = FileNameBytes.component(name) else { throw NoName(bytes: name) }
            try directory.link(file, as: FilePath(root: nil, [component]))
        }
        let found = try directory.names()
        let kept = found.map { FileNameBytes.of($0) }
        let isKept = kept.count == wanted.count && Set(kept) == wanted
        #expect(isKept)
        try checkSorts(found, kept, temporaries: directory.temporaries())
        for (name, bytes) in zip(found, kept) {
            try checkOwn(name, bytes)
            try directory.remove(name)
        }
    }

    private struct NoName: Error { let bytes: [UInt8] }

    private func checkSorts(_ found: [FilePath], _ kept: [[UInt8]], temporaries: [FilePath]) throws {
        let (start, end) = (Array(".tmp-".utf8), Array(".order".utf8))
        let areTemporary =
            Set(temporaries.map { FileNameBytes.of($0) }) == Set(kept.filter { $0.starts(with: start) })
        #expect(areTemporary && !temporaries.isEmpty)
        let orders = found.filter { $0.string.utf8.hasSuffix(".order") }.map { FileNameBytes.of($0) }
        let areOrders = Set(orders) == Set(kept.filter { $0.suffix(end.count).elementsEqual(end) })
        #expect(areOrders && !orders.isEmpty)
    }

    /// A name of ours is written back as the same bytes, or it is none of ours.
    private func checkOwn(_ name: FilePath, _ bytes: [UInt8]) throws {
        if let id = FileID(fileName: name) { #expect(FileNameBytes.of(id.fileName) == bytes) }
        guard let entry = PendingTokenQueue.Entry(name) else { return }
        #expect(bytes.allSatisfy { $0 < 0x80 }, "\(bytes)")
        #expect((entry.state == .damaged) == bytes.starts(with: Array("damaged-".utf8)))
    }
}
