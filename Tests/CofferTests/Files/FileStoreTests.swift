@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("The store of files")
struct FileStoreTests {
    private func add(
        _ bytes: [UInt8], as name: String = "file.txt", to session: Vault, _ home: TestHome,
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws -> FileID {
        try home.scratch.write(FilePath(name), bytes)
        return try await session.files.add(
            contentsOf: home.scratch.path.appending(name), class: protection)
    }

    private func read(_ session: Vault, _ id: FileID, _ range: Range<Int64>? = nil) async throws -> [UInt8] {
        try await session.files.withDecryptedBytes(of: id, range: range) { $0.copied() }
    }

    private func left(_ home: TestHome) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: home.path("files").string)
    }

    @Test("Contents of many sizes round-trip through the store")
    func sizesRoundTripThroughTheStore() async throws {
        let home = try TestHome()
        let session = try await home.create()
        for count in [0, 1, 65535, 65536, 65537, 196_608, 2_500_000] {
            let plaintext = ContainerFixture.plaintext(count)
            let id = try await add(plaintext, to: session, home)
            let other = try await home.unlocked()
            #expect(try await read(other, id) == plaintext)
            let chunks = CollectedEvents()
            try await other.files.readChunks(of: id) { (bytes) throws(CofferError) in
                chunks.append(bytes.copied())
            }
            #expect(chunks.bytes == plaintext)
            let target = home.scratch.path.appending("out-\(count)")
            try await other.files.export(id, to: target)
            #expect(try home.scratch.read(FilePath("out-\(count)")) == plaintext)
            try await other.files.verify(id)
            #expect(try await other.files.info(for: id).length == Int64(count))
        }
        #expect(try await session.files.count() == 7)
    }

    @Test("Ranges at every chunk border read the right bytes")
    func rangesAtEveryChunkBorder() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let plaintext = ContainerFixture.plaintext(3 * 65536 + 100)
        let id = try await add(plaintext, to: session, home)
        let borders: [Int64] = [0, 1, 65535, 65536, 65537, 131_072, 196_607, 196_608, 196_707, 196_708]
        for lower in borders {
            for upper in borders where upper >= lower {
                let expected = Array(plaintext[Int(lower)..<Int(upper)])
                #expect(try await read(session, id, lower..<upper) == expected, "\(lower)..<\(upper)")
                let chunks = CollectedEvents()
                try await session.files.readChunks(of: id, range: lower..<upper) {
                    (bytes) throws(CofferError) in
                    chunks.append(bytes.copied())
                }
                #expect(chunks.bytes == expected)
            }
        }
        #expect(try await read(session, id, 196_700..<Int64.max) == Array(plaintext[196_700...]))
        #expect(try await read(session, id, 1 << 40..<1 << 41) == [])
        #expect(await refusal { _ = try await read(session, id, -1..<5) }?.code == .invalidInput)
    }

    @Test("The store keeps name and date, and neither appears on the disk")
    func infoIsKeptAndHidden() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(
            Array("the content of the file".utf8), as: "annual report.pdf", to: session, home)
        let info = try await session.files.info(for: id)
        #expect(info.name.string == "annual report.pdf")
        #expect(info.protection == .whenUnlockedThisDeviceOnly)
        let path = home.scratch.path(of: "annual report.pdf")
        let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        #expect(abs(info.modified.timeIntervalSince(try #require(date))) < 0.001)
        #expect(try await session.files.list() == [info])
        for text in ["annual report", "the content of the file"] {
            #expect(try home.occurrences(of: Array(text.utf8)) == 0)
        }
        #expect(try home.occurrences(of: Array("COFFERF1".utf8)) == 1)
    }

    @Test(
        "File names are kept byte for byte",
        arguments: [
            Array("line\nbreak".utf8), [0xff, 0xfe, 0x80], Array(" leading and trailing ".utf8),
            Array("…".utf8), [UInt8](repeating: 0x61, count: 255), Array("-rf".utf8), [0x01, 0x1b, 0x7f],
        ])
    func namesAreBytes(name: [UInt8]) async throws {
        let home = try TestHome()
        let session = try await home.create()
        let component = try #require(FileNameBytes.component(name))
        let relative = FilePath(root: nil, [component])
        try home.scratch.write(relative, [1, 2, 3])
        let id = try await session.files.add(contentsOf: home.scratch.path.pushing(relative))
        let info = try await home.unlocked().files.info(for: id)
        #expect(FileNameBytes.of(info.name) == name)
        try await session.files.withViewCopy(of: id) { path in
            #expect(path.lastComponent == component)
        }
        _ = try await session.wipe()
    }

    @Test("The store accepts only regular files, and follows links to them", .timeLimit(.minutes(10)))
    func onlyRegularFilesAreTaken() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let directory = home.scratch.path.appending("directory")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: false)
        let pipe = home.scratch.path.appending("pipe")
        #expect(try Helper.run(["mkfifo", pipe.string]).code == 0)
        for path: FilePath in [directory, pipe, "/dev/null"] {
            #expect(
                await refusal { _ = try await session.files.add(contentsOf: path) }?.code == .refused,
                "\(path)")
        }
        #expect(await refusal { _ = try await session.files.add(contentsOf: "/") }?.code == .invalidInput)
        let missing = home.scratch.path.appending("missing")
        #expect(await refusal { _ = try await session.files.add(contentsOf: missing) }?.code == .absent)
        #expect(try left(home).isEmpty)
        // A link is followed, like everywhere; the name is the link's.
        try home.scratch.write("target", [7])
        try home.scratch.link("link", to: "target")
        let id = try await session.files.add(contentsOf: home.scratch.path.appending("link"))
        #expect(try await read(session, id) == [7])
        #expect(try await session.files.info(for: id).name.string == "link")
    }

    @Test("A source that shrinks while it is read is a conflict")
    func aSourceThatShrinksIsAConflict() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let path = home.scratch.path.appending("big")
        try home.scratch.write("big", [UInt8](repeating: 7, count: 8 << 20))
        let error = await refusal {
            _ = try await session.files.add(contentsOf: path) { _ in
                try? Descriptor.open(path, .readWrite).truncate(to: 100)
            }
        }
        #expect(error?.code == .conflict)
        #expect(try left(home).isEmpty)
    }

    @Test("A source that grows while it is read is a conflict")
    func aSourceThatGrowsIsAConflict() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let path = home.scratch.path.appending("small")
        try home.scratch.write("small", [1, 2, 3])
        let error = await refusal {
            _ = try await session.files.add(contentsOf: path) { _ in
                let more: [UInt8] = [4]
                try? Descriptor.open(path, .readWrite).write(more.span, at: 3)
            }
        }
        #expect(error?.code == .conflict)
        #expect(try left(home).isEmpty)
    }

    @Test("A cancelled addition leaves nothing behind")
    func cancellingLeavesNothing() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let path = home.scratch.path.appending("big")
        try home.scratch.write("big", [UInt8](repeating: 7, count: 24 << 20))
        let (started, cancelled) = (Counter(), Counter())
        let task = Task {
            await refusal {
                _ = try await session.files.add(contentsOf: path) { _ in
                    started.increment()
                    cancelled.wait()
                }
            }
        }
        try #require(await eventually { started.value > 0 }, "The addition reports no progress.")
        task.cancel()
        cancelled.increment()
        #expect(await task.value?.code == .cancelled)
        #expect(try left(home).isEmpty)
        #expect(try await session.files.list().isEmpty)
    }

    @Test("The next addition removes the remains of a killed one")
    func whatAKilledWriterLeftGoesWithTheNextAdd() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let name = ".tmp-00112233445566778899aabbccddeeff"
        try Data([1]).write(to: URL(filePath: home.path("files").appending(name).string))
        #expect(try await session.files.list().isEmpty)
        _ = try await add([1], to: session, home)
        #expect(try !left(home).contains(name))
    }

    @Test("An export never replaces an existing file")
    func exportReplacesNothing() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add([1, 2, 3], to: session, home)
        try home.scratch.write("there", [9])
        let path = home.scratch.path.appending("there")
        #expect(await refusal { try await session.files.export(id, to: path) }?.code == .alreadyExists)
        #expect(try home.scratch.read("there") == [9])
        try home.scratch.link("dangling", to: "nowhere")
        let link = home.scratch.path.appending("dangling")
        #expect(await refusal { try await session.files.export(id, to: link) }?.code == .alreadyExists)
        let nowhere = home.scratch.path.appending("no/where")
        #expect(await refusal { try await session.files.export(id, to: nowhere) }?.code == .absent)
        #expect(try !home.scratch.names().contains { $0.hasPrefix(".tmp-") })
        let target = home.scratch.path.appending("new")
        try await session.files.export(id, to: target)
        let mode = try FileManager.default.attributesOfItem(atPath: target.string)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("A damaged file is not exported, but its intact ranges can be read")
    func aDamagedFileIsNotExported() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(ContainerFixture.plaintext(200_000), to: session, home)
        let name = "files/\(id).coffer"
        var bytes = try home.read(name)
        bytes[4096 + 70000] ^= 1
        try home.write(name, bytes)
        let target = home.scratch.path.appending("out")
        #expect(await refusal { try await session.files.export(id, to: target) }?.code == .corrupt)
        #expect(try home.scratch.names().sorted() == ["file.txt", "home"])
        #expect(await refusal { try await session.files.verify(id) }?.code == .corrupt)
        #expect(await refusal { try await session.files.withViewCopy(of: id) { _ in } }?.code == .corrupt)
        // What is not damaged is served.
        #expect(
            try await read(session, id, 0..<100) == Array(ContainerFixture.plaintext(200_000).prefix(100)))
        _ = try await session.wipe()
    }

    @Test("A container under another identifier is refused")
    func aRenamedContainerIsRefused() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add([1, 2, 3], to: session, home)
        let other = try FileID.random()
        try home.write("files/\(other).coffer", home.read("files/\(id).coffer"))
        #expect(await refusal { _ = try await read(session, other) }?.code == .corrupt)
        #expect(try await session.files.list().map(\.id) == [id])
    }

    @Test("A container of another vault is foreign")
    func aContainerOfAnotherVaultIsForeign() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let stranger = try TestHome()
        let id = try await add([1, 2, 3], to: try await stranger.create(), stranger)
        try home.write("files/\(id).coffer", stranger.read("files/\(id).coffer"))
        #expect(await refusal { _ = try await read(session, id) }?.code == .foreign)
    }

    @Test("A lock closes the files of its classes, but they can be removed")
    func classesLock() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let high = try await add([1], to: session, home)
        let low = try await add([2], to: session, home, class: .afterFirstUnlockThisDeviceOnly)
        session.lock()
        #expect(await refusal { _ = try await read(session, high) }?.code == .locked)
        #expect(await refusal { _ = try await session.files.info(for: high) }?.code == .locked)
        #expect(await refusal { try await session.files.withViewCopy(of: high) { _ in } }?.code == .locked)
        #expect(await refusal { _ = try await add([3], to: session, home) }?.code == .locked)
        #expect(try await read(session, low) == [2])
        #expect(try await session.files.count() == 2)
        #expect(try await session.files.remove(high))
        #expect(try await session.files.list().map(\.id) == [low])
    }

    @Test("A removed file is absent, and removing it again has no effect")
    func removingIsOnceAndForAll() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add([1, 2, 3], to: session, home)
        let reader = try session.files.open(id)
        #expect(try await session.files.remove(id))
        #expect(try await !session.files.remove(id))
        #expect(await refusal { _ = try await read(session, id) }?.code == .absent)
        #expect(try left(home).isEmpty)
        // A reader that has it open can still read the chunks: only names and keys are gone.
        #expect(reader.layout.length == 3)
    }

    @Test("The store removes the original on request")
    func theOriginalGoesWhenAskedFor() async throws {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("original", [1, 2, 3])
        let path = home.scratch.path.appending("original")
        let id = try await session.files.add(contentsOf: path, removingOriginal: true)
        #expect(try !home.scratch.names().contains("original"))
        #expect(try await read(session, id) == [1, 2, 3])
    }

    @Test("File identifiers are UUIDs in lower case")
    func fileIdsAreUUIDs() throws {
        #expect(failure { _ = try FileID("x") } == .invalidInput)
        #expect(failure { _ = try FileID("") } == .invalidInput)
        let id = try FileID("00112233-4455-4677-8899-AABBCCDDEEFF")
        #expect(id.description == "00112233-4455-4677-8899-aabbccddeeff")
        #expect(FileID(fileName: id.fileName) == id)
        #expect(FileID(fileName: "00112233-4455-4677-8899-AABBCCDDEEFF.coffer") == nil)
    }
}
