@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite(
    "Editable copies",
    .enabled(
        if: ViewCopyDirectory.hasRuntimeDirectory || ViewCopyDirectory.hasSharedMemory,
        "there is no memory file system"))
struct EditableCopyTests {
    private struct Unhappy: Error {}

    private func home(
        context: [UInt8] = [], suite: ContainerCipherSuite = .chaCha20Poly1305
    ) async throws -> (TestHome, Vault, FileID) {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("letter.txt", Array("first".utf8))
        let id = try await session.files.add(
            contentsOf: home.scratch.path.appending("letter.txt"), outerCipher: suite, context: context)
        return (home, session, id)
    }

    private func text(_ session: Vault, _ id: FileID, context: [UInt8] = []) async throws -> String {
        try await session.files.withDecryptedBytes(of: id, context: context) {
            String(decoding: $0.copied(), as: UTF8.self)
        }
    }

    private func write(_ text: String, to path: FilePath) throws {
        try Data(text.utf8).write(to: URL(filePath: path.string))
    }

    /// As editors do: a new file beside it takes its name.
    private func save(_ text: String, over path: FilePath) throws {
        let folder = path.removingLastComponent()
        try write(text, to: folder.appending(".new"))
        let directory = try Descriptor.open(folder, [.read, .directory])
        try directory.rename(".new", to: FilePath(try #require(path.lastComponent).string))
    }

    @Test(
        "A changed copy is sealed as the new content of its file",
        arguments: ["in place", "by rename", "shorter", "longer"])
    func whatWasChangedIsSealed(way: String) async throws {
        let (home, session, id) = try await home()
        let new =
            switch way {
            case "shorter": "x"
            case "longer": String(repeating: "long ", count: 40_000)
            default: "other"
            }
        let old = try home.read("files/\(id).coffer")
        let edited = try await session.files.withEditableCopy(of: id) { copy in
            #expect(!copy.isChanged)
            if way == "in place" {
                let file = try Descriptor.open(copy.path, .readWrite)
                let bytes = Array(new.utf8)
                try file.write(bytes.span, at: 0)
            } else {
                try save(new, over: copy.path)
            }
            #expect(copy.isChanged)
            return copy.path
        }
        #expect(edited.outcome == .saved)
        #expect(!FileManager.default.fileExists(atPath: edited.result.string))
        #expect(try await text(session, id) == new)
        #expect(try await text(try await home.unlocked(), id) == new)
        let infos = try await session.files.list()
        #expect(infos.map(\.id) == [id])
        #expect(infos.first?.name == "letter.txt" && infos.first?.length == Int64(new.utf8.count))
        #expect(try await session.files.verifyAll().isClean)
        // The old content put back is not the file's any more.
        try home.write("files/\(id).coffer", old)
        #expect(await refusal { _ = try await text(session, id) }?.code == .corrupt)
        _ = try await session.wipe()
    }

    @Test("An edit keeps the context, the cipher and the class")
    func contextCipherAndClassStay() async throws {
        let context = Array("record 7".utf8)
        let (home, session, id) = try await home(context: context, suite: .aes256GCM)
        for number in 1...3 {
            let edited = try await session.files.withEditableCopy(of: id, context: context) {
                try save("version \(number)", over: $0.path)
            }
            #expect(edited.outcome == .saved)
            let reader = try session.files.open(id, context: context)
            #expect(reader.suite == .aes256GCM && reader.header.contentGeneration == UInt64(number) + 1)
        }
        #expect(try await text(session, id, context: context) == "version 3")
        #expect(await refusal { _ = try await text(session, id) }?.code == .corrupt)
        _ = try await session.wipe()
        extendLifetime(home)
    }

    @Test("An unchanged or discarded copy leaves the container as it is")
    func whatWasNotChangedStaysAsItIs() async throws {
        let (home, session, id) = try await home()
        let before = try home.read("files/\(id).coffer")
        let edited = try await session.files.withEditableCopy(of: id) {
            try String(contentsOf: URL(filePath: $0.path.string), encoding: .utf8)
        }
        #expect(edited.result == "first" && edited.outcome == .unchanged)
        await #expect(throws: Unhappy.self) {
            _ = try await session.files.withEditableCopy(of: id) { copy in
                try save("dropped", over: copy.path)
                throw Unhappy()
            }
        }
        // Without asking to write, a change is dropped.
        try await session.files.withViewCopy(of: id, options: ViewOptions()) { copy in
            try save("dropped", over: copy.path)
            #expect(copy.isChanged)
        }
        #expect(try home.read("files/\(id).coffer") == before)
        _ = try await session.wipe()
    }

    @Test("Two concurrent edits conflict, and the second is kept as another file")
    func aFileThatChangedMeanwhileIsAConflictAndNothingIsLost() async throws {
        let (home, session, id) = try await home()
        let error = await refusal {
            _ = try await session.files.withEditableCopy(of: id) { outer in
                let inner = try await session.files.withEditableCopy(of: id) {
                    try save("the one", over: $0.path)
                }
                #expect(inner.outcome == .saved)
                try save("the other", over: outer.path)
            }
        }
        #expect(error?.code == .conflict)
        let other = try FileID(try #require(error?.entries.first))
        #expect(try await text(session, id) == "the one")
        #expect(try await text(session, other) == "the other")
        #expect(try await session.files.list().map(\.name.string) == ["letter.txt", "letter.txt"])
        #expect(try await session.files.verifyAll().isClean)
        _ = try await session.wipe()
        extendLifetime(home)
    }

    @Test("An edit of a file removed meanwhile conflicts and is kept as another file")
    func aFileThatWasRemovedMeanwhileIsAConflictToo() async throws {
        let (home, session, id) = try await home()
        let error = await refusal {
            _ = try await session.files.withEditableCopy(of: id) { copy in
                try await session.files.remove(id)
                try save("kept", over: copy.path)
            }
        }
        #expect(error?.code == .conflict)
        let other = try FileID(try #require(error?.entries.first))
        #expect(try await text(session, other) == "kept")
        #expect(try await session.files.list().map(\.id) == [other])
        _ = try await session.wipe()
        extendLifetime(home)
    }

    @Test("A copy replaced by nothing, a link or a directory is not sealed")
    func whatIsNoFileIsNotSealed() async throws {
        let (home, session, id) = try await home()
        let gone = await refusal {
            _ = try await session.files.withEditableCopy(of: id) {
                try FileManager.default.removeItem(atPath: $0.path.string)
            }
        }
        #expect(gone?.code == .absent)
        let link = await refusal {
            _ = try await session.files.withEditableCopy(of: id) {
                try FileManager.default.removeItem(atPath: $0.path.string)
                try FileManager.default.createSymbolicLink(
                    atPath: $0.path.string, withDestinationPath: "/etc/passwd")
            }
        }
        #expect(link?.code == .refused)
        let directory = await refusal {
            _ = try await session.files.withEditableCopy(of: id) {
                try FileManager.default.removeItem(atPath: $0.path.string)
                try FileManager.default.createDirectory(
                    atPath: $0.path.string, withIntermediateDirectories: false)
            }
        }
        #expect(directory?.code == .refused)
        #expect(try await text(session, id) == "first")
        _ = try await session.wipe()
        extendLifetime(home)
    }

    @Test("A lock removes the copy together with its change")
    func aLockTakesTheChangeAlong() async throws {
        let (home, session, id) = try await home()
        let error = await refusal {
            _ = try await session.files.withEditableCopy(of: id) { copy in
                try save("lost", over: copy.path)
                session.lock()
                #expect(!FileManager.default.fileExists(atPath: copy.path.string))
            }
        }
        #expect(error?.code == .locked)
        try await session.unlock()
        #expect(try await text(session, id) == "first")
        _ = try await session.wipe()
        extendLifetime(home)
    }

    @Test("The time limit removes the copy while it is in use")
    func theTimeLimitTakesTheCopyBack() async throws {
        let (home, session, id) = try await home()
        var options = ViewOptions()
        options.limit = .milliseconds(20)
        try await session.files.withViewCopy(of: id, options: options) { copy in
            let path = copy.path.string
            #expect(await eventually { !FileManager.default.fileExists(atPath: path) })
        }
        _ = try await session.wipe()
        extendLifetime(home)
    }

    /// A crash between the index and the rename: the next who opens the file ends what was begun.
    @Test(
        "The next use of a file completes a replacement that a crash interrupted",
        arguments: ["open", "verify", "add"])
    func aReplacementThatACrashCutIsEnded(by way: String) async throws {
        let (home, session, id) = try await home()
        let old = try home.read("files/\(id).coffer")
        _ = try await session.files.withEditableCopy(of: id) { try save("second", over: $0.path) }
        // As it was before the rename.
        let new = try home.read("files/\(id).coffer")
        try home.write("files/" + id.temporaryName.string, new)
        try home.write("files/\(id).coffer", old)
        let later = try await home.unlocked()
        switch way {
        case "open": break
        case "verify": #expect(try await later.files.verifyAll().isClean)
        default: _ = try await later.files.add(contentsOf: home.scratch.path.appending("letter.txt"))
        }
        #expect(try await text(later, id) == "second")
        #expect(try !home.everything().keys.contains { $0.contains(".tmp-") })
        // Before the index: it never was.
        try home.write("files/" + id.temporaryName.string, old)
        #expect(try await later.files.verifyAll().isClean)
        #expect(try await text(later, id) == "second")
        #expect(try !home.everything().keys.contains { $0.contains(".tmp-") })
        _ = try await session.wipe()
    }
}
