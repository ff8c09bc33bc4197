import Coffer
import CofferBackup
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

@Suite("Several backups beside each other", .timeLimit(.minutes(10)))
struct KeptBackupsTests {
    private let scene: BackupScene

    init() throws { scene = try BackupScene() }

    private func create(_ vault: Vault, keeping count: Int) async throws -> BackupContents {
        try await vault.createBackup(at: scene.path, for: scene.key, keeping: count)
    }

    private func bytes(_ name: String) throws -> [UInt8] {
        try scene.bytes(scene.scratch.path.appending(name))
    }

    @Test("A file that is no backup is neither replaced, renamed nor removed")
    func foreign() async throws {
        let vault = try await scene.create(passcode: nil)
        let notes = Array("notes".utf8)
        try scene.write(notes)
        #expect(await BackupScene.code { _ = try await create(vault, keeping: 3) } == .refused)
        try scene.scratch.descriptor.remove("vault.age")
        for number in 1...3 { try scene.scratch.write(FilePath("vault.age.\(number)"), notes) }
        // The first backup is in nobody's way.
        _ = try await create(vault, keeping: 3)
        let first = try scene.bytes()
        #expect(await BackupScene.code { _ = try await create(vault, keeping: 3) } == .refused)
        #expect(try scene.bytes() == first)
        _ = try await create(vault, keeping: 1)
        for number in 1...3 { #expect(try bytes("vault.age.\(number)") == notes) }
        // Beyond those that are kept, what is no backup ends the row.
        try scene.scratch.descriptor.remove("vault.age.1")
        let second = try scene.bytes()
        _ = try await create(vault, keeping: 2)
        #expect(try bytes("vault.age.1") == second && bytes("vault.age.2") == notes)
        try scene.scratch.descriptor.remove("vault.age.1")
        try scene.scratch.link("vault.age.1", to: "vault.age.3")
        #expect(await BackupScene.code { _ = try await create(vault, keeping: 2) } == .refused)
        try scene.scratch.descriptor.remove("vault.age.1")
        try scene.scratch.descriptor.makeDirectory("vault.age.1")
        #expect(await BackupScene.code { _ = try await create(vault, keeping: 2) } == .refused)
        #expect(try bytes("vault.age.3") == notes)
    }

    @Test("What a killed process left is taken up: no backup is lost and none is there twice")
    func interrupted() async throws {
        let vault = try await scene.create(passcode: nil)
        var made: [[UInt8]] = []
        for _ in 0..<3 {
            _ = try await create(vault, keeping: 3)
            made.append(try scene.bytes())
        }
        // Killed after the present backup got its place in the row, and with the new one not yet in its own.
        let folder = try Descriptor.open(scene.scratch.path, [.read, .directory])
        try folder.remove("vault.age.2")
        try folder.rename("vault.age.1", to: "vault.age.2")
        try folder.link(folder.open("vault.age", .read), as: "vault.age.1")
        let unfinished = try Descriptor.temporaryName()
        try scene.scratch.write(unfinished, made[0])
        try scene.scratch.write(".tmp-mine", [1])
        _ = try await create(vault, keeping: 3)
        #expect(try bytes("vault.age.1") == made[2] && bytes("vault.age.2") == made[1])
        #expect(
            try scene.scratch.names() == [".tmp-mine", "home", "vault.age", "vault.age.1", "vault.age.2"])
        // A gap takes up the next one, and what is behind it stays as it is.
        try folder.remove("vault.age.1")
        let newest = try scene.bytes()
        _ = try await create(vault, keeping: 3)
        #expect(try bytes("vault.age.1") == newest && bytes("vault.age.2") == made[1])
    }

    @Test("A backup that another process is still writing is left alone")
    func unfinished() async throws {
        let vault = try await scene.create(passcode: nil)
        _ = try await create(vault, keeping: 2)
        let name = try Descriptor.temporaryName()
        try scene.scratch.write(name, try scene.bytes())
        do {
            let folder = try Descriptor.open(scene.scratch.path, [.read, .directory])
            let writer = try folder.open(name, .readWrite)
            #expect(try writer.tryLock())
            _ = try await create(vault, keeping: 2)
            #expect(try folder.status(of: name) != nil)
        }
        _ = try await create(vault, keeping: 2)
        #expect(try scene.scratch.names() == ["home", "vault.age", "vault.age.1"])
    }

    @Test("Backups that are made at the same time are all kept")
    func together() async throws {
        let vault = try await scene.create(passcode: nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { _ = try await create(vault, keeping: 5) } }
            try await group.waitForAll()
        }
        let names = ["vault.age"] + (1...4).map { "vault.age.\($0)" }
        #expect(try scene.scratch.names() == ["home"] + names)
        #expect(try Set(names.map { try bytes($0) }).count == 5)
    }

    @Test("A backup that omits damaged items removes no earlier one; a missing container is damage")
    func damage() async throws {
        let vault = try await scene.create(passcode: nil)
        let movable = try await scene.fill(vault, .whenUnlocked)
        let sealed = try await scene.fill(vault, .whenUnlockedThisDeviceOnly)
        for _ in 0..<2 { _ = try await create(vault, keeping: 2) }
        let (newest, oldest) = (try scene.bytes(), try bytes("vault.age.1"))
        for id in [movable, sealed] {
            let container = scene.scratch.path.appending("home/vault/files/\(id).coffer")
            let whole = try scene.bytes(container)
            try FileManager.default.removeItem(atPath: container.string)
            let missing = try await create(vault, keeping: 2)
            #expect(missing.omitted.map(\.reason) == [.damaged], "\(missing.omitted)")
            try scene.write([UInt8](repeating: 0, count: whole.count), to: container)
            let overwritten = try await create(vault, keeping: 2)
            #expect(overwritten.omitted.map(\.reason) == [.damaged], "\(overwritten.omitted)")
            try scene.write(whole, to: container)
        }
        #expect(try bytes("vault.age.5") == oldest && bytes("vault.age.4") == newest)
        #expect(try await create(vault, keeping: 2).omitted.isEmpty)
        #expect(try scene.scratch.names() == ["home", "vault.age", "vault.age.1"])
    }
}
