import Coffer
import CofferBase
import Foundation
import SystemPackage
import TestSupport
import Testing

@Suite("Readers of stored files")
struct StoredFileReaderTests {
    private func make(_ plaintext: [UInt8]) async throws -> (TestHome, Vault, FileID) {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        try home.scratch.write("file", plaintext)
        let id = try await session.files.add(contentsOf: home.scratch.path.appending("file"))
        return (home, session, id)
    }

    @Test("Reads at any offset return the bytes that were sealed")
    func readsAtEveryPlaceAreTheBytesThatWereSealed() async throws {
        let plaintext = ContainerFixture.plaintext(3 * 65536 + 77)
        let (home, session, id) = try await make(plaintext)
        let reader = try await session.files.reader(for: id)
        #expect(reader.length == Int64(plaintext.count))
        for start in [0, 1, 4095, 65535, 65536, 131_000, 196_607, 196_608, 196_684] {
            for count in [0, 1, 4096, 65536, 65537, 200_000] {
                let expected = Array(plaintext[start..<min(start + count, plaintext.count)])
                #expect(try reader.read(at: Int64(start), count: count) == expected, "\(start) \(count)")
                var bytes = [UInt8](repeating: 0xee, count: count)
                var span = bytes.mutableSpan
                #expect(try reader.read(at: Int64(start), into: &span) == expected.count)
                #expect(Array(bytes.prefix(expected.count)) == expected)
                #expect(bytes.dropFirst(expected.count).allSatisfy { $0 == 0xee })
            }
        }
        #expect(try reader.read(at: Int64(plaintext.count), count: 10).isEmpty)
        #expect(try reader.read(at: .max, count: .max).isEmpty)
        #expect(failure { _ = try reader.read(at: -1, count: 1) } == .invalidInput)
        #expect(failure { _ = try reader.read(at: 0, count: -1) } == .invalidInput)
        extendLifetime(home)
    }

    @Test("Reads from several threads do not mix")
    func readsFromSeveralThreadsDoNotMix() async throws {
        let plaintext = ContainerFixture.plaintext(6 * 65536)
        let (home, session, id) = try await make(plaintext)
        let reader = try await session.files.reader(for: id)
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<8 {
                group.addTask {
                    (0..<50).allSatisfy { round in
                        let start = (number * 40_009 + round * 7919) % (plaintext.count - 5000)
                        let read = try? reader.read(at: Int64(start), count: 5000)
                        return read == Array(plaintext[start..<start + 5000])
                    }
                }
            }
            for await right in group { #expect(right) }
        }
        extendLifetime(home)
    }

    @Test("A read of damaged bytes fails and zeroes the buffer")
    func damageShowsAndLeavesNothingInTheBuffer() async throws {
        let plaintext = ContainerFixture.plaintext(3 * 65536)
        let (home, session, id) = try await make(plaintext)
        let name = "files/\(id).coffer"
        var bytes = try home.read(name)
        bytes[4096 + 65568 + 100] ^= 1
        try home.write(name, bytes)
        let reader = try await session.files.reader(for: id)
        var buffer = [UInt8](repeating: 0xee, count: 100_000)
        let code = failure {
            var span = buffer.mutableSpan
            _ = try reader.read(at: 0, into: &span)
        }
        #expect(code == .corrupt)
        #expect(buffer.allSatisfy { $0 == 0 })
        #expect(try reader.read(at: 0, count: 100) == Array(plaintext.prefix(100)))
        extendLifetime(home)
    }

    @Test("A lock ends the reader, and so does a wipe")
    func aLockEndsIt() async throws {
        let (home, session, id) = try await make(ContainerFixture.plaintext(100_000))
        let reader = try await session.files.reader(for: id)
        #expect(try reader.read(at: 0, count: 1).count == 1)
        session.lock()
        #expect(failure { _ = try reader.read(at: 0, count: 1) } == .locked)
        #expect(await refusal { for try await _ in reader.chunks {} }?.code == .locked)
        _ = try await session.wipe()
        #expect(failure { _ = try reader.read(at: 0, count: 1) } == .wiped)
        extendLifetime(home)
    }

    @Test("Chunks arrive in order and complete")
    func chunksComeInOrderAndWhole() async throws {
        for count in [0, 1, 1 << 20, 1 << 20 + 1, 2_500_000] {
            let plaintext = ContainerFixture.plaintext(count)
            let (home, session, id) = try await make(plaintext)
            let reader = try await session.files.reader(for: id)
            var whole: [UInt8] = []
            for try await chunk in reader.chunks {
                #expect(!chunk.isEmpty && chunk.count <= 1 << 20)
                whole += chunk
            }
            #expect(whole == plaintext)
            var part: [UInt8] = []
            for try await chunk in try reader.chunks(in: 70_000..<1_300_000) { part += chunk }
            #expect(part == Array(plaintext[min(70_000, count)..<min(1_300_000, count)]))
            #expect(failure { _ = try reader.chunks(in: -5..<5) } == .invalidInput)
            extendLifetime(home)
        }
    }

    @Test("Cancelling the task ends the chunks")
    func cancellingEndsTheChunks() async throws {
        let (home, session, id) = try await make(ContainerFixture.plaintext(4 << 20))
        let reader = try await session.files.reader(for: id)
        let task = Task {
            await refusal {
                for try await _ in reader.chunks { while !Task.isCancelled { await Task.yield() } }
            }
        }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        extendLifetime(home)
    }
}
