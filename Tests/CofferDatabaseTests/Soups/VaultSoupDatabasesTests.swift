import Coffer
import CofferBase
import CofferDatabase
import CofferTesting
import Foundation
import SystemPackage
import TestSupport
import Testing

@Suite("Stores of a vault")
struct VaultSoupDatabasesTests {
    private let specs = [IndexSpec("a", .string)]
    private static let canary = "canary-5c1f0d"

    private func fill(_ stores: SoupStores, _ scope: SoupStoreName.Scope = .user) async throws -> SoupStore {
        let store = try await stores.store("drafts", scope)
        try await store.registerSoup("a", indexSpecs: specs)
        try await store.upsert([["a": .string(Self.canary)]], in: "a")
        return store
    }

    /// Asks until the store is closed: a lock is told to the stores by an event.
    private func isLocked(_ store: SoupStore) async -> Bool {
        for _ in 0..<100_000 {
            if await code(of: { try await store.count(in: "a") }) == .locked { return true }
            await Task.yield()
        }
        return false
    }

    @Test("A store outlasts a lock, and needs the passcode to come back")
    func lock() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let stores = SoupStores(temporary.vault, clock: temporary.clock.source)
            let store = try await fill(stores)
            temporary.vault.lock()
            #expect(await isLocked(store))
            #expect(await code { try await stores.store("drafts") } == .locked)
            #expect(await code { try await stores.store("new") } == .locked)
            #expect(try await stores.names() == ["drafts"])
            try await temporary.vault.unlock(with: Passcode(copying: "2468"))
            let again = try await stores.store("drafts")
            #expect(try await again.count(.exact(.string(Self.canary), path: "a"), in: "a") == 1)
        }
    }

    @Test("Nothing of the documents stands in the files")
    func canary() async throws {
        try await TemporaryVault.with { temporary in
            let stores = SoupStores(temporary.vault)
            let store = try await fill(stores)
            let files = try FileManager.default.subpathsOfDirectory(atPath: temporary.location.path.string)
            let databases = files.filter { $0.contains("user-drafts.db") }
            #expect(databases.count > 1)
            for file in databases {
                let path = temporary.location.path.appending(file).string
                let bytes = try #require(FileManager.default.contents(atPath: path))
                #expect(bytes.range(of: Data(Self.canary.utf8)) == nil, "\(file)")
                #expect(bytes.range(of: Data("SQLite format".utf8)) == nil, "\(file)")
            }
            #expect(try await store.count(in: "a") == 1)
        }
    }

    @Test("A class that stays through a lock keeps its stores open; closing the session closes them")
    func classes() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let stores = SoupStores(temporary.vault, class: .afterFirstUnlockThisDeviceOnly)
            let store = try await fill(stores)
            temporary.vault.lock()
            #expect(try await stores.store("other").soupNames().isEmpty)
            #expect(try await store.count(in: "a") == 1)
            temporary.vault.close()
            #expect(await isLocked(store))
        }
    }

    @Test("A logout destroys user stores with their keys, and global ones stay")
    func logout() async throws {
        try await TemporaryVault.with { temporary in
            let stores = SoupStores(temporary.vault)
            _ = try await fill(stores)
            _ = try await fill(stores, .global)
            #expect(try await temporary.vault.tokens.count() == 2)
            try await stores.apply(.logout)
            #expect(try await temporary.vault.tokens.count() == 1)
            #expect(try await stores.names().isEmpty)
            #expect(try await stores.store("drafts", .global).count(in: "a") == 1)
            #expect(try await !stores.store("drafts").soupExists("a"))
        }
    }

    @Test("A store can be destroyed while the vault is locked")
    func destroyWhileLocked() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let stores = SoupStores(temporary.vault)
            _ = try await fill(stores)
            temporary.vault.lock()
            #expect(try await stores.remove("drafts"))
            #expect(try await !stores.remove("drafts"))
            #expect(try await stores.names().isEmpty)
        }
    }

    @Test("Wiping the vault destroys every store")
    func wipe() async throws {
        try await TemporaryVault.with { temporary in
            let stores = SoupStores(temporary.vault)
            let store = try await fill(stores)
            _ = try await temporary.vault.wipe()
            #expect(await isLocked(store))
            #expect(await code { try await stores.store("drafts") } == .wiped)
            let left = try FileManager.default.subpathsOfDirectory(atPath: temporary.location.path.string)
            #expect(!left.contains { $0.contains("drafts") })
            #expect(try await stores.names().isEmpty)
        }
    }

    @Test("A database without its key is an error, and stays as it is")
    func missingKey() async throws {
        try await TemporaryVault.with { temporary in
            let stores = SoupStores(temporary.vault)
            _ = try await fill(stores)
            await stores.close()
            let id = try TokenID(service: VaultSoupDatabases.keyService, account: "user/drafts", kind: .other)
            let key = try #require(try await temporary.vault.tokens.withToken(for: id) { key, _ in key })
            try await temporary.vault.tokens.remove(id)
            #expect(await code { try await stores.store("drafts") } == .corrupt)
            try await temporary.vault.tokens.putReserved(
                key, for: id, class: .whenUnlockedThisDeviceOnly)
            #expect(try await stores.store("drafts").count(in: "a") == 1)
        }
    }

    @Test("Two sessions on one vault share a store")
    func twoSessions() async throws {
        try await TemporaryVault.with { temporary in
            let other = try await temporary.openAnother()
            try await other.unlock()
            let (one, two) = (SoupStores(temporary.vault), SoupStores(other))
            let store = try await fill(one)
            let same = try await two.store("drafts")
            try await same.upsert([["a": "more"]], in: "a")
            #expect(try await store.count(in: "a") == 2)
            other.close()
        }
    }
}
