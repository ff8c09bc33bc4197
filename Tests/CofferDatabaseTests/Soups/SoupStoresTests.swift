import CofferBase
import CofferTesting
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import CofferDatabase

@Suite("User and global stores")
struct SoupStoresTests {
    /// Plain files in a directory: what matters here is which of them are opened and destroyed.
    private final class PlainDatabases: SoupDatabases {
        private let directory: URL

        init(_ scratch: borrowing ScratchDirectory) { directory = URL(filePath: scratch.path.string) }

        private func file(_ name: SoupStoreName) -> URL {
            directory.appending(path: "\(name.scope.rawValue)-\(name.name).db")
        }

        func open(_ name: SoupStoreName) async throws(CofferError) -> any DatabaseWriter {
            do {
                return try DatabaseQueue(path: file(name).path(percentEncoded: false))
            } catch {
                throw CofferError(soups: error)
            }
        }

        func names() async throws(CofferError) -> [SoupStoreName] {
            let found = try? FileManager.default.contentsOfDirectory(
                atPath: directory.path(percentEncoded: false))
            return (found ?? []).filter { $0.hasSuffix(".db") }.compactMap { file in
                let parts = file.dropLast(3).split(separator: "-", maxSplits: 1).map(String.init)
                guard parts.count == 2, let scope = SoupStoreName.Scope(rawValue: parts[0]) else {
                    return nil
                }
                return try? SoupStoreName(parts[1], scope)
            }
        }

        func destroy(_ name: SoupStoreName) async throws(CofferError) -> Bool {
            guard name.name != "stubborn" else { throw CofferError(.permissionDenied, "The test refuses.") }
            return (try? FileManager.default.removeItem(at: file(name))) != nil
        }
    }

    private let specs = [IndexSpec("a", .string)]

    private func fill(_ stores: SoupStores) async throws {
        for (name, scope) in [("default", SoupStoreName.Scope.user), ("drafts", .user), ("default", .global)]
        {
            let store = try await stores.store(name, scope)
            try await store.registerSoup("a", indexSpecs: specs)
            try await store.upsert([["a": .string("\(scope) \(name)")]], in: "a")
        }
    }

    @Test("Stores are apart by name and scope, and the same while they are open")
    func names() async throws {
        let scratch = try ScratchDirectory.make()
        let stores = SoupStores(PlainDatabases(scratch))
        try await fill(stores)
        #expect(try await stores.names() == ["default", "drafts"])
        #expect(try await stores.names(.global) == ["default"])
        for (name, scope) in [("default", SoupStoreName.Scope.user), ("drafts", .user), ("default", .global)]
        {
            let store = try await stores.store(name, scope)
            #expect(try await store.names(.all(), in: "a", path: "a") == ["\(scope) \(name)"])
            #expect(try await stores.store(name, scope) === store)
        }
    }

    @Test(
        "Names that could lead elsewhere are refused",
        arguments: ["", ".", "..", "../x", "a/b", "a\u{0}", "é", "a b", String(repeating: "a", count: 65)])
    func badNames(_ name: String) async throws {
        let scratch = try ScratchDirectory.make()
        let stores = SoupStores(PlainDatabases(scratch))
        #expect(await code { try await stores.store(name) } == .invalidInput)
        #expect(await code { try await stores.remove(name) } == .invalidInput)
        #expect(try scratch.names().isEmpty)
    }

    @Test("A store is removed alone, or all of a scope")
    func remove() async throws {
        let scratch = try ScratchDirectory.make()
        let stores = SoupStores(PlainDatabases(scratch))
        try await fill(stores)
        let drafts = try await stores.store("drafts")
        #expect(try await stores.remove("drafts"))
        #expect(try await !stores.remove("drafts"))
        #expect(await code { try await drafts.count(in: "a") } == .locked)
        #expect(try await stores.names() == ["default"])
        _ = try await stores.store("more")
        #expect(try await stores.removeAll() == 2)
        #expect(try await stores.names().isEmpty)
        #expect(try await stores.names(.global) == ["default"])
        #expect(try await !stores.store().soupExists("a"))
    }

    @Test(
        "By default a logout and a revocation destroy user stores and close global ones",
        arguments: [
            SoupStorePolicy.Event.logout, .revocation,
        ])
    func logout(_ event: SoupStorePolicy.Event) async throws {
        let scratch = try ScratchDirectory.make()
        let stores = SoupStores(PlainDatabases(scratch))
        try await fill(stores)
        let (user, global) = (try await stores.store(), try await stores.store("default", .global))
        try await stores.apply(event)
        #expect(await code { try await user.count(in: "a") } == .locked)
        #expect(await code { try await global.count(in: "a") } == .locked)
        #expect(try await stores.names().isEmpty)
        #expect(try await stores.store("default", .global).count(in: "a") == 1)
    }

    @Test("A policy may wipe, lock or keep", arguments: SoupStorePolicy.Action.allCases)
    func policies(_ action: SoupStorePolicy.Action) async throws {
        let scratch = try ScratchDirectory.make()
        let policy = SoupStorePolicy(
            userLogout: action, userRevocation: .keep, globalLogout: .keep, globalRevocation: action)
        let stores = SoupStores(PlainDatabases(scratch), policy: policy)
        try await fill(stores)
        let (user, global) = (try await stores.store(), try await stores.store("default", .global))
        try await stores.apply(.logout)
        #expect(await code { try await user.count(in: "a") } == (action == .keep ? nil : .locked))
        #expect(try await stores.names().count == (action == .wipe ? 0 : 2))
        #expect(try await global.count(in: "a") == 1)
        try await stores.apply(.revocation)
        #expect(await code { try await global.count(in: "a") } == (action == .keep ? nil : .locked))
        #expect(try await stores.names(.global).count == (action == .wipe ? 0 : 1))
    }

    @Test("A lock closes every store and a wipe destroys it, whatever the policy")
    func lockAndWipe() async throws {
        let scratch = try ScratchDirectory.make()
        let policy = SoupStorePolicy(
            userLogout: .keep, userRevocation: .keep, globalLogout: .keep, globalRevocation: .keep)
        let stores = SoupStores(PlainDatabases(scratch), policy: policy)
        try await fill(stores)
        let (user, global) = (try await stores.store(), try await stores.store("default", .global))
        try await stores.apply(.lock)
        #expect(await code { try await user.upsert([[:]], in: "a") } == .locked)
        #expect(await code { try await global.upsert([[:]], in: "a") } == .locked)
        #expect(try await stores.store().count(in: "a") == 1)
        try await stores.apply(.wipe)
        #expect(try await stores.names().isEmpty)
        #expect(try await stores.names(.global).isEmpty)
    }

    @Test("A store that cannot be destroyed does not save the others")
    func failingDestruction() async throws {
        let scratch = try ScratchDirectory.make()
        let stores = SoupStores(PlainDatabases(scratch))
        try await fill(stores)
        _ = try await stores.store("stubborn")
        _ = try await stores.store("stubborn", .global)
        #expect(await code { try await stores.apply(.wipe) } == .permissionDenied)
        #expect(try await stores.names() == ["stubborn"])
        #expect(try await stores.names(.global) == ["stubborn"])
    }

    @Test("Tasks that ask for one store at once share it")
    func concurrentOpening() async throws {
        let scratch = try ScratchDirectory.make()
        let stores = SoupStores(PlainDatabases(scratch))
        let opened = try await withThrowingTaskGroup(of: SoupStore.self) { group in
            for _ in 0..<8 { group.addTask { try await stores.store() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(opened.map(ObjectIdentifier.init)).count == 1)
    }
}
