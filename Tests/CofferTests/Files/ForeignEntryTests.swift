import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// Entries that have the name of an unfinished file and are not one.
@Suite("Entries in the store of files that Coffer did not make")
struct ForeignEntryTests {
    private static let name = ".tmp-30bb65d4a70f4d4484ab494a97ef2249"

    private func add(_ session: Vault, _ home: TestHome) async throws -> FileID {
        try home.scratch.write("file", [1, 2, 3])
        return try await session.files.add(contentsOf: home.scratch.path.appending("file"))
    }

    @Test("A directory, link or pipe blocks nothing, stays in place and is named", arguments: 0..<3)
    func foreign(_ kind: Int) async throws {
        let home = try TestHome()
        let session = try await home.create()
        let first = try await add(session, home)
        let path = home.path("files/" + Self.name)
        switch kind {
        case 0:
            try FileManager.default.createDirectory(
                atPath: path.appending("inside").string, withIntermediateDirectories: true)
        case 1:
            try FileManager.default.createSymbolicLink(
                atPath: path.string, withDestinationPath: home.scratch.path.appending("file").string)
        default: #expect(try CommandRun.run("mkfifo", [path.string]).code == 0)
        }
        for session in [session, try await home.unlocked()] {
            let second = try await add(session, home)
            #expect(try await session.files.verifyAll().isClean)
            #expect(try await session.files.list().count == 2)
            #expect(try await session.files.rotateKeys().destroyedKeys > 0)
            #expect(try await session.status().unfinishedFiles == 0)
            let found = try await session.securityChecks().first { $0.name == "foreign-entries" }
            #expect(found?.message.contains(Self.name) == true)
            #expect(try await session.files.remove(second))
        }
        #expect(try await session.files.list().map(\.id) == [first])
        #expect(try FileManager.default.attributesOfItem(atPath: path.string).isEmpty == false)
        #expect(FileManager.default.fileExists(atPath: home.scratch.path.appending("file").string))
    }

    @Test("An unfinished file without permissions is removed like the others")
    func closed() async throws {
        let home = try TestHome()
        let session = try await home.create()
        try home.write("files/" + Self.name, [1, 2, 3])
        try FileManager.default.setAttributes(
            [.posixPermissions: 0], ofItemAtPath: home.path("files/" + Self.name).string)
        #expect(try await session.status().unfinishedFiles == 1)
        _ = try await add(session, home)
        #expect(try await session.files.verifyAll().isClean)
        #expect(!FileManager.default.fileExists(atPath: home.path("files/" + Self.name).string))
        #expect(try await session.securityChecks().allSatisfy { $0.name != "foreign-entries" })
    }
}
