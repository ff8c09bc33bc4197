import Coffer
import CofferBase
import CofferEngine
import CofferVault
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

    /// Shell commands, each of which puts something else in the place of a container.
    private static let kinds = ["mkfifo", "mkdir", "ln -s /etc/passwd", "ln -s /dev/zero", Self.socket]
    private static let socket = """
        python3 -c 'import socket,sys;socket.socket(socket.AF_UNIX).bind(sys.argv[1])'
        """

    private func make(_ kind: String, _ path: FilePath) throws {
        // A socket's whole path could be too long.
        let (folder, name) = (path.removingLastComponent().string, path.lastComponent?.string ?? "")
        let run = try CommandRun.run("sh", ["-c", "cd \"$0\" && \(kind) \"$1\"", folder, name], seconds: 20)
        try #require(run.code == 0, "\(run.errorText)")
    }

    @Test("What has the name of a container and is no file is named and left alone", arguments: kinds)
    func notContainer(_ kind: String) async throws {
        let home = try TestHome()
        let session = try await home.create()
        let first = try await add(session, home)
        let name = "00112233-4455-4677-8899-aabbccddeeff.coffer"
        let path = home.path("files/" + name)
        try make(kind, path)
        let id = try FileID("00112233-4455-4677-8899-aabbccddeeff")
        for _ in 0..<2 {
            let error = await refusal { _ = try await session.rotateKeys() }
            #expect(error?.code == .corrupt && error?.message.contains(path.string) == true)
            #expect(error?.message.contains("Move the entry away") == true)
            #expect(await refusal { _ = try await session.files.rotateKeys() }?.code == .corrupt)
            #expect(try home.keybag().isRotating)
        }
        #expect(try await session.files.verifyAll().isClean)
        #expect(try await session.files.list().map(\.id) == [first])
        #expect(try await session.files.count() == 1)
        #expect(try await session.files.reindex().isEmpty)
        let found = try await session.securityChecks().first { $0.name == "foreign-entries" }
        #expect(found?.message.contains(name) == true)
        #expect(await refusal { _ = try await session.files.info(for: id) }?.code == .corrupt)
        #expect(try await session.files.remove(id) == false)
        let away = home.scratch.path.appending("away")
        try FileManager.default.moveItem(atPath: path.string, toPath: away.string)
        #expect(try await session.resumeKeyRotation()?.isComplete == true)
    }

    @Test("A rotation destroys no key that the container needs to which a link leads")
    func link() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let (first, second) = (try await add(session, home), try await add(session, home))
        let path = home.path("files/\(first).coffer")
        let away = home.scratch.path.appending("away")
        try FileManager.default.moveItem(atPath: path.string, toPath: away.string)
        try FileManager.default.createSymbolicLink(atPath: path.string, withDestinationPath: away.string)
        let before = FileManager.default.contents(atPath: away.string)
        #expect(await refusal { _ = try await session.rotateKeys() }?.code == .corrupt)
        #expect(before != nil && FileManager.default.contents(atPath: away.string) == before)
        try FileManager.default.removeItem(atPath: path.string)
        try FileManager.default.moveItem(atPath: away.string, toPath: path.string)
        #expect(try await session.resumeKeyRotation()?.isComplete == true)
        #expect(try await session.files.verifyAll().isClean)
        #expect(try await Set(session.files.list().map(\.id)) == [first, second])
    }

    @Test(
        "A file whose container is replaced by something else is missing, and can be removed",
        arguments: kinds)
    func replaced(_ kind: String) async throws {
        let home = try TestHome()
        let session = try await home.create()
        let (first, second) = (try await add(session, home), try await add(session, home))
        let path = home.path("files/\(first).coffer")
        try FileManager.default.removeItem(atPath: path.string)
        try make(kind, path)
        let error = await refusal { _ = try await session.files.info(for: first) }
        #expect(error?.code == .corrupt && error?.message.contains(path.string) == true)
        #expect(await refusal { _ = try await session.rotateKeys() }?.code == .corrupt)
        let states = try await session.files.list().map { ($0.id, $0.state) }
        #expect(states.allSatisfy { $0.1 == ($0.0 == first ? .missing : .stored) } && states.count == 2)
        #expect(try await session.files.verifyAll().missing == [first])
        #expect(await refusal { try await session.files.rewrap(first) }?.code == .missing)
        #expect(try await session.files.remove(first))
        #expect(try await session.files.list().map(\.id) == [second])
        #expect(try FileManager.default.attributesOfItem(atPath: path.string).isEmpty == false)
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
