@testable import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite(
    "View copies",
    .enabled(
        if: ViewCopyDirectory.hasRuntimeDirectory || ViewCopyDirectory.hasSharedMemory,
        "there is no memory file system"))
struct ViewCopyTests {
    private struct Unhappy: Error {}

    /// A home without a passcode with one file.
    private func home(_ bytes: [UInt8] = Array("shown content".utf8)) async throws -> (
        TestHome, Vault, FileID
    ) {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("letter.txt", bytes)
        let id = try await session.files.add(contentsOf: home.scratch.path.appending("letter.txt"))
        return (home, session, id)
    }

    private func mode(_ path: FilePath) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path.string)
        return attributes[.posixPermissions] as? Int ?? -1
    }

    private func exists(_ path: FilePath) -> Bool { FileManager.default.fileExists(atPath: path.string) }

    @Test("The copy is private, in memory, and gone after the view")
    func theCopyIsThereWhileItIsViewedAndThenGone() async throws {
        let (home, session, id) = try await home()
        let seen = try await session.files.withViewCopy(of: id) { path in
            #expect(try Data(contentsOf: URL(filePath: path.string)) == Data("shown content".utf8))
            #expect(path.lastComponent?.string == "letter.txt")
            #expect(try mode(path) == 0o400)
            var directory = path.removingLastComponent()
            for _ in 0..<3 {
                #expect(try mode(directory) == 0o700)
                let opened = try Descriptor.open(directory, [.read, .directory])
                #expect(try FileSystemInfo.of(opened).isMemory)
                directory = directory.removingLastComponent()
            }
            return path
        }
        #expect(!exists(seen))
        #expect(!exists(seen.removingLastComponent().removingLastComponent()))
        _ = try await session.wipe()
        extendLifetime(home)
    }

    @Test("A throwing viewer leaves nothing behind")
    func aThrowingViewerLeavesNothing() async throws {
        let (home, session, id) = try await home()
        var seen: FilePath?
        await #expect(throws: Unhappy.self) {
            try await session.files.withViewCopy(of: id) { path in
                seen = path
                throw Unhappy()
            }
        }
        #expect(!exists(try #require(seen).removingLastComponent().removingLastComponent()))
        _ = try await session.wipe()
        extendLifetime(home)
    }

    @Test("A lock removes only the copies of its own session", arguments: ["lock", "close", "idle"])
    func aLockTakesTheCopyBack(_ way: String) async throws {
        let home = try TestHome()
        let clock = TestClock()
        let options = TestHome.options { $0.inactivity = .seconds(600) }
        let session = try await home.create(options: options, clock: clock.source)
        let other = try await home.unlocked()
        try home.scratch.write("letter.txt", Array("shown content".utf8))
        let id = try await session.files.add(contentsOf: home.scratch.path.appending("letter.txt"))
        try await other.files.withViewCopy(of: id) { kept in
            try await session.files.withViewCopy(of: id) { path in
                let opened = try Descriptor.open(path, .read)
                switch way {
                case "lock": session.lock()
                case "close": session.close()
                default:
                    clock.advance(by: .seconds(601))
                    #expect(!session.isUnlocked)
                }
                #expect(!exists(path.removingLastComponent().removingLastComponent()))
                // A viewer that has it open sees zeros: it was overwritten first.
                #expect(try opened.readAll(limit: 100).allSatisfy { $0 == 0 })
            }
            #expect(exists(kept))
        }
        #expect(await refusal { try await session.files.withViewCopy(of: id) { _ in } }?.code == .locked)
        _ = try await session.wipe()
    }

    @Test("A cancelled viewer leaves nothing behind")
    func aCancelledViewerLeavesNothing() async throws {
        let (home, session, id) = try await home()
        let (paths, continuation) = AsyncStream.makeStream(of: FilePath.self)
        let task = Task {
            defer { continuation.finish() }
            try await session.files.withViewCopy(of: id) { path in
                continuation.yield(path)
                try await Task.sleep(for: .seconds(60))
            }
        }
        var iterator = paths.makeAsyncIterator()
        let seen = try #require(await iterator.next())
        #expect(exists(seen))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!exists(seen.removingLastComponent().removingLastComponent()))
        _ = try await session.wipe()
        extendLifetime(home)
    }

    /// As editors save: a new file under the old name, a backup beside it.
    @Test("The end of a view also removes the files that editors leave")
    func whatEditorsLeaveGoesToo() async throws {
        let (home, session, id) = try await home()
        let seen = try await session.files.withViewCopy(of: id) { path in
            let directory = path.removingLastComponent()
            for name in ["letter.txt~", ".letter.txt.swp", "new"] {
                try Data("shown content".utf8).write(to: URL(filePath: directory.appending(name).string))
            }
            try FileManager.default.createSymbolicLink(
                atPath: directory.appending(".#lock").string, withDestinationPath: "/etc/passwd")
            return directory
        }
        #expect(!exists(seen.removingLastComponent()))
        #expect(exists("/etc/passwd"))
        _ = try await session.wipe()
        extendLifetime(home)
    }

    /// Where there is no runtime directory, the root goes with its last view and comes again with the next.
    @Test("The last of many concurrent views leaves no empty directory in memory", .timeLimit(.minutes(10)))
    func noEmptyDirectoryStaysInMemory() async throws {
        let (home, session, id) = try await home()
        let name = try? home.read("viewroot")
        #expect(name == nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<5 {
                        try await session.files.withViewCopy(of: id) { path in
                            let bytes = try Data(contentsOf: URL(filePath: path.string))
                            #expect(bytes == Data("shown content".utf8))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        if let name = try? home.read("viewroot") {
            #expect(!exists(FilePath("/dev/shm/" + String(decoding: name, as: UTF8.self))))
        }
        _ = try await session.wipe()
    }

    @Test("Two views of one file have separate copies")
    func severalAtOnceAreApart() async throws {
        let (home, session, id) = try await home()
        try await session.files.withViewCopy(of: id) { first in
            let inner = try await session.files.withViewCopy(of: id) { second in
                #expect(first != second)
                return second
            }
            #expect(exists(first))
            #expect(!exists(inner))
        }
        _ = try await session.wipe()
        extendLifetime(home)
    }

    @Test("A killed viewer's copy is removed later, and live ones stay")
    func aKilledViewersCopyIsReapedAndLiveOnesStay() async throws {
        let (home, session, id) = try await home()
        let arguments = ["view-and-wait", home.location.path.string, "\(id)"]
        // In a root of the vault's own: what others of this user open removes dead copies under a runtime
        // directory, too.
        let agents = try (0..<3).map { _ in
            try #require(Agent.start(arguments, environment: ["XDG_RUNTIME_DIR="]))
        }
        let paths = agents.compactMap { $0.line().map { FilePath($0) } }
        #expect(Set(paths).count == 3)
        agents[1].kill()
        #expect(paths.allSatisfy { exists($0) })
        #expect(try await Vault.removeStaleViewCopies(at: home.location) == 1)
        #expect(exists(paths[0]) && !exists(paths[1]) && exists(paths[2]))
        #expect(!exists(paths[1].removingLastComponent().removingLastComponent()))
        agents[0].kill()
        _ = try await home.open()
        #expect(!exists(paths[0]) && exists(paths[2]))
        agents[2].send("end")
        #expect(agents[2].line() == "ended")
        #expect(!exists(paths[2]))
        #expect(try await Vault.removeStaleViewCopies(at: home.location) == 0)
        _ = try await session.wipe()
    }

    @Test("A wipe removes copies that are being viewed, and none of other vaults")
    func aWipeRemovesWhatIsBeingViewed() async throws {
        let (home, session, id) = try await home()
        let other = try await self.home()
        let agent = try #require(Agent.start(["view-and-wait", home.location.path.string, "\(id)"]))
        let path = FilePath(try #require(agent.line()))
        let stranger = try #require(
            Agent.start(["view-and-wait", other.0.location.path.string, "\(other.2)"]))
        let strangers = FilePath(try #require(stranger.line()))
        let receipt = try await session.wipe()
        // Or more: a copy of another test, on its way out and without a lease already, counts with it.
        #expect(try #require(receipt.removed["viewCopies"]) >= 1)
        #expect(!exists(path))
        #expect(exists(strangers))
        stranger.kill()
        _ = try await other.1.wipe()
        #expect(!exists(strangers))
    }

    @Test("A view copy of an empty file has read permission alone")
    func aCopyThatDoesNotFitIsRefused() async throws {
        let (home, session, id) = try await home([])
        // Half of what is free is the limit; a sparse container of that size cannot be made here, so ask the
        // number.
        #expect(try await session.files.withViewCopy(of: id) { try mode($0) } == 0o400)
        _ = try await session.wipe()
        extendLifetime(home)
    }
}

/// The runtime directory is the process's environment: each case is a process of its own.
@Suite(
    "View copies and the runtime directory",
    .enabled(if: ViewCopyDirectory.hasSharedMemory, "there is no memory file system"))
struct RuntimeDirectoryTests {
    private let manager = FileManager.default

    /// Where a process with this runtime directory puts its view copy.
    private func place(
        runtime: String, _ prepare: (String) throws -> Void = { _ in }
    ) async throws -> (path: String, runtime: String) {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("letter.txt", [1])
        let id = try await session.files.add(contentsOf: home.scratch.path.appending("letter.txt"))
        let agent = try #require(
            Agent.start(
                ["view-and-wait", home.location.path.string, "\(id)"],
                environment: ["XDG_RUNTIME_DIR=\(runtime)"]))
        let path = try #require(agent.line())
        #expect(try manager.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o400)
        agent.send("end")
        #expect(agent.line() == "ended")
        #expect(!manager.fileExists(atPath: path))
        _ = try await session.wipe()
        return (path, runtime)
    }

    /// A directory in memory that looks like a runtime directory.
    private func withRuntime(mode: Int = 0o700, _ body: (String) async throws -> Void) async throws {
        let runtime = "/dev/shm/coffer-test-\(UUID().uuidString)"
        try manager.createDirectory(
            atPath: runtime, withIntermediateDirectories: false, attributes: [.posixPermissions: mode])
        try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: runtime)
        defer { try? manager.removeItem(atPath: runtime) }
        try await body(runtime)
    }

    @Test("A private runtime directory in memory is used")
    func aProperOneIsUsed() async throws {
        try await withRuntime { runtime in
            let place = try await place(runtime: runtime)
            #expect(place.path.hasPrefix(runtime + "/coffer/views/"))
        }
    }

    @Test("A runtime directory that others can enter is not used", arguments: [0o755, 0o770, 0o777])
    func oneThatOthersCanEnterIsNotUsed(mode: Int) async throws {
        try await withRuntime(mode: mode) { runtime in
            let place = try await place(runtime: runtime)
            #expect(place.path.hasPrefix("/dev/shm/coffer-"))
            #expect(!place.path.hasPrefix(runtime))
            #expect(try manager.contentsOfDirectory(atPath: runtime).isEmpty)
        }
    }

    @Test(
        "A runtime directory of another user is not used",
        .enabled(if: TestUser.isRoot, "only root can give a directory away"))
    func somebodyElsesIsNotUsed() async throws {
        try await withRuntime { runtime in
            try manager.setAttributes([.ownerAccountID: TestUser.nobody], ofItemAtPath: runtime)
            #expect(try await !place(runtime: runtime).path.hasPrefix(runtime))
        }
    }

    @Test("A symbolic link in the runtime directory is not followed")
    func aSymbolicLinkInItIsNotFollowed() async throws {
        try await withRuntime { runtime in
            try await withRuntime { trap in
                try manager.createSymbolicLink(atPath: runtime + "/coffer", withDestinationPath: trap)
                let place = try await place(runtime: runtime)
                #expect(!place.path.hasPrefix(runtime) && !place.path.hasPrefix(trap))
                #expect(try manager.contentsOfDirectory(atPath: trap).isEmpty)
            }
        }
    }

    @Test("A squatted entry in the runtime directory is not used")
    func aSquattedDirectoryInItIsNotUsed() async throws {
        try await withRuntime { runtime in
            try manager.createDirectory(atPath: runtime + "/coffer", withIntermediateDirectories: false)
            try manager.setAttributes([.posixPermissions: 0o777], ofItemAtPath: runtime + "/coffer")
            #expect(try await !place(runtime: runtime).path.hasPrefix(runtime))
            try manager.removeItem(atPath: runtime + "/coffer")
            try Data().write(to: URL(filePath: runtime + "/coffer"))
            #expect(try await !place(runtime: runtime).path.hasPrefix(runtime))
        }
    }

    @Test("A runtime directory on disk or an absent one is not used")
    func oneOnDiskOrAbsentIsNotUsed() async throws {
        let scratch = try ScratchDirectory.make()
        try manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: scratch.path.string)
        if try !FileSystemInfo.of(scratch.descriptor).isMemory {
            let place = try await place(runtime: scratch.path.string)
            #expect(place.path.hasPrefix("/dev/shm/coffer-"))
        }
        for runtime in ["/no/such/directory", "relative", ""] {
            #expect(try await place(runtime: runtime).path.hasPrefix("/dev/shm/coffer-"))
        }
    }
}
