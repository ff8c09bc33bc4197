@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Rewrapping and key rotation")
struct RewrapTests {
    private let plaintext = ContainerFixture.plaintext(70_000)

    private func add(
        _ session: Vault, _ home: TestHome, _ name: String = "file", context: [UInt8] = [],
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws -> FileID {
        try home.scratch.write(FilePath(name), plaintext)
        return try await session.files.add(
            contentsOf: home.scratch.path.appending(name), class: protection, context: context)
    }

    private func read(_ session: Vault, _ id: FileID, context: [UInt8] = []) async throws -> [UInt8] {
        try await session.files.withDecryptedBytes(of: id, context: context) { $0.copied() }
    }

    private func container(_ id: FileID) -> String { "files/\(id).coffer" }

    private func slot(_ home: TestHome, _ id: FileID) throws -> ContainerHeaderSlot {
        let bytes = try home.read(container(id))
        #expect(bytes[..<2048] == bytes[2048..<4096])
        let slot = try ContainerHeaderSlot.decode(Array(bytes[..<2048]))
        return try #require(slot)
    }

    @Test("A rewrapped file has a new header and reads as before")
    func oneFileIsWrappedAnewAndReadAsBefore() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(session, home)
        let before = try home.read(container(id))
        for generation: UInt32 in 2...4 {
            try await session.files.rewrap(id)
            #expect(try slot(home, id).generation == generation)
            #expect(try await read(session, id) == plaintext)
        }
        let after = try home.read(container(id))
        #expect(after.dropFirst(4096) == before.dropFirst(4096))
        #expect(try await read(try await home.unlocked(), id) == plaintext)
        let missing = try FileID.random()
        #expect(await refusal { try await session.files.rewrap(missing) }?.code == .absent)
    }

    @Test("A key rotation makes every earlier copy of a container useless")
    func replacingTheKeysKillsEveryCopyMadeBefore() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let kept = try await add(session, home, "kept")
        let removed = try await add(session, home, "removed")
        let aside = try home.read(container(kept))
        let removedAside = try home.read(container(removed))
        #expect(try await session.files.remove(removed))
        let report = try await session.files.rotateKeys()
        #expect(report.rewrapped == 1 && report.destroyedKeys == 2 && report.unreadable.isEmpty)
        #expect(try await read(session, kept) == plaintext)
        let now = try home.read(container(kept))
        // Put back where they were, and opened with all that is left.
        try home.write(container(kept), aside)
        try home.write(container(removed), removedAside)
        for session in [session, try await home.unlocked()] {
            for id in [kept, removed] {
                #expect(await refusal { _ = try await read(session, id) }?.code == .foreign)
                #expect(await refusal { try await session.files.rewrap(id) }?.code == .foreign)
            }
        }
        try home.write(container(kept), now)
        #expect(try await read(session, kept) == plaintext)
    }

    @Test("An unreadable file keeps the old keys until a later rotation succeeds")
    func aFileThatCannotBeReadKeepsTheOldKeys() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let (good, bad) = (try await add(session, home, "good"), try await add(session, home, "bad"))
        let whole = try home.read(container(bad))
        var damaged = whole
        damaged[500] ^= 1
        try home.write(container(bad), damaged)
        let report = try await session.files.rotateKeys()
        #expect(report.unreadable == [bad] && report.rewrapped == 1 && report.destroyedKeys == 0)
        try home.write(container(bad), whole)
        #expect(try await read(session, bad) == plaintext)
        // The same rotation goes on: no third key.
        let next = try await session.files.rotateKeys()
        #expect(next.unreadable.isEmpty && next.rewrapped == 1 && next.destroyedKeys == 2)
        #expect(try await read(session, good) == plaintext)
        #expect(try await read(session, bad) == plaintext)
        #expect(try session.files.fileKeys().entries.count == 2)
    }

    @Test("A rotation requires every class to be open")
    func everyClassHasToBeOpen() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let high = try await add(session, home)
        let low = try await add(session, home, class: .afterFirstUnlockThisDeviceOnly)
        let before = try home.everything()
        session.lock()
        #expect(await refusal { _ = try await session.files.rotateKeys() }?.code == .locked)
        #expect(await refusal { try await session.files.rewrap(high) }?.code == .locked)
        #expect(try home.everything() == before)
        try await session.files.rewrap(low)
        try await session.unlock(with: Passcode(copying: "correct horse"))
        #expect(try await session.files.rotateKeys().destroyedKeys == 3)
        for id in [high, low] { #expect(try await read(session, id) == plaintext) }
    }

    @Test("A vault without the record of file keys gets one")
    func aVaultWithoutTheRecordGetsOne() async throws {
        let home = try TestHome()
        let session = try await home.create()
        try home.remove("filekeys")
        let classKey = try session.core.keys.key(.whenUnlockedThisDeviceOnly)
        let id = try FileID.random()
        let writer = ContainerWriter(
            id: id, device: session.core.device, classKey: classKey,
            protection: .whenUnlockedThisDeviceOnly)
        try home.scratch.write("source", plaintext)
        try home.write(container(id), [])
        let target = try Descriptor.open(home.path(container(id)), .readWrite)
        try writer.seal(
            home.scratch.descriptor.open("source", .read), name: [0x61], into: target, check: {},
            progress: nil)
        #expect(try await read(session, id) == plaintext)
        let new = try await add(session, home, "new")
        #expect(try await read(session, id) == plaintext)
        let report = try await session.files.rotateKeys()
        #expect(report.rewrapped == 2 && report.destroyedKeys == 2)
        for id in [id, new] { #expect(try await read(try await home.unlocked(), id) == plaintext) }
        #expect(try slot(home, id).kekID != session.vaultID.bytes)
    }

    @Test("A rotation without a file's context rewraps its outer layer")
    func aBoundContextNeedNotBeThere() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let context = Array("record 7".utf8)
        let id = try await add(session, home, context: context)
        let other = try await add(session, home, "other")
        let aside = try home.read(container(id))
        #expect(await refusal { _ = try await read(session, id) }?.code == .corrupt)
        // The outer layer alone: of its old key nothing is left, and the inner one's stays for this file.
        #expect(try await session.files.rotateKeys().destroyedKeys == 1)
        #expect(try await read(session, id, context: context) == plaintext)
        #expect(await refusal { _ = try await read(session, id, context: [1]) }?.code == .corrupt)
        let now = try home.read(container(id))
        try home.write(container(id), aside)
        #expect(await refusal { _ = try await read(session, id, context: context) }?.code == .foreign)
        try home.write(container(id), now)
        try await session.files.rewrap(id, context: context)
        // Every rotation starts over; the first that finds the inner key unused removes it.
        #expect(try await session.files.rotateKeys().destroyedKeys == 2)
        #expect(try await read(session, id, context: context) == plaintext)
        #expect(try await read(session, other) == plaintext)
    }

    @Test("A context of more than 1024 bytes is refused")
    func aLongContextIsRefused() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let context = [UInt8](repeating: 1, count: 1025)
        #expect(await refusal { _ = try await add(session, home, context: context) }?.code == .invalidInput)
        let id = try await add(session, home, context: Array(context.dropLast()))
        #expect(try await read(session, id, context: Array(context.dropLast())) == plaintext)
    }

    /// Filling in a file holds the old keys; when it is there, all are destroyed.
    @Test("A file can be added during a rotation", .timeLimit(.minutes(10)))
    func addingMeanwhileIsFine() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let first = try await add(session, home)
        try home.scratch.write("slow", [UInt8](repeating: 7, count: 3 << 20))
        let (begun, released) = (Counter(), Counter())
        let slow = Task {
            try await session.files.add(contentsOf: home.scratch.path.appending("slow")) { _ in
                begun.increment()
                released.wait()
            }
        }
        try #require(await eventually { begun.value > 0 }, "The addition reports no progress.")
        let rewrap = Task {
            try await session.files.rotateKeys { if $0.completed == $0.total { released.increment() } }
        }
        let report = try await rewrap.value
        let id = try await slow.value
        #expect(report.rewrapped == 1)
        #expect(try await read(session, first) == plaintext)
        #expect(try await read(session, id) == [UInt8](repeating: 7, count: 3 << 20))
    }

    @Test("The record of file keys survives damage to one slot")
    func theRecordSurvivesDamageOfOneSlot() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(session, home)
        let record = try home.read("filekeys")
        for (offset, code) in [(100, nil), (8292, nil)] as [(Int, CofferError.Code?)] {
            var damaged = record
            damaged[offset] ^= 1
            try home.write("filekeys", damaged)
            #expect(await refusal { _ = try await read(session, id) }?.code == code)
        }
        var damaged = record
        for offset in [100, 8292] { damaged[offset] ^= 1 }
        try home.write("filekeys", damaged)
        #expect(await refusal { _ = try await read(session, id) }?.code == .corrupt)
        #expect(await refusal { _ = try await session.files.rotateKeys() }?.code == .corrupt)
        // Never replaced because it cannot be read.
        #expect(await refusal { _ = try await add(session, home, "new") }?.code == .corrupt)
        #expect(try home.read("filekeys") == damaged)
        try home.write("filekeys", record)
        #expect(try await read(session, id) == plaintext)
    }
}
