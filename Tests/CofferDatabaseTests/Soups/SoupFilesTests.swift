import Coffer
import CofferBase
import CofferDatabase
import CofferTesting
import SystemPackage
import TestSupport
import Testing

@Suite("Files of soup entries")
struct SoupFilesTests {
    private func withFiles(
        _ body: (SoupStore, SoupFiles, FileStore, FilePath) async throws -> Void
    ) async throws {
        let scratch = try ScratchDirectory.make()
        try scratch.write("video", .counting(200_000))
        try await TemporaryVault.with { temporary in
            let store = try await SoupStore.people()
            let files = temporary.vault.files
            try await body(
                store, SoupFiles(store: store, files: files), files, scratch.path.appending("video"))
        }
    }

    @Test("A file is attached, read, replaced and detached")
    func attach() async throws {
        try await withFiles { store, attachments, files, path in
            let first = try await attachments.attach(contentsOf: path, as: "film", to: 1, in: "people")
            #expect(try await attachments.attachments(of: 1, in: "people") == ["film": first])
            let count = try await attachments.withBytes(of: "film", entry: 1, in: "people") { $0.count }
            #expect(count == 200_000)
            let second = try await attachments.attach(contentsOf: path, as: "film", to: 1, in: "people")
            #expect(try await attachments.attachments(of: 1, in: "people") == ["film": second])
            #expect(try await files.count() == 1)
            #expect(try await attachments.detach("film", from: 1, in: "people"))
            #expect(try await !attachments.detach("film", from: 1, in: "people"))
            #expect(try await attachments.withBytes(of: "film", entry: 1, in: "people") { $0.count } == nil)
            #expect(try await files.count() == 0)
        }
    }

    @Test("A file is attached to what exists only, and nothing is left of what failed")
    func attachRefuses() async throws {
        try await withFiles { store, attachments, files, path in
            func attach(_ name: String, _ entry: Int64, _ soup: String, _ path: FilePath) async -> CofferError
                .Code?
            {
                await code { try await attachments.attach(contentsOf: path, as: name, to: entry, in: soup) }
            }
            #expect(await attach("film", 99, "people", path) == .absent)
            #expect(await attach("film", 1, "nobody", path) == .absent)
            #expect(await attach("", 1, "people", path) == .invalidInput)
            #expect(await attach("a\u{0}", 1, "people", path) == .invalidInput)
            #expect(await attach("film", 1, "people", path.appending("none")) != nil)
            let count = try await files.count()
            #expect(count == 0)
            let none = try await attachments.attachments(of: 99, in: "people")
            #expect(none.isEmpty)
            #expect(await code { try await attachments.attachments(of: 1, in: "nobody") } == .absent)
        }
    }

    @Test("Files are removed with their entries, however these are removed")
    func releases() async throws {
        try await withFiles { store, attachments, files, path in
            try await store.registerSoup("other", indexSpecs: [IndexSpec("a", .string)])
            try await store.upsert([["a": "x"]], in: "other")
            for entry in 1...5 as ClosedRange<Int64> {
                try await attachments.attach(contentsOf: path, as: "one", to: entry, in: "people")
            }
            let kept = try await attachments.attach(contentsOf: path, as: "one", to: 1, in: "other")
            try await store.remove([1], from: "people")
            #expect(try await attachments.reclaim() == 1)
            try await store.remove(matching: .exact("Grace", path: "Name"), from: "people")
            #expect(try await attachments.reclaim() == 1)
            try await store.alterSoup("people", indexSpecs: [IndexSpec("Name", .string)])
            #expect(try await attachments.reclaim() == 0)
            try await store.retain(RetentionPolicy(minimumCount: 0, maximumCount: 2), in: "people")
            #expect(try await attachments.reclaim() == 1)
            #expect(try await attachments.attachments(of: 4, in: "people").count == 1)
            try await store.remove([4], from: "people")
            #expect(try await attachments.reclaim() == 1)
            try await store.removeSoup("people")
            #expect(try await attachments.reclaim() == 1)
            #expect(try await files.list().map(\.id) == [kept])
            try await store.clearSoup("other")
            #expect(try await attachments.reclaim() == 1)
            #expect(try await files.count() == 0)
        }
    }
}
