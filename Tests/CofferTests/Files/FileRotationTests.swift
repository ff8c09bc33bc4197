@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import Synchronization
import SystemPackage
import Testing
import TestSupport

/// Rotations of many files, whose headers are written in batches.
@Suite("Key rotation of many files")
struct FileRotationTests {
    private final class Progress: Sendable {
        private let seen = Mutex<[BatchProgress]>([])

        var all: [BatchProgress] { seen.withLock { $0 } }

        func append(_ progress: BatchProgress) { seen.withLock { $0.append(progress) } }
    }

    private func add(_ session: Vault, _ name: String) async throws -> FileID {
        let component = try #require(FilePath.Component(name))
        return try await session.files.add(Array(name.utf8), name: component)
    }

    private func read(_ session: Vault, _ id: FileID) async throws -> String {
        try await session.files.withDecryptedBytes(of: id) { String(decoding: $0.copied(), as: UTF8.self) }
    }

    private func container(_ id: FileID) -> String { "files/\(id).coffer" }

    @Test("Every file of several batches has the new header in both slots, and no earlier copy opens")
    func severalBatches() async throws {
        let home = try TestHome()
        let session = try await home.create()
        var ids: [FileID] = []
        for number in 0..<150 { ids.append(try await add(session, "file-\(number)")) }
        let before = try ids.map { try home.read(container($0)) }
        let seen = Progress()
        let report = try await session.files.rotateKeys { seen.append($0) }
        #expect(report.rewrapped == 150 && report.destroyedKeys == 2 && report.unreadable.isEmpty)
        let completed = seen.all.map(\.completed)
        #expect(completed == completed.sorted() && completed.last == 150 && completed.count > 1)
        #expect(seen.all.allSatisfy { $0.total == 150 })
        let reopened = try await home.unlocked()
        for (number, id) in ids.enumerated() {
            let now = try home.read(container(id))
            #expect(now[..<2048] == now[2048..<4096] && now[..<4096] != before[number][..<4096])
            #expect(now[4096...] == before[number][4096...])
            #expect(try await read(reopened, id) == "file-\(number)")
            try home.write(container(id), before[number])
            #expect(await refusal { _ = try await read(reopened, id) }?.code == .foreign)
        }
    }

    /// The headers that an interruption at each step of a batch leaves, and where a write was torn.
    @Test("A rotation completes every header that an interrupted one has left")
    func interrupted() async throws {
        let home = try TestHome()
        let session = try await home.create()
        var ids: [FileID] = []
        for number in 0..<6 { ids.append(try await add(session, "file-\(number)")) }
        let bad = try await add(session, "bad")
        let whole = try home.read(container(bad))
        // Keeps the old keys, and with them the rotation in progress.
        try home.write(container(bad), [UInt8](repeating: 1, count: whole.count))
        let old = try ids.map { try home.read(container($0)) }
        let report = try await session.files.rotateKeys()
        #expect(report.rewrapped == 6 && report.unreadable == [bad] && report.destroyedKeys == 0)
        for (number, id) in ids.enumerated() {
            let (former, new) = (old[number], try home.read(container(id)))
            let (one, other) = (Array(former[..<2048]), Array(new[..<2048]))
            let torn = Array(other[..<700] + one[700...])
            let states = [
                [one, one], [one, torn], [one, other], [torn, other], [other, other], [other, torn],
            ]
            try home.write(container(id), Array(states[number].joined()) + former[4096...])
        }
        try home.write(container(bad), whole)
        let next = try await session.files.rotateKeys()
        // The header that was there in both slots stays.
        #expect(next.rewrapped == 6 && next.unreadable.isEmpty && next.destroyedKeys == 2)
        let reopened = try await home.unlocked()
        for (number, id) in ids.enumerated() {
            let now = try home.read(container(id))
            #expect(now[..<2048] == now[2048..<4096])
            #expect(try await read(reopened, id) == "file-\(number)")
        }
        #expect(try await read(reopened, bad) == "bad")
        #expect(try await reopened.files.verifyAll().isClean)
    }

    @Test("A file that cannot be opened stops the rotation after the files before it, and destroys no key")
    func stopped() async throws {
        let home = try TestHome()
        let session = try await home.create()
        var ids: [FileID] = []
        for number in 0..<5 { ids.append(try await add(session, "file-\(number)")) }
        let before = try ids.map { try home.read(container($0)) }
        // Its name is the last one.
        let path = home.path("files/ffffffff-ffff-4fff-bfff-ffffffffffff.coffer")
        try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: false)
        for _ in 0..<2 {
            let error = await refusal { _ = try await session.files.rotateKeys() }
            #expect(error?.code == .corrupt && error?.message.contains("not a regular file") == true)
        }
        let now = try ids.map { try home.read(container($0)) }
        for (one, other) in zip(before, now) { #expect(one[..<4096] != other[..<4096]) }
        for (number, id) in ids.enumerated() {
            #expect(try await read(session, id) == "file-\(number)")
            // The old keys are still there.
            try home.write(container(id), before[number])
            #expect(try await read(session, id) == "file-\(number)")
            try home.write(container(id), now[number])
        }
        try FileManager.default.removeItem(atPath: path.string)
        let report = try await session.files.rotateKeys()
        #expect(report.rewrapped == 0 && report.destroyedKeys == 2)
        for (number, id) in ids.enumerated() {
            #expect(try await read(session, id) == "file-\(number)")
            try home.write(container(id), before[number])
            #expect(await refusal { _ = try await read(session, id) }?.code == .foreign)
        }
    }
}
