@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Copies in memory")
struct MemoryCopyTests {
    private let plaintext = ContainerFixture.plaintext(200_000)

    private func home() async throws -> (TestHome, Vault, FileID) {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("letter.txt", plaintext)
        return (
            home, session, try await session.files.add(contentsOf: home.scratch.path.appending("letter.txt"))
        )
    }

    @Test("A memory copy can be read by path and descriptor, and never written")
    func itIsReadByPathAndByDescriptorAndNobodyWrites() async throws {
        let (home, session, id) = try await home()
        let descriptor = try await session.files.withMemoryCopy(of: id) { copy in
            #expect(copy.length == 200_000)
            #expect(copy.path.string == "/proc/self/fd/\(copy.descriptor)")
            let opened = try Descriptor.open(copy.path, .read)
            #expect(try opened.readAll(limit: 1 << 20) == plaintext)
            #expect(try opened.status().permissions == 0o400)
            // Root opens what it may not; the seal holds for root, too.
            let writing = try? Descriptor.open(copy.path, .readWrite)
            switch writing {
            case .some(let writing): #expect((try? writing.truncate(to: 0)) == nil)
            case .none: break
            }
            return copy.descriptor
        }
        // The number was closed or belongs to another file by now: not to this one.
        let bytes = try? Data(contentsOf: URL(filePath: "/proc/self/fd/\(descriptor)"))
        #expect(bytes.map { [UInt8]($0) } != plaintext)
        extendLifetime(home)
    }

    @Test("A lock revokes the memory copy, but an open reader keeps its content")
    func aLockTakesItBackAndAReaderKeepsIt() async throws {
        let (home, session, id) = try await home()
        try await session.files.withMemoryCopy(of: id) { copy in
            let opened = try Descriptor.open(copy.path, .read)
            session.lock()
            #expect(try Data(contentsOf: URL(filePath: copy.path.string)).isEmpty)
            #expect(try opened.readAll(limit: 1 << 20) == plaintext)
        }
        #expect(await refusal { try await session.files.withMemoryCopy(of: id) { _ in } }?.code == .locked)
        extendLifetime(home)
    }

    @Test("The time limit revokes the copy while it is in use")
    func theTimeLimitTakesItBack() async throws {
        let (home, session, id) = try await home()
        var options = ViewOptions()
        options.limit = .milliseconds(20)
        try await session.files.withMemoryCopy(of: id, options: options) { copy in
            let path = URL(filePath: copy.path.string)
            #expect(await eventually { (try? Data(contentsOf: path).isEmpty) == true })
        }
        extendLifetime(home)
    }

    @Test("A copy larger than half of the free memory is refused")
    func shortMemoryIsRefused() {
        func refused(_ length: Int64, _ free: Int64?, _ memory: Int64?) -> CofferError.Code? {
            do throws(CofferError) {
                try MemoryBudget.check(length, inFileSystem: free, memory: memory)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(refused(50, 100, 100) == nil)
        #expect(refused(51, 100, 1000) == .noSpace)
        #expect(refused(51, 1000, 100) == .noSpace)
        #expect(refused(51, nil, 100) == .noSpace)
        #expect(refused(1 << 40, nil, nil) == nil)
        #expect(refused(0, 0, 0) == nil)
    }
}
