@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// The containers in the home and the index of files do not agree: that is said, and never guessed.
@Suite("Missing containers and an index that is behind")
struct MissingFileTests {
    private let plaintext = Array("some content".utf8)

    private func add(
        _ session: Vault, _ home: TestHome, _ name: String = "file",
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws -> FileID {
        try home.scratch.write(FilePath(name), plaintext)
        return try await session.files.add(
            contentsOf: home.scratch.path.appending(name), class: protection)
    }

    private func read(_ session: Vault, _ id: FileID) async throws {
        #expect(try await session.files.withDecryptedBytes(of: id) { $0.copied() } == plaintext)
    }

    private func container(_ id: FileID) -> String { "files/\(id).coffer" }

    private func protection(_ name: String, _ session: Vault) async throws -> SecurityCheck? {
        try await session.securityChecks().first { $0.name == name }
    }

    @Test(
        "An impostor under a container's name hides no file from the list",
        arguments: ["mkfifo", "mkdir", "ln -s /dev/zero", "ln -s /nowhere", "touch"])
    func impostor(_ command: String) async throws {
        let home = try TestHome()
        _ = try await home.create()
        let session = try await home.unlocked()
        let id = try await add(session, home)
        let path = home.homePath("vault/" + container(try .random())).string
        #expect(try Helper.run(command.split(separator: " ").map(String.init) + [path]).code == 0)
        let listing = try await session.files.listing()
        #expect(listing.files.map(\.id) == [id] && !listing.isIndexBehind && !listing.isIndexDamaged)
        #expect(try await session.status().unlistedFiles.isEmpty)
        try await read(session, id)
    }

    @Test("A deleted container is listed as missing until its removal or return")
    func deleted() async throws {
        let home = try TestHome()
        _ = try await home.create()
        let session = try await home.unlocked()
        let ids = [try await add(session, home, "a"), try await add(session, home, "b")]
        let aside = try home.read(container(ids[0]))
        try home.remove(container(ids[0]))
        for session in [session, try await home.unlocked()] {
            let files = try await session.files.list()
            #expect(files.map(\.id) == ids && files.map(\.name.string) == ["a", "b"])
            #expect(files.map(\.state) == [.missing, .stored])
            for work in [
                { try await read(session, ids[0]) }, { _ = try await session.files.info(for: ids[0]) },
                { try await session.files.verify(ids[0]) }, { try await session.files.rewrap(ids[0]) },
                { try await session.files.withViewCopy(of: ids[0]) { _ in } },
                { try await session.files.export(ids[0], to: home.scratch.path.appending("out")) },
            ] as [() async throws -> Void] {
                let error = await refusal { try await work() }
                #expect(error?.code == .missing && error?.remedy == .restoreOrRemoveFile)
            }
            #expect(await refusal { try await read(session, .random()) }?.code == .absent)
            #expect(try await session.status().missingFiles == [ids[0]])
            let check = try await protection("missing-files", session)
            #expect(check?.status == .missing && check?.message.contains(ids[0].description) == true)
        }
        // Put back, it is a file again.
        try home.write(container(ids[0]), aside)
        #expect(try await session.files.list().map(\.state) == [.stored, .stored])
        try await read(session, ids[0])
        try home.remove(container(ids[0]))
        #expect(try await session.files.remove(ids[0]))
        #expect(try await session.files.list().map(\.id) == [ids[1]])
        #expect(try await session.files.verifyAll().isClean)
        #expect(try await session.status().missingFiles.isEmpty)
        #expect(try await protection("missing-files", session) == nil)
        #expect(try await !session.files.remove(ids[0]))
        #expect(await refusal { try await read(session, ids[0]) }?.code == .absent)
    }

    @Test("A file that is still being added or removed is not missing")
    func underWay() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let ids = [try await add(session, home, "a"), try await add(session, home, "b")]
        let files = home.path("files").string + "/"
        // A removal that a crash cut before the entry was struck out, of an owner who is still alive.
        let temporary = files + ids[0].temporaryName.string
        try FileManager.default.moveItem(atPath: home.path(container(ids[0])).string, toPath: temporary)
        let holder = try Descriptor.open(FilePath(temporary), .readWrite)
        try holder.lock()
        #expect(try await session.files.list().map(\.id) == [ids[1]])
        #expect(try await session.status().missingFiles.isEmpty)
        #expect(await refusal { try await read(session, ids[0]) }?.code == .absent)
        try holder.close()
        // Its owner is dead: it is ended.
        #expect(try await session.files.list().map(\.id) == [ids[1]])
        #expect(try await session.files.verifyAll().isClean)
        // An addition that was not entered yet, of an owner who is alive.
        let other = try FileID.random()
        try home.write("files/" + other.temporaryName.string, [1, 2, 3])
        let adder = try Descriptor.open(FilePath(files + other.temporaryName.string), .readWrite)
        try adder.lock()
        let listing = try await session.files.listing()
        #expect(listing.files.map(\.id) == [ids[1]] && !listing.isIndexBehind && listing.unlisted.isEmpty)
        #expect(try await session.status().unlistedFiles.isEmpty)
    }

    @Test("Files that others add and remove meanwhile are never missing or unlisted")
    func others() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let kept = try await add(session, home, "kept")
        let path = home.scratch.path.appending("kept")
        let other = try await home.unlocked()
        async let changes: Void = {
            for _ in 0..<25 { try await other.files.remove(other.files.add(contentsOf: path)) }
        }()
        for _ in 0..<60 {
            let listing = try await session.files.listing()
            #expect(
                listing.files.allSatisfy { $0.state == .stored } && listing.files.contains { $0.id == kept })
            #expect(!listing.isIndexBehind && !listing.isIndexDamaged)
        }
        try await changes
    }

    @Test("Removing the passcode drops the entries of missing files that depend on it")
    func passcodeBound() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let bound = try await add(session, home, "bound", class: .whenPasscodeSetThisDeviceOnly)
        let kept = try await add(session, home, "kept")
        try home.remove(container(bound))
        #expect(try await session.files.list().map(\.state) == [.missing, .stored])
        _ = try await session.changePasscode(to: nil, current: Passcode(copying: "correct horse"))
        #expect(try await home.unlocked().files.list().map(\.id) == [kept])
    }

    @Test("Damage to the newer commit and the last frame at once hides no file")
    func twoDamages() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let ids = [try await add(session, home, "a"), try await add(session, home, "b")]
        let whole = try home.read("fileindex")
        let end = whole.count
        let commits = [whole[512..<584], whole[1024..<1096]].map { Array($0) }
        let newer = commits[0].prefix(8).lexicographicallyPrecedes(commits[1].prefix(8)) ? 1024 : 512
        let size = (end - FileIndexContents.framesStart) / 2
        for offset in stride(from: end - size, to: end, by: 3) {
            for bit in [UInt8(1), 0x80] {
                var damaged = whole
                damaged[newer + offset % 72] ^= bit
                damaged[offset] ^= bit
                try home.write("fileindex", damaged)
                let listing = try await home.unlocked().files.listing()
                #expect(listing.files.map(\.id) == [ids[0]] && listing.isIndexDamaged, "\(offset)")
                #expect(listing.unlisted == [ids[1]])
            }
        }
        // The frame cut off: nothing is left of it but the container.
        var cut = Array(whole.dropLast(size))
        cut[newer] ^= 1
        try home.write("fileindex", cut)
        #expect(try await home.unlocked().files.listing().isIndexDamaged)
        // Of an earlier release, whose older commit counts as the only one.
        try session.changeFileKeys { $0.hasIndexCommits = false }
        let frames = Array(cut[FileIndexContents.framesStart...])
        try home.write(
            "fileindex",
            FileIndexContents.file(
                frames: frames, lastTag: Array(frames.suffix(32)), device: session.core.device, version: 2))
        let last = try await home.unlocked()
        let listing = try await last.files.listing()
        #expect(listing.files.map(\.id) == [ids[0]] && listing.isIndexBehind && listing.unlisted == [ids[1]])
        let error = await refusal { _ = try await last.files.list() }
        #expect(error?.code == .corrupt && error?.entries == [ids[1].description])
        #expect(await refusal { try await read(last, ids[1]) }?.remedy == .verifyAndReindexFiles)
        #expect(try await last.status().unlistedFiles == [ids[1]])
        #expect(try await protection("file-index", last)?.message.contains(ids[1].description) == true)
        #expect(try await last.files.verifyAll().orphans == [ids[1]])
        #expect(try await last.files.reindex().isEmpty)
        #expect(try await last.files.list().map(\.id) == ids)
        #expect(try await protection("file-index", last) == nil)
    }

    @Test("An addition that crashes at any byte is neither damage nor a lost file")
    func tornAddition() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let first = try await add(session, home, "a")
        let before = try home.read("fileindex")
        let second = try await add(session, home, "b")
        let whole = before + (try home.read("fileindex").dropFirst(before.count))
        let file = try home.read(container(second))
        for length in stride(from: before.count, through: whole.count, by: 5) {
            try? home.remove(container(second))
            try home.write("files/" + second.temporaryName.string, file)
            try home.write("fileindex", Array(whole.prefix(length)))
            let listing = try await home.unlocked().files.listing()
            #expect(listing.files.map(\.id) == [first], "\(length) bytes")
            #expect(listing.files.allSatisfy { $0.state == .stored })
            #expect(!listing.isIndexDamaged && !listing.isIndexBehind && listing.unlisted.isEmpty)
        }
    }

    @Test("Status and doctor report a damaged index, which makes no file missing")
    func damaged() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let (gone, kept) = (try await add(session, home, "a"), try await add(session, home, "b"))
        try await session.files.remove(gone)
        var bytes = try home.read("fileindex")
        bytes[bytes.count - 1] ^= 1
        try home.write("fileindex", bytes)
        let status = try await session.status()
        #expect(status.isFileIndexDamaged && status.missingFiles.isEmpty && status.unlistedFiles.isEmpty)
        #expect(try await protection("file-index", session)?.remedy == .reindexFiles)
        #expect(try await session.files.listing().files.map(\.id) == [kept])
        #expect(await refusal { _ = try await session.files.remove(gone) }?.code == .corrupt)
        try home.remove("fileindex")
        try FileManager.default.createDirectory(
            atPath: home.path("fileindex").string, withIntermediateDirectories: false)
        #expect(try await session.status().isFileIndexDamaged)
    }

    @Test("A damaged record of the files' keys is not called a damaged index")
    func damagedKeys() async throws {
        let home = try TestHome()
        let session = try await home.create()
        _ = try await add(session, home, "a")
        let bytes = try home.read("filekeys")
        try home.write("filekeys", [UInt8](repeating: 0, count: bytes.count))
        let status = try await session.status()
        #expect(status.isFileKeysRecordDamaged && !status.isFileIndexDamaged)
        #expect(try await protection("file-index", session)?.remedy == .restoreOrWipeVault)
        try home.write("filekeys", bytes)
        #expect(try await !session.status().isFileKeysRecordDamaged)
    }
}
