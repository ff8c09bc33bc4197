@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Session-only files")
struct VolatileFileTests {
    private static let content = Array("for this session".utf8)
    private static let passcode = "correct horse"

    private func container(_ id: FileID) -> String { "files/\(id).coffer" }

    private func add(
        _ session: Vault, _ name: FilePath.Component = "draft",
        class protection: ProtectionClass = .whenUnlockedThisDeviceOnly, isVolatile: Bool = true
    ) async throws -> FileID {
        try await session.files.add(Self.content, name: name, class: protection, isVolatile: isVolatile)
    }

    private func read(_ session: Vault, _ id: FileID) async throws -> [UInt8] {
        try await session.files.withDecryptedBytes(of: id) { $0.copied() }
    }

    private func names(_ session: Vault) async throws -> [String] {
        try await session.files.list().map(\.name.string)
    }

    private func exists(_ home: TestHome, _ id: FileID) -> Bool {
        FileManager.default.fileExists(atPath: home.path(container(id)).string)
    }

    @Test(
        "Every lock ends files of all classes, and the next list removes them",
        arguments: [ProtectionClass.whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly])
    func everyLockEndsThem(protection: ProtectionClass) async throws {
        let home = try TestHome()
        let clock = TestClock()
        let options = TestHome.options { $0.inactivity = .seconds(60) }
        let session = try await home.create(Self.passcode, options: options, clock: clock.source)
        let kept = try await add(session, "kept", class: protection, isVolatile: false)
        let locks: [() -> Void] = [
            { session.lock() }, { session.close() },
            {
                clock.advance(by: .seconds(61))
                _ = session.isUnlocked
            },
        ]
        for lock in locks {
            let id = try await add(session, class: protection)
            #expect(try await read(session, id) == Self.content)
            #expect(try await session.files.list().map(\.isVolatile) == [true, false])
            #expect(try await session.files.info(for: id).isVolatile)
            lock()
            try await session.unlock(with: Passcode(copying: Self.passcode))
            #expect(await refusal { _ = try await read(session, id) }?.code == .absent)
            #expect(exists(home, id))
            #expect(try await names(session) == ["kept"])
            #expect(!exists(home, id))
            #expect(try await read(session, kept) == Self.content)
            #expect(try await session.files.verifyAll().isClean)
        }
    }

    @Test("An addition and a removal clean up, too")
    func otherChanges() async throws {
        let home = try TestHome()
        let session = try await home.create()
        for round in 0..<2 {
            let kept = try await add(session, "kept", isVolatile: false)
            let id = try await add(session)
            session.lock()
            try await session.unlock()
            if round == 0 {
                _ = try await add(session, "another", isVolatile: false)
            } else {
                #expect(try await session.files.remove(kept))
            }
            #expect(!exists(home, id))
        }
        #expect(try await session.files.verifyAll().isClean)
    }

    @Test("Another vault object cannot read a file of this one, and does not remove it")
    func anotherSession() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(session)
        let other = try await home.unlocked()
        #expect(await refusal { _ = try await read(other, id) }?.code == .absent)
        #expect(await refusal { try await other.files.rename(id, to: "mine") }?.code == .absent)
        #expect(try await names(other) == ["draft"])
        #expect(try await other.files.verifyAll().isClean)
        #expect(try await read(session, id) == Self.content)
        session.lock()
        #expect(try await names(other).isEmpty)
        #expect(!exists(home, id))
    }

    @Test("A file ends with the process that added it, also by kill -9")
    func killed() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let agent = try #require(Agent.start(["volatile-file", home.location.path.string]))
        let line = try #require(agent.line()).split(separator: " ")
        #expect(line.count == 2 && line.last == "12")
        let id = try #require(try await session.files.list().first).id
        #expect(line.first.map { String($0) } == id.description && exists(home, id))
        #expect(await refusal { _ = try await read(session, id) }?.code == .absent)
        agent.kill()
        #expect(try await names(session).isEmpty)
        #expect(!exists(home, id))
        #expect(try await session.files.verifyAll().isClean)
    }

    @Test("A removed file is gone at once, and its name can be used again")
    func removed() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(session)
        #expect(try await session.files.remove(id))
        #expect(!exists(home, id))
        #expect(try await read(session, add(session)) == Self.content)
        #expect(try await names(session) == ["draft"])
    }

    @Test("A renamed or rewrapped file stays session-only; its content cannot be changed")
    func staysVolatile() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(session)
        try await session.files.rename(id, to: "renamed")
        try await session.files.rewrap(id)
        let report = try await session.files.rotateKeys()
        #expect(report.unreadable.isEmpty && report.destroyedKeys > 0)
        #expect(try await session.files.reindex().isEmpty)
        #expect(try await read(session, id) == Self.content)
        #expect(try await session.files.list().map(\.isVolatile) == [true])
        let edit = await refusal {
            _ = try await session.files.withEditableCopy(of: id) { _ in Issue.record("a writable copy") }
        }
        #expect(edit?.code == .refused)
        session.lock()
        try await session.unlock()
        #expect(await refusal { _ = try await read(session, id) }?.code == .absent)
        #expect(try await names(session).isEmpty)
    }

    @Test("The original of a session-only file is not removed")
    func originalStays() async throws {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("file", Self.content)
        let path = home.scratch.path.appending("file")
        let code = await refusal {
            _ = try await session.files.add(contentsOf: path, isVolatile: true, removingOriginal: true)
        }?.code
        #expect(code == .invalidInput)
        #expect(FileManager.default.fileExists(atPath: path.string))
        let id = try await session.files.add(contentsOf: path, isVolatile: true)
        #expect(try await read(session, id) == Self.content)
    }

    // MARK: What is not removed

    @Test("Neither damage nor a foreign container makes the cleanup remove anything")
    func whatCannotBeToldApart() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let kept = try await add(session, "kept", isVolatile: false)
        let swapped = try await add(session, "swapped")
        let damaged = try await add(session, "damaged")
        let ended = try await add(session, "ended")
        session.lock()
        try home.write(container(swapped), home.read(container(kept)))
        var bytes = try home.read(container(damaged))
        bytes[500] ^= 1
        try home.write(container(damaged), bytes)
        try await session.unlock()
        #expect(try await names(session) == ["damaged", "kept", "swapped"])
        #expect(!exists(home, ended))
        #expect(try await read(session, kept) == Self.content)
        #expect(try home.read(container(damaged)) == bytes)
    }

    @Test("An ordinary file that the index alone marks as session-only stays")
    func bothMarksCount() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(session, "kept", isVolatile: false)
        let before = try home.read(container(id))
        let vault = try session.core.home.openVault()
        let device = session.core.device
        let file = try Descriptor.open(home.path(container(id)), .read)
        let found = try ContainerReader.header(
            of: file, id: id, device: device, keys: session.files.fileKeys())
        var header = found.header
        for keeper in [VolatileFileKeeper.process, .kernelKeyring] {
            header.keeper = keeper
            try FileIndex(device: device).add(FileIndexRecord(header), found.protection, in: vault) {
                (protection) throws(CofferError) in try session.core.keys.key(protection)
            }
            #expect(try await session.files.list().map(\.isVolatile) == [true])
            #expect(try home.read(container(id)) == before)
        }
        #expect(try await session.files.reindex().isEmpty)
        #expect(try await session.files.list().map(\.isVolatile) == [false])
        #expect(try await read(session, id) == Self.content)
    }

    @Test("A damaged index lets nothing be removed that it no longer names")
    func damagedIndex() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try await add(session)
        session.lock()
        var index = try home.read("fileindex")
        index[1536 + 20] ^= 1
        try home.write("fileindex", index)
        try await session.unlock()
        #expect(try await session.files.listing().isIndexDamaged)
        #expect(exists(home, id))
        #expect(try await session.files.reindex().isEmpty)
        #expect(try await names(session).isEmpty)
        #expect(!exists(home, id))
    }

    @Test("Unknown flags of a container are refused", arguments: [UInt8(4), 8, 5, 15])
    func unknownFlags(_ flags: UInt8) throws {
        let header = InnerHeader(
            chunkSizeLog2: 16, keeper: .process, id: try FileID.random(),
            salt: [UInt8](repeating: 1, count: 32), kekID: [UInt8](repeating: 2, count: 16),
            wrappedKey: [UInt8](repeating: 3, count: 40), commitment: [UInt8](repeating: 4, count: 32),
            length: 5, modified: 0, name: [0x61])
        var bytes = try header.encode(authenticationKey: SymmetricKey.random())
        #expect(bytes[15] == 6)
        #expect(try InnerHeader.decode(bytes).keeper == .process)
        bytes[15] = flags
        #expect(failure { _ = try InnerHeader.decode(bytes) } == .unsupportedVersion)
    }

    // MARK: In the kernel keyring

    @Test(
        "A session in the kernel keyring is shared until any process locks",
        .enabled(if: KernelKeyring.isAvailable))
    func shared() async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        defer { session.close() }
        session.shareEphemeralTokens()
        try await session.cacheKeysInKernel()
        let (first, second) = (try await add(session, "1"), try await add(session, "2"))
        let other = try await home.open()
        other.shareEphemeralTokens()
        #expect(try await other.restoreCachedKeys())
        for id in [first, second] { #expect(try await read(other, id) == Self.content) }
        #expect(try await names(other) == ["1", "2"])
        // Without the keyring's secret, the passcode opens nothing.
        _ = try KernelSubkeyring.remove(KernelKeyringStorage.name(session.vaultID))
        let third = try await home.unlocked(Self.passcode)
        #expect(await refusal { _ = try await read(third, first) }?.code == .absent)
        let fresh = try await add(other, "3")
        #expect(try await names(third) == ["3"])
        #expect(try await read(third, fresh) == Self.content)
        other.lock()
        #expect(await refusal { _ = try await read(third, fresh) }?.code == .absent)
        #expect(try await names(third).isEmpty)
        for id in [first, second, fresh] { #expect(!exists(home, id)) }
        #expect(try await third.files.verifyAll().isClean)
    }

    @Test(
        "A secret that another program puts in the keyring opens no file, nor does any after a reboot",
        .enabled(if: KernelKeyring.isAvailable))
    func planted() async throws {
        let home = try TestHome()
        let clock = TestClock()
        let session = try await home.create(Self.passcode, clock: clock.source)
        defer { session.close() }
        session.shareEphemeralTokens()
        let id = try await add(session)
        let protection = ProtectionClass.whenUnlockedThisDeviceOnly
        let ring = try #require(try session.core.cachedKeys.volatileRing())
        #expect(try ring.descriptions() == ["files:\(protection.name)"])
        // A token beside it is not disturbed by it.
        let token = try TokenID(service: "s", account: "a")
        try await session.tokens.put(Token(copying: "x"), for: token, isEphemeral: true)
        #expect(try await session.tokens.count() == 1)
        try ring.store(GuardedBytes.random(count: 32), description: "files:\(protection.name)")
        #expect(await refusal { _ = try await read(session, id) }?.code == .absent)
        let fresh = try await add(session, "fresh")
        #expect(try await names(session) == ["fresh"])
        #expect(try await read(session, fresh) == Self.content)
        clock.reboot()
        try await session.unlock(with: Passcode(copying: Self.passcode))
        #expect(await refusal { _ = try await read(session, fresh) }?.code == .absent)
        #expect(try await names(session).isEmpty)
    }
}
