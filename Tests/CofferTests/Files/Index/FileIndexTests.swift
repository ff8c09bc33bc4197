@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("The index of files")
struct FileIndexTests {
    private let plaintext = Array("some content".utf8)
    private let framesStart = FileIndexContents.framesStart

    private func add(
        _ session: Vault, _ home: TestHome, _ name: String = "file",
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws -> FileID {
        try home.scratch.write(FilePath(name), plaintext)
        return try await session.files.add(
            contentsOf: home.scratch.path.appending(name), class: protection)
    }

    private func read(_ session: Vault, _ id: FileID) async throws -> [UInt8] {
        try await session.files.withDecryptedBytes(of: id) { $0.copied() }
    }

    private func container(_ id: FileID) -> String { "files/\(id).coffer" }

    private func snapshot(_ session: Vault) throws -> FileIndexContents {
        let vault = try session.core.home.openVault()
        return try FileIndex(device: session.core.device).snapshot(in: vault)
    }

    @Test("The list comes from the index in the order of names")
    func theListComesFromTheIndexInTheOrderOfNames() async throws {
        let home = try TestHome()
        let session = try await home.create()
        for name in ["b", "a", "c", "B"] { _ = try await add(session, home, name) }
        for session in [session, try await home.unlocked()] {
            let infos = try await session.files.list()
            #expect(infos.map(\.name.string) == ["B", "a", "b", "c"])
            for info in infos { #expect(try await session.files.info(for: info.id) == info) }
        }
        #expect(try await session.files.verifyAll().authentic == 4)
        #expect(try await session.files.verifyAll().isClean)
        #expect(try home.occurrences(of: plaintext) == 0)
    }

    @Test("A removed container put back is refused and named")
    func aRemovedContainerPutBackIsRefusedAndNamed() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let (kept, removed) = (try await add(session, home, "kept"), try await add(session, home, "gone"))
        let aside = try home.read(container(removed))
        try await session.files.remove(removed)
        try home.write(container(removed), aside)
        for session in [session, try await home.unlocked()] {
            #expect(await refusal { _ = try await read(session, removed) }?.code == .corrupt)
            #expect(try await session.files.list().map(\.id) == [kept])
            let report = try await session.files.verifyAll()
            #expect(report.orphans == [removed] && report.authentic == 1 && report.missing.isEmpty)
            #expect(!report.isClean)
        }
        // Never removed by itself; taken in when asked for.
        _ = try await add(session, home, "another")
        #expect(try home.read(container(removed)) == aside)
        #expect(try await session.files.reindex().isEmpty)
        #expect(try await read(session, removed) == plaintext)
        #expect(try await session.files.verifyAll().isClean)
    }

    @Test("Another content under the same identifier is refused")
    func anotherContentUnderTheSameIdIsRefused() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(session, home)
        let classKey = try session.core.keys.key(.whenUnlockedThisDeviceOnly)
        let keys = try session.files.fileKeys()
        let writer = ContainerWriter(
            id: id, device: session.core.device, classKey: classKey, protection: .whenUnlockedThisDeviceOnly,
            outerKEK: try keys.currentOuter(session.core.device),
            innerKEK: try keys.currentInner(
                .whenUnlockedThisDeviceOnly, classKey: classKey, vaultID: session.vaultID))
        let target = try Descriptor.open(home.path(container(id)), .readWrite)
        try writer.seal(
            home.scratch.descriptor.open("file", .read), name: [0x61], into: target, check: {}, progress: nil)
        #expect(await refusal { _ = try await read(session, id) }?.code == .corrupt)
        #expect(try await session.files.verifyAll().corrupt == [id])
    }

    @Test("A lost container is listed as missing until a reindex")
    func aLostContainerIsNamed() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let (kept, lost) = (try await add(session, home, "kept"), try await add(session, home, "lost"))
        try home.remove(container(lost))
        #expect(try await session.files.list().map(\.id) == [kept, lost])
        #expect(try await session.files.list().map(\.state) == [.stored, .missing])
        #expect(await refusal { _ = try await read(session, lost) }?.code == .missing)
        let report = try await session.files.verifyAll()
        #expect(report.missing == [lost] && report.authentic == 1 && report.orphans.isEmpty)
        #expect(try await session.files.reindex().isEmpty)
        #expect(try await session.files.verifyAll().isClean)
    }

    @Test("A torn tail of the index is ignored")
    func aTornTailIsNoPartOfIt() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let first = try await add(session, home, "first")
        let before = try home.read("fileindex")
        let second = try await add(session, home, "second")
        // As a crash in the append left it: the commit is that of before.
        let whole = before + (try home.read("fileindex").dropFirst(before.count))
        let lengths = Array(stride(from: before.count, to: whole.count, by: 7)) + [whole.count - 1]
        for length in lengths {
            try home.write("fileindex", Array(whole.prefix(length)))
            let session = try await home.unlocked()
            let listing = try await session.files.listing()
            #expect(listing.files.map(\.id) == [first] && !listing.isIndexDamaged, "\(length) bytes")
            // No crash leaves a container that is not entered.
            #expect(listing.isIndexBehind && listing.unlisted == [second])
            #expect(try await session.files.verifyAll().orphans == [second])
        }
        for tail in [[UInt8](repeating: 0, count: 500), Array(whole.suffix(50)).map { _ in UInt8(0xff) }] {
            try home.write("fileindex", before + tail)
            let session = try await home.unlocked()
            guard tail.first == 0 else {
                // No crash makes a length beyond every bound.
                #expect(await refusal { _ = try await session.files.list() }?.code == .corrupt)
                continue
            }
            let third = try await add(session, home, "third")
            #expect(try await session.files.listing().files.map(\.id) == [first, third])
            let frames = try home.read("fileindex").dropFirst(framesStart)
            #expect(frames.starts(with: before.dropFirst(framesStart)))
        }
    }

    @Test("A flushed frame without its commit counts, and the next change commits it")
    func flushedWithoutCommit() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let first = try await add(session, home, "a")
        let before = try home.read("fileindex")
        let second = try await add(session, home, "b")
        try home.write("fileindex", before + (try home.read("fileindex").dropFirst(before.count)))
        #expect(try await home.unlocked().files.list().map(\.id) == [first, second])
        let third = try await add(try await home.unlocked(), home, "c")
        let committed = try home.read("fileindex")
        for count in 1...400 where committed.count - count > before.count {
            try home.write("fileindex", Array(committed.dropLast(count)))
            #expect(await refusal { _ = try await home.unlocked().files.list() }?.code == .corrupt)
        }
        try home.write("fileindex", committed)
        #expect(try await home.unlocked().files.list().map(\.id) == [first, second, third])
    }

    @Test("A flipped bit in the index is reported or harmless, and no file vanishes silently")
    func flippedBits() async throws {
        let home = try TestHome()
        let session = try await home.create()
        var ids: [FileID] = []
        for name in ["a", "b", "c"] { ids.append(try await add(session, home, name)) }
        let whole = try home.read("fileindex")
        let unused = Set(32..<512).union(584..<1024).union(1096..<framesStart)
        // Under a sanitizer, where each takes long, every fifth.
        let step = Sanitizer.isOn ? 5 : 1
        for offset in stride(from: 0, to: whole.count, by: step) where !unused.contains(offset) {
            var damaged = whole
            damaged[offset] ^= UInt8(1 << (offset % 8))
            try home.write("fileindex", damaged)
            let files = try await home.unlocked().files
            let listing: FileListing
            do {
                listing = try await files.listing()
            } catch {
                // The version, where no bit of it was left to tell.
                #expect((error as CofferError).code == .unsupportedVersion && offset == 9)
                continue
            }
            let known = listing.files.map(\.id)
            guard listing.isIndexDamaged else {
                #expect(known == ids, "byte \(offset)")
                continue
            }
            #expect(Set(known + listing.unlisted) == Set(ids), "byte \(offset)")
            #expect(await refusal { _ = try await files.list() }?.code == .corrupt)
        }
        // In the last frame, the others stay.
        var damaged = whole
        damaged[whole.count - 40] ^= 4
        try home.write("fileindex", damaged)
        let last = try await home.unlocked()
        let listing = try await last.files.listing()
        #expect(listing.files.map(\.id) == Array(ids.dropLast()))
        #expect(listing.isIndexDamaged && listing.unlisted == [ids[2]])
        for id in ids.dropLast() { #expect(try await read(last, id) == plaintext) }
        #expect(await refusal { _ = try await read(last, ids[2]) }?.code == .corrupt)
        #expect(await refusal { _ = try await add(last, home, "d") }?.code == .corrupt)
        #expect(try home.read("fileindex") == damaged)
        #expect(try await last.files.reindex().isEmpty)
        #expect(try await last.files.list().map(\.id) == ids)
        #expect(try await read(last, ids[2]) == plaintext)
    }

    @Test("A file can be removed despite a damaged index, which waits for a reindex")
    func removalWithDamage() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let ids = [try await add(session, home, "a"), try await add(session, home, "b")]
        var damaged = try home.read("fileindex")
        damaged[damaged.count - 1] ^= 1
        try home.write("fileindex", damaged)
        #expect(try await session.files.remove(ids[1]))
        #expect(try home.read("fileindex") == damaged)
        #expect(try await session.files.reindex().isEmpty)
        #expect(try await session.files.list().map(\.id) == [ids[0]])
        #expect(try await session.files.verifyAll().isClean)
    }

    @Test("An index of version 1 stays readable and is upgraded by the next change")
    func versionOne() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let first = try await add(session, home, "a")
        let removed = try await add(session, home, "b")
        let new = try home.read("fileindex")
        var old = Array(new[..<32]) + new[framesStart...]
        old[9] = 1
        try session.changeFileKeys { $0.hasIndexCommits = false }
        try home.write("fileindex", old)
        let other = try await home.unlocked()
        #expect(try await other.files.list().map(\.id) == [first, removed])
        #expect(try home.read("fileindex") == old)
        // Its last frame could have been torn.
        try home.write("fileindex", Array(old.dropLast(5)))
        #expect(try await home.unlocked().files.listing().files.map(\.id) == [first])
        try home.write("fileindex", old)
        #expect(try await other.files.remove(removed))
        let third = try await add(other, home, "c")
        let converted = try home.read("fileindex")
        #expect(Array(converted[..<32]) == Array(new[..<32]))
        #expect(converted[framesStart...].starts(with: old[32...]))
        #expect(try await home.unlocked().files.list().map(\.id) == [first, third])
        try home.write("fileindex", Array(converted.dropLast(5)))
        #expect(await refusal { _ = try await home.unlocked().files.list() }?.code == .corrupt)
        // And one of version 1 whose head is damaged is not taken for an empty one.
        old[3] ^= 1
        try home.write("fileindex", old)
        let listing = try await home.unlocked().files.listing()
        #expect(listing.isIndexDamaged && listing.files.map(\.id) == [first])
    }

    @Test("Damage in the middle is reported, and a reindex repairs it")
    func damageInTheMiddleIsSaidAndMended() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let ids = [try await add(session, home, "a"), try await add(session, home, "b")]
        let whole = try home.read("fileindex")
        // Magic, version, vault id; then the first frame: kind, id, commitment, sealed part, tag.
        for offset in [0, 9, 20] + [5, 18, 48, 88].map({ framesStart + $0 }) {
            var damaged = whole
            damaged[offset] ^= 0x10
            try home.write("fileindex", damaged)
            let session = try await home.unlocked()
            #expect(await refusal { _ = try await session.files.list() }?.code == .corrupt, "byte \(offset)")
            #expect(await refusal { _ = try await add(session, home, "c") }?.code == .corrupt)
            // The files that the rest of the index knows can be read.
            let isKnown = offset < framesStart
            #expect(await refusal { _ = try await read(session, ids[0]) }?.code == (isKnown ? nil : .corrupt))
            #expect(try await read(session, ids[1]) == plaintext)
        }
        try home.remove("fileindex")
        #expect(await refusal { _ = try await session.files.list() }?.code == .corrupt)
        #expect(try await session.files.reindex().isEmpty)
        #expect(try await session.files.list().map(\.id) == ids)
        #expect(try await read(session, ids[1]) == plaintext)
    }

    @Test("Reordered, repeated or missing frames are damage")
    func framesInAnotherOrderOrLeftOutAreDamage() async throws {
        let home = try TestHome()
        let session = try await home.create()
        for name in ["a", "b", "c"] { _ = try await add(session, home, name) }
        let bytes = try home.read("fileindex")
        let size = (bytes.count - framesStart) / 3
        let frames = (0..<3).map { Array(bytes[framesStart + $0 * size..<framesStart + ($0 + 1) * size]) }
        for order in [[1, 0, 2], [0, 2], [0, 0, 1, 2], [1, 2], [0, 1], []] {
            try home.write("fileindex", Array(bytes.prefix(framesStart)) + order.flatMap { frames[$0] })
            let session = try await home.unlocked()
            #expect(await refusal { _ = try await session.files.list() }?.code == .corrupt, "\(order)")
        }
    }

    @Test("Listing strikes out an entry whose addition crashed")
    func whatACrashLeftIsStruckOut() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let kept = try await add(session, home, "kept")
        // Entered, and the container never appeared.
        let lost = try FileID.random()
        let vault = try session.core.home.openVault()
        let header = InnerHeader(
            chunkSizeLog2: 16, id: lost, salt: [], kekID: [], wrappedKey: [],
            commitment: [UInt8](repeating: 7, count: 32), length: 5, modified: 0, name: [0x61])
        try FileIndex(device: session.core.device).add(
            FileIndexRecord(header), .whenUnlockedThisDeviceOnly, in: vault
        ) { (protection) throws(CofferError) in try session.core.keys.key(protection) }
        try home.write("files/" + lost.temporaryName.string, [1, 2, 3])
        #expect(try snapshot(session).entries.count == 2)
        #expect(try await session.files.list().map(\.id) == [kept])
        #expect(Set(try snapshot(session).entries.keys) == [kept])
        #expect(try await session.files.verifyAll().isClean)
        #expect(try !home.everything().keys.contains { $0.contains(".tmp-") })
    }

    @Test("A vault without an index gets one with the next file")
    func aVaultWithoutAnIndexGetsOneWithTheNextFile() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let first = try await add(session, home, "first")
        let low = try await add(session, home, "low", class: .afterFirstUnlockThisDeviceOnly)
        // As an earlier release left it.
        try session.changeFileKeys { ($0.hasIndex, $0.hasIndexCommits) = (false, false) }
        try home.remove("fileindex")
        #expect(try await session.files.list().map(\.id) == [first, low])
        #expect(try await session.files.verifyAll().isClean)
        // Not every class is open: later.
        session.lock()
        _ = try await add(session, home, "locked", class: .afterFirstUnlockThisDeviceOnly)
        #expect(try !session.files.fileKeys().hasIndex)
        try await session.unlock(with: Passcode(copying: "correct horse"))
        _ = try await add(session, home, "second")
        #expect(try session.files.fileKeys().hasIndex)
        #expect(try await session.files.list().map(\.name.string) == ["first", "locked", "low", "second"])
        #expect(try await session.files.verifyAll().authentic == 4)
    }

    @Test("The index seals each class separately")
    func classesAreSealedApart() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let high = try await add(session, home, "high")
        let low = try await add(session, home, "low", class: .afterFirstUnlockThisDeviceOnly)
        session.lock()
        #expect(await refusal { _ = try await session.files.list() }?.code == .locked)
        #expect(await refusal { _ = try await session.files.verifyAll() }?.code == .locked)
        #expect(try await read(session, low) == plaintext)
        #expect(try await session.files.remove(high))
        #expect(try await session.files.list().map(\.id) == [low])
    }

    @Test("Many changes keep the index short")
    func manyChangesKeepItShort() async throws {
        let home = try TestHome()
        let session = try await home.create()
        var ids: Set<FileID> = []
        for number in 0..<100 {
            let id = try await add(session, home, "file \(number)")
            if number % 3 == 0 { try await session.files.remove(id) } else { ids.insert(id) }
        }
        #expect(Set(try snapshot(session).entries.keys) == ids)
        #expect(try snapshot(session).frames.count < 100)
        let infos = try await home.unlocked().files.list()
        #expect(Set(infos.map(\.id)) == ids)
        #expect(Set(infos.map(\.name)).count == ids.count)
    }

    @Test("Two sessions add and remove files at once", .timeLimit(.minutes(10)))
    func twoSessionsAddAtOnce() async throws {
        let home = try TestHome()
        let sessions = [try await home.create(), try await home.unlocked()]
        try home.scratch.write("file", plaintext)
        let path = home.scratch.path.appending("file")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for session in sessions {
                group.addTask {
                    for number in 0..<12 {
                        let id = try await session.files.add(contentsOf: path)
                        if number % 4 == 0 { try await session.files.remove(id) }
                        _ = try await session.files.list()
                    }
                }
            }
            try await group.waitForAll()
        }
        for session in sessions {
            #expect(try await session.files.list().count == 18)
            #expect(try await session.files.verifyAll().isClean)
        }
    }
}
