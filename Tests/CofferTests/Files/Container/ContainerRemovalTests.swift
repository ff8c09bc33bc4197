@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// The blocks of a container are looked at through another link to it, as a search of the raw disk would.
@Suite("Freed blocks hold no wrapped keys")
struct ContainerRemovalTests {
    private let plaintext = Array("some content".utf8)

    private func add(_ session: Vault, _ home: TestHome, _ name: String = "file") async throws -> FileID {
        try home.scratch.write(FilePath(name), plaintext)
        return try await session.files.add(contentsOf: home.scratch.path.appending(name))
    }

    private func container(_ id: FileID) -> String { "files/\(id).coffer" }

    private func move(_ home: TestHome, _ name: String, to new: String) throws {
        _ = try? FileManager.default.removeItem(atPath: home.path(new).string)
        try FileManager.default.moveItem(atPath: home.path(name).string, toPath: home.path(new).string)
    }

    /// Another link to a file of the vault, and the header that it has now.
    private struct Link {
        let path: String
        let header: [UInt8]

        init(_ home: TestHome, _ name: String) throws {
            path = home.scratch.path.appending("link-\(UUID().uuidString)").string
            try FileManager.default.linkItem(atPath: home.path(name).string, toPath: path)
            header = try Self.header(path)
        }

        private static func header(_ path: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: URL(filePath: path)).prefix(4096))
        }

        /// Whether any 16 bytes of a key, tag or ciphertext are still there.
        func hasKeys() throws -> Bool {
            let now = try Self.header(path)
            return stride(from: 0, to: header.count - 16, by: 8).contains { start in
                let piece = Array(header[start..<start + 16])
                return Set(piece).count > 8 && now.contains(piece)
            }
        }
    }

    @Test("A removal overwrites the header, also after a kill right after the rename")
    func removal() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let removed = try await add(session, home)
        let link = try Link(home, container(removed))
        #expect(try link.hasKeys())
        #expect(try await session.files.remove(removed))
        #expect(try !link.hasKeys())

        let killed = try await add(session, home)
        let other = try Link(home, container(killed))
        try move(home, container(killed), to: "files/" + killed.temporaryName.string)
        _ = try await add(try await home.unlocked(), home)
        #expect(try !other.hasKeys())
        #expect(try !home.everything().keys.contains { $0.contains(".tmp-") })
        #expect(try await session.files.verifyAll().isClean)
    }

    @Test("Cleaning up after a killed or failed addition overwrites the header")
    func addition() async throws {
        let home = try TestHome()
        let session = try await home.create()
        // Sealed and flushed, and the container never got its name.
        let id = try await add(session, home)
        let header = try Link(home, container(id))
        try move(home, container(id), to: "files/" + id.temporaryName.string)
        #expect(try await session.files.verifyAll().isClean)
        #expect(try !header.hasKeys())

        // The index cannot be written: the sealed container is given up.
        let index = try home.read("fileindex")
        try home.write("fileindex", Array(index.dropLast()))
        let before = try home.everything().keys.filter { $0.contains("/files/") }
        #expect(await refusal { _ = try await add(session, home) }?.code == .corrupt)
        #expect(try home.everything().keys.filter { $0.contains("/files/") } == before)
    }

    @Test("A replacement overwrites the old header, whenever it was killed")
    func replacement() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(session, home)
        let old = try home.read(container(id))
        let link = try Link(home, container(id))
        let edited = Array("another content".utf8)
        _ = try await session.files.withEditableCopy(of: id) { copy in
            try Data(edited).write(to: URL(filePath: copy.path.string))
        }
        #expect(try !link.hasKeys())
        let new = try home.read(container(id))
        #expect(new != old)

        // Killed between the index and the exchange of names, and between the exchange and the removal.
        let temporary = "files/" + id.temporaryName.string
        for (named, unnamed) in [(old, new), (new, old)] {
            try home.write(container(id), named)
            try home.write(temporary, unnamed)
            let oldLink = try Link(home, named == old ? container(id) : temporary)
            let session = try await home.unlocked()
            _ = try await add(session, home)
            #expect(try home.read(container(id)) == new)
            #expect(try !home.everything().keys.contains { $0.contains(".tmp-") })
            #expect(try !oldLink.hasKeys())
            #expect(try await session.files.withDecryptedBytes(of: id) { $0.copied() } == edited)
        }
    }
}
