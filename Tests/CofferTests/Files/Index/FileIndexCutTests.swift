@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// The changes that an attacker without any key can make to an index.
@Suite("Truncated indexes of files")
struct FileIndexCutTests {
    private let plaintext = Array("some content".utf8)
    private let framesStart = FileIndexContents.framesStart

    private func add(_ session: Vault, _ home: TestHome, _ name: String) async throws -> FileID {
        try home.scratch.write(FilePath(name), plaintext)
        return try await session.files.add(contentsOf: home.scratch.path.appending(name))
    }

    private func read(_ session: Vault, _ id: FileID) async throws -> [UInt8] {
        try await session.files.withDecryptedBytes(of: id) { $0.copied() }
    }

    private func container(_ id: FileID) -> String { "files/\(id).coffer" }

    /// Rewrites an index with commits as one of version 1 without its last frame, which needs no key.
    private func cut(_ index: [UInt8], frames: Int, of all: Int) -> [UInt8] {
        var cut = Array(index[..<32])
        cut[9] = 1
        return cut + index[framesStart..<framesStart + (index.count - framesStart) / all * frames]
    }

    @Test("An index truncated to version 1 is damage that hides no file")
    func cutToVersionOne() async throws {
        let home = try TestHome()
        let session = try await home.create()
        var ids: [FileID] = []
        for name in ["a", "b", "c"] { ids.append(try await add(session, home, name)) }
        let whole = try home.read("fileindex")
        let aside = try home.read(container(ids[2]))
        try home.remove(container(ids[2]))
        for frames in 0...2 {
            let cut = cut(whole, frames: frames, of: 3)
            try home.write("fileindex", cut)
            for session in [session, try await home.unlocked()] {
                let listing = try await session.files.listing()
                #expect(listing.isIndexDamaged && listing.files.count == frames)
                #expect(await refusal { _ = try await session.files.list() }?.code == .corrupt)
                #expect(await refusal { _ = try await session.files.verifyAll() }?.code == .corrupt)
                #expect(await refusal { _ = try await add(session, home, "d") }?.code == .corrupt)
                if frames > 0 { #expect(try await read(session, ids[0]) == plaintext) }
            }
            #expect(try home.read("fileindex") == cut)
        }
        try home.write("fileindex", whole)
        try home.write(container(ids[2]), aside)
        #expect(try await session.files.list().map(\.id) == ids)
        #expect(try await home.unlocked().files.verifyAll().isClean)
        try home.write("fileindex", cut(whole, frames: 2, of: 3))
        #expect(try await session.files.reindex().isEmpty)
        #expect(try await home.unlocked().files.list().map(\.id) == ids)
    }

    @Test("An index rolled back to its older commit is damage that hides no file", arguments: 0..<3)
    func cutToOlderCommit(_ kind: Int) async throws {
        let home = try TestHome()
        let session = try await home.create()
        let kept = [try await add(session, home, "a"), try await add(session, home, "b")]
        let before = try home.read("fileindex").count
        let hidden = try await add(session, home, "c")
        var index = Array(try home.read("fileindex").prefix(before))
        let commits = [512, 1024].map { Array(index[$0..<$0 + 72]) }
        let newer = commits[0].lexicographicallyPrecedes(commits[1]) ? 1 : 0
        let place = newer == 1 ? 1024..<1096 : 512..<584
        switch kind {
        case 0: index.replaceSubrange(place, with: commits[1 - newer])
        case 1: index.replaceSubrange(place, with: [UInt8](repeating: 0, count: 72))
        default: index[place.lowerBound + 50] ^= 1
        }
        try home.write("fileindex", index)
        try home.remove(container(hidden))
        for session in [session, try await home.unlocked()] {
            let listing = try await session.files.listing()
            #expect(listing.isIndexDamaged && listing.files.map(\.id) == kept)
            #expect(await refusal { _ = try await session.files.list() }?.code == .corrupt)
            #expect(await refusal { _ = try await session.files.verifyAll() }?.code == .corrupt)
            #expect(await refusal { _ = try await add(session, home, "d") }?.code == .corrupt)
            #expect(try await read(session, kept[0]) == plaintext)
        }
        #expect(try home.read("fileindex") == index)
    }

    @Test("A commit torn by a crash hides nothing, and the next change repairs it", arguments: [0, 36, 71])
    func tornCommit(_ written: Int) async throws {
        let home = try TestHome()
        let session = try await home.create()
        var ids = [try await add(session, home, "a"), try await add(session, home, "b")]
        let before = try home.read("fileindex")
        ids.append(try await add(session, home, "c"))
        var index = try home.read("fileindex")
        let place = try #require([512, 1024].first { before[$0..<$0 + 72] != index[$0..<$0 + 72] })
        index.replaceSubrange(place + written..<place + 72, with: before[place + written..<place + 72])
        if written == 0 {
            // Nothing of it came to the disk, and what was there is not whole either.
            index[place + 40] ^= 1
        }
        try home.write("fileindex", index)
        for session in [session, try await home.unlocked()] {
            #expect(Set(try await session.files.list().map(\.id)) == Set(ids))
        }
        ids.append(try await add(session, home, "d"))
        let listing = try await session.files.listing()
        #expect(!listing.isIndexDamaged && Set(listing.files.map(\.id)) == Set(ids))
    }

    /// The index as an earlier release wrote it.
    private func older(_ version: UInt16, _ home: TestHome, _ session: Vault) throws -> [UInt8] {
        let frames = Array(try home.read("fileindex")[framesStart...])
        var index = try FileIndexContents.file(
            frames: frames, lastTag: Array(frames.suffix(32)), device: session.core.device, version: 2)
        guard version == 1 else { return index }
        index[9] = 1
        return index[..<32] + frames
    }

    @Test(
        "After the first change, a truncated index of an earlier release is damage",
        arguments: [1, 2] as [UInt16], ["add", "remove", "reindex"])
    func cutOfEarlierRelease(_ version: UInt16, _ first: String) async throws {
        let home = try TestHome()
        let session = try await home.create()
        let ids = [try await add(session, home, "a"), try await add(session, home, "b")]
        try session.changeFileKeys { $0.hasIndexCommits = false }
        let record = try home.read("filekeys")
        #expect(Array(record[44..<48]) == [0, 0, 0, 1])
        let left = try older(version, home, session)
        try home.write("fileindex", left)
        let other = try await home.unlocked()
        #expect(try await other.files.list().map(\.id) == ids)
        #expect(try await other.files.verifyAll().isClean)
        #expect(try home.read("filekeys") == record)
        #expect(try home.read("fileindex") == left)
        switch first {
        case "add": _ = try await add(other, home, "c")
        case "remove": try await other.files.remove(ids[0])
        default: #expect(try await other.files.reindex().isEmpty)
        }
        #expect(Array(try home.read("filekeys")[44..<48]) == [0, 0, 0, 5])
        #expect(try home.read("fileindex")[9] == 3)
        #expect(try await home.unlocked().files.verifyAll().isClean)
        let versions = [try older(1, home, session), try older(2, home, session), left]
        for index in versions {
            try home.write("fileindex", index)
            for session in [session, other, try await home.unlocked()] {
                #expect(await refusal { _ = try await session.files.list() }?.code == .corrupt)
            }
        }
    }

    @Test("File key records of earlier releases are read, those of newer ones refused")
    func flags() throws {
        for flags in UInt8(0)...7 {
            let keys = try FileKeyset.record.decode([0, 0, 0, flags, 0, 0])
            #expect(keys.hasIndex == (flags & 1 != 0) && keys.isRotating == (flags & 2 != 0))
            #expect(keys.hasIndexCommits == (flags & 4 != 0) && keys.encoded == [0, 0, 0, flags, 0, 0])
        }
        #expect(failure { _ = try FileKeyset.record.decode([0, 0, 0, 8, 0, 0]) } == .unsupportedVersion)
    }
}

extension Vault {
    /// Makes the record of file keys what another release left.
    func changeFileKeys(_ change: (inout FileKeyset) -> Void) throws {
        let record = FileKeysetRecord(device: core.device)
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            var contents = try record.read(in: vault)
            change(&contents.keys)
            try record.write(contents, in: vault)
        }
    }
}
