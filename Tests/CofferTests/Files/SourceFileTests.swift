@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Removal of originals")
struct SourceFileTests {
    private let content = Array("as it was sealed".utf8)

    /// Returns the result of removing after `change` came between sealing and removing.
    private func outcome(
        _ scratch: borrowing ScratchDirectory, after change: (FilePath) throws -> Void
    ) throws -> CofferError? {
        try scratch.write("original", content)
        let path = scratch.path.appending("original")
        let source = try Descriptor.open(path, [.read, .nonBlocking])
        let original = try SourceFile(path, source)
        try change(path)
        do throws(CofferError) {
            try original.remove(source)
            return nil
        } catch {
            return error
        }
    }

    @Test("An untouched original is removed")
    func untouched() throws {
        let scratch = try ScratchDirectory.make()
        let error = try outcome(scratch) { _ in }
        #expect(error == nil)
        #expect(try scratch.names().isEmpty)
    }

    @Test(
        "An original written after sealing stays, even with its size and date restored",
        arguments: [false, true])
    func lateWrite(_ keepsDate: Bool) throws {
        let scratch = try ScratchDirectory.make()
        let error = try outcome(scratch) { path in
            let file = try Descriptor.open(path, .readWrite)
            let modified = try file.status().modified
            try file.write(Array("AS".utf8).span, at: 0)
            if keepsDate { try file.setModified(modified) }
        }
        #expect(error?.code == .conflict)
        #expect(try scratch.read("original") == Array("AS it was sealed".utf8))
        #expect(try scratch.names() == ["original"])
    }

    @Test("A file that replaced the original stays, and an absent original is a conflict")
    func replaced() throws {
        let scratch = try ScratchDirectory.make()
        let error = try outcome(scratch) { path in
            try scratch.write("new", Array("new".utf8))
            try scratch.descriptor.rename("new", to: "original")
        }
        #expect(error?.code == .conflict)
        #expect(try scratch.read("original") == Array("new".utf8))
        let gone = try outcome(scratch) { try FileManager.default.removeItem(atPath: $0.string) }
        #expect(gone?.code == .conflict)
        #expect(try scratch.names().isEmpty)
    }

    @Test("An original that another program has open for writing stays")
    func openForWriting() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("original", content)
        let writer = try scratch.descriptor.open("original", .readWrite)
        let error = try outcome(scratch) { _ in try writer.write(Array("later".utf8).span, at: 0) }
        #expect(error?.code == .conflict && error?.message.contains("open for writing") == true)
        #expect(try scratch.read("original").starts(with: Array("later".utf8)))
        #expect(try scratch.names() == ["original"])
    }

    @Test("A program that opens the original for writing during its removal waits")
    func lease() throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("original", content)
        let source = try scratch.descriptor.open("original", .read)
        let lease = source.leaseAgainstWriters()
        #expect(lease == .held)
        let isUnbroken = source.isLeaseUnbroken
        #expect(isUnbroken)
        #expect(failure { _ = try scratch.descriptor.open("original", .readWrite) } == .busy)
        let isBroken = !source.isLeaseUnbroken
        #expect(isBroken)
        source.releaseLease()
        _ = try scratch.descriptor.open("original", .readWrite)
    }

    @Test("The error of an addition names the sealed copy, which is intact")
    func sealedCopyIsNamed() async throws {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("original", content)
        let path = home.scratch.path.appending("original")
        let writer = try Descriptor.open(path, .readWrite)
        let error = await refusal {
            _ = try await session.files.add(contentsOf: path, removingOriginal: true)
        }
        #expect(error?.code == .conflict)
        try writer.close()
        let id = try #require(try await session.files.list().first?.id)
        #expect(error?.message.contains(id.description) == true)
        #expect(try home.scratch.read("original") == content)
        #expect(try await session.files.withDecryptedBytes(of: id) { $0.copied() } == content)
    }

    @Test("A file of the vault's own home is refused under any path")
    func ownHome() async throws {
        let home = try TestHome()
        _ = try await home.create()
        let session = try await home.unlocked()
        try home.scratch.write("original", content)
        let id = try await session.files.add(contentsOf: home.scratch.path.appending("original"))
        let before = try home.everything()
        try home.scratch.link("link", to: home.location.path.string)
        let outside = home.scratch.path.appending("outside")
        try FileManager.default.createDirectory(
            atPath: outside.string, withIntermediateDirectories: false)
        try FileManager.default.linkItem(
            atPath: home.path("device").string, toPath: outside.appending("second").string)
        let scratch = home.scratch.path
        for path in [
            home.path("device"), home.path("files/\(id).coffer"), home.homePath("state"),
            scratch.appending("link/vault/keybag"), scratch.appending("link/vault/../state"),
            FilePath(outside.string + "/../home/vault/device"), outside.appending("second"),
        ] {
            let error = await refusal {
                _ = try await session.files.add(contentsOf: path, removingOriginal: true)
            }
            #expect(error?.code == .refused && error?.remedy == .keepOriginal, "\(path)")
        }
        #expect(try home.everything() == before)
        #expect(try await session.files.count() == 1)
        // Files beside the vault, and beside its parent directories, do not belong to it.
        _ = try await session.files.add(contentsOf: scratch.appending("original"), removingOriginal: true)
        #expect(try !home.scratch.names().contains("original"))
    }

    @Test("A namespace also refuses files of the home around it")
    func homeAround() async throws {
        let home = try TestHome()
        _ = try await home.create()
        let user = try await Vault.create(
            at: home.location.namespace(of: "ada"), options: TestHome.options { _ in }, passcode: nil)
        let error = await refusal {
            _ = try await user.files.add(contentsOf: home.path("device"), removingOriginal: true)
        }
        #expect(error?.code == .refused)
        #expect(try await user.files.count() == 0)
    }
}
