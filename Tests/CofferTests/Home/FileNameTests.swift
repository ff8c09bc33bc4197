@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// Names of files as the kernel keeps them, and what our checks of names make of them.
@Suite("Names of files, byte for byte")
struct FileNameTests {
    /// 4000 names here, each of which is a file; as many as COFFER_NAMES says by hand.
    private static let count =
        ProcessInfo.processInfo.environment["COFFER_NAMES"].flatMap { Int($0) } ?? 4000

    private static let pieces: [[UInt8]] =
        [
            ".tmp-", ".tmp", "damaged-", "0000000000000007-1", "0123456789abcdef", "-1", "-", ".", "..", "a",
            ".order", ".db", "user", "\u{301}", "\u{338}", "e\u{301}", "é", "\u{212a}", "K", "\u{200d}", "\n",
            " ", "\\", "%2f", "00000000-0000-4000-8000-00000000000a", ".new-",
        ].map { Array($0.utf8) } + [[0xff], [0xcc], [0x81], [0xc0, 0xaf], [0xed, 0xa0, 0x80]]

    private static func names() -> Set<[UInt8]> {
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
        let wanted = Self.names()
        for name in wanted {
            let component = try #require(FileNameBytes.component(name))
            _ = try scratch.descriptor.open(
                FilePath(root: nil, [component]), [.readWrite, .create, .exclusive])
        }
        let found = try scratch.descriptor.names()
        #expect(found.count == wanted.count && Set(found.map { FileNameBytes.of($0) }) == wanted)
        let temporaries = try scratch.descriptor.temporaries()
        #expect(
            Set(temporaries.map { FileNameBytes.of($0) })
                == wanted.filter { $0.starts(with: Array(".tmp-".utf8)) })
        #expect(!temporaries.isEmpty)
        let orders = found.filter { $0.string.utf8.hasSuffix(".order") }
        #expect(
            Set(orders.map { FileNameBytes.of($0) })
                == wanted.filter { $0.reversed().starts(with: Array(".order".utf8).reversed()) })
        #expect(!orders.isEmpty)
        for name in found {
            // A name of ours is written back as the same bytes, or it is none of ours.
            if let id = FileID(fileName: name) {
                #expect(FileNameBytes.of(id.fileName) == FileNameBytes.of(name))
            }
            if let entry = TokenInbox.Entry(name) {
                #expect(FileNameBytes.of(name).allSatisfy { $0 < 0x80 }, "\(name)")
                #expect(entry.isDamaged == FileNameBytes.of(name).starts(with: Array("damaged-".utf8)))
            }
        }
    }
}
