@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Content from descriptors and from memory")
struct FileInputTests {
    /// The sizes at which runs and chunks end.
    private static let sizes = [0, 1, 65_535, 65_536, 65_537, 1_048_575, 1_048_576, 1_048_577, 2_500_000]

    private func read(_ session: Vault, _ id: FileID) async throws -> [UInt8] {
        try await session.files.withDecryptedBytes(of: id) { $0.copied() }
    }

    private func left(_ home: TestHome) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: home.path("files").string)
    }

    @Test("Contents of many sizes round-trip through a pipe", arguments: sizes)
    func pipe(size: Int) async throws {
        let home = try TestHome()
        let session = try await home.create()
        let plaintext = ContainerFixture.plaintext(size)
        let ends = try FileDescriptor.pipe(options: .closeOnExec)
        let writer = ends.writeEnd.rawValue
        Thread {
            _ = try? FileDescriptor(rawValue: writer).writeAll(plaintext)
            try? FileDescriptor(rawValue: writer).close()
        }.start()
        let id = try await session.files.add(fromDescriptor: ends.readEnd.rawValue, name: "piped")
        try ends.readEnd.close()
        let other = try await home.unlocked()
        #expect(try await read(other, id) == plaintext)
        let info = try await other.files.info(for: id)
        #expect(info.name == "piped" && info.length == Int64(size))
        try await other.files.verify(id)
        #expect(try await other.files.list() == [info])
    }

    @Test("A file is read from its current position, and stays open")
    func position() async throws {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("source", Array("skipped kept".utf8))
        let source = try FileDescriptor.open(home.scratch.path.appending("source"), .readOnly)
        _ = try source.seek(offset: 8, from: .start)
        let id = try await session.files.add(fromDescriptor: source.rawValue, name: "x", context: [1])
        #expect(try source.seek(offset: 0, from: .current) == 12)
        try source.close()
        let bytes = try await session.files.withDecryptedBytes(of: id, context: [1]) { $0.copied() }
        #expect(bytes == Array("kept".utf8))
    }

    @Test("Bytes, data and spans round-trip, and no plaintext is written", arguments: sizes)
    func memory(size: Int) async throws {
        let home = try TestHome()
        let session = try await home.create()
        let plaintext = ContainerFixture.plaintext(size)
        let date = Date(timeIntervalSince1970: 1_000_000_000)
        let ids = [
            try await session.files.add(plaintext, name: "array", modified: date),
            try await session.files.add(Data(plaintext), name: "data", modified: date),
            try await session.files.add(plaintext.span, name: "span", modified: date),
        ]
        let other = try await home.unlocked()
        for (id, name) in zip(ids, ["array", "data", "span"]) {
            #expect(try await read(other, id) == plaintext)
            let info = try await other.files.info(for: id)
            #expect(info.name.string == name && info.modified == date)
            try await other.files.verify(id)
        }
        #expect(try left(home).count == 3)
        guard size > 1000 else { return }
        let pattern = Data(plaintext[500..<600])
        for name in try left(home) {
            let sealed = FileManager.default.contents(atPath: home.path("files").string + "/" + name)
            #expect(sealed?.range(of: pattern) == nil)
        }
    }

    @Test("Bytes from memory obey the class, the context and the lock")
    func memoryRules() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await session.files.add([1, 2, 3], name: "x", class: .afterFirstUnlock, context: [9])
        #expect(await refusal { _ = try await session.files.info(for: id) }?.code == .corrupt)
        #expect(try await session.files.info(for: id, context: [9]).protection == .afterFirstUnlock)
        session.lock()
        let bytes: [UInt8] = [1]
        #expect(await refusal { _ = try await session.files.add(bytes, name: "y") }?.code == .locked)
        #expect(try left(home).count == 1)
    }

    @Test("A cancelled addition from a silent pipe ends, and leaves nothing behind", .timeLimit(.minutes(10)))
    func cancelled() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let ends = try FileDescriptor.pipe(options: .closeOnExec)
        let reader = ends.readEnd.rawValue
        let task = Task {
            await refusal { _ = try await session.files.add(fromDescriptor: reader, name: "silent") }
        }
        // It has begun when its container has a place.
        while try left(home).isEmpty { await Task.yield() }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        #expect(try left(home).isEmpty)
        try ends.writeEnd.close()
        try ends.readEnd.close()
    }

    @Test("Names, contexts and descriptors that cannot be used are refused before anything is read")
    func refused() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let ends = try FileDescriptor.pipe(options: .closeOnExec)
        let reader = ends.readEnd.rawValue
        let long = try #require(FileNameBytes.component([UInt8](repeating: 0x61, count: 256)))
        for name: FilePath.Component in ["..", ".", long] {
            let error = await refusal { _ = try await session.files.add(fromDescriptor: reader, name: name) }
            #expect(error?.code == .invalidInput, "\(name)")
        }
        let context = [UInt8](repeating: 1, count: 1025)
        #expect(
            await refusal {
                _ = try await session.files.add(fromDescriptor: reader, name: "x", context: context)
            }?.code == .invalidInput)
        try ends.writeEnd.close()
        try ends.readEnd.close()
        let directory = try FileDescriptor.open(home.scratch.path, .readOnly)
        for (number, code) in [
            (1_000_000, CofferError.Code.invalidInput), (directory.rawValue, .refused),
        ] as [(Int32, CofferError.Code)] {
            let error = await refusal {
                _ = try await session.files.add(fromDescriptor: number, name: "x")
            }
            #expect(error?.code == code)
        }
        try directory.close()
        #expect(try left(home).isEmpty)
    }
}
