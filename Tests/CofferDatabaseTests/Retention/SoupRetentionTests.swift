import CofferBase
import CofferDatabase
import CofferTesting
import TestSupport
import Testing

@Suite("Retention")
struct SoupRetentionTests {
    private let week = Duration.seconds(7 * 24 * 3600)

    /// A soup with `old` entries viewed at the clock's start and `fresh` ones viewed `age` later, which is
    /// where the clock then stands.
    private func store(
        old: Int, fresh: Int, after age: Duration, _ clock: TestClock = TestClock()
    ) async throws -> SoupStore {
        let store = try await SoupStore.insecureInMemory(clock: clock.source)
        try await store.registerSoup("feed", indexSpecs: [IndexSpec("kind", .string)])
        try await store.upsert(Array(repeating: ["kind": "old"], count: old), in: "feed")
        clock.advance(by: age)
        try await store.upsert(Array(repeating: ["kind": "fresh"], count: fresh), in: "feed")
        return store
    }

    @Test("The numbers where none are given are a week, 25 and 500")
    func defaults() {
        let policy = RetentionPolicy()
        #expect(policy.maximumAge == week && policy.minimumCount == 25 && policy.maximumCount == 500)
    }

    @Test("Entries viewed more than a week ago are purged when 25 remain")
    func purge() async throws {
        let store = try await store(old: 10, fresh: 25, after: week + .milliseconds(1))
        let report = try await store.retain(RetentionPolicy(), in: "feed")
        #expect(report.purged == 10 && report.trimmed == 0 && report.remaining == 25)
        #expect(try await store.count(in: "feed") == 25)
        #expect(try await store.count(.exact("old", path: "kind"), in: "feed") == 0)
        #expect(try await store.retain(RetentionPolicy(), in: "feed").purged == 0)
    }

    @Test("Nothing is purged when fewer than 25 would remain")
    func minimum() async throws {
        let store = try await store(old: 1000, fresh: 24, after: week * 52)
        let report = try await store.retain(RetentionPolicy(maximumCount: 2000), in: "feed")
        #expect(report.purged == 0 && report.trimmed == 0 && report.remaining == 1024)
    }

    @Test("Exactly a week ago is kept")
    func boundary() async throws {
        let store = try await store(old: 10, fresh: 25, after: week)
        #expect(try await store.retain(RetentionPolicy(), in: "feed").purged == 0)
    }

    @Test("Beyond 500, those viewed longest ago are trimmed")
    func trim() async throws {
        let store = try await store(old: 300, fresh: 210, after: .seconds(60))
        try await store.markViewed([1, 2, 3], in: "feed")
        let report = try await store.retain(RetentionPolicy(), in: "feed")
        #expect(report.purged == 0 && report.trimmed == 10 && report.remaining == 500)
        #expect(
            try await store.retrieve(Array(1...14), from: "feed").compactMap(\.soupEntryID) == [1, 2, 3, 14])
        #expect(try await store.retain(RetentionPolicy(), in: "feed").trimmed == 0)
    }

    @Test("Entries that the purge keeps as the fewest are still trimmed")
    func purgeAndTrim() async throws {
        let store = try await store(old: 30, fresh: 40, after: week * 2)
        let policy = RetentionPolicy(minimumCount: 5, maximumCount: 20)
        let report = try await store.retain(policy, in: "feed")
        #expect(report.purged == 30 && report.trimmed == 20 && report.remaining == 20)
        #expect(try await store.count(.exact("old", path: "kind"), in: "feed") == 0)
    }

    @Test("markViewed keeps an entry, replacing it does not, and the document stays as it is")
    func markViewed() async throws {
        let clock = TestClock()
        let store = try await store(old: 3, fresh: 0, after: week * 2, clock)
        let before = try await store.retrieve([1], from: "feed")
        #expect(try await store.markViewed([1, 99], in: "feed") == 1)
        #expect(try await store.retrieve([1], from: "feed") == before)
        try await store.upsert(try await store.retrieve([2], from: "feed"), in: "feed")
        let report = try await store.retain(RetentionPolicy(minimumCount: 0), in: "feed")
        #expect(report.purged == 2)
        #expect(try await store.retrieve([1, 2, 3], from: "feed").compactMap(\.soupEntryID) == [1])
        #expect(await code { try await store.markViewed([1], in: "x") } == .absent)
    }

    @Test("Policies that make no sense, and soups that do not exist, are refused")
    func refusals() async throws {
        let store = try await store(old: 3, fresh: 0, after: week)
        for policy in [
            RetentionPolicy(maximumAge: .seconds(-1)), RetentionPolicy(minimumCount: -1),
            RetentionPolicy(minimumCount: 501), RetentionPolicy(minimumCount: 0, maximumCount: -1),
        ] {
            #expect(await code { try await store.retain(policy, in: "feed") } == .invalidInput)
        }
        #expect(await code { try await store.retain(RetentionPolicy(), in: "x") } == .absent)
        #expect(try await store.count(in: "feed") == 3)
    }

    @Test("A policy can remove every entry, and an age beyond all time keeps every one")
    func extremes() async throws {
        let store = try await store(old: 3, fresh: 2, after: .milliseconds(1))
        let forever = RetentionPolicy(maximumAge: .seconds(9_000_000_000_000_000), minimumCount: 0)
        #expect(try await store.retain(forever, in: "feed").remaining == 5)
        let nothing = RetentionPolicy(maximumAge: .zero, minimumCount: 0, maximumCount: 0)
        let report = try await store.retain(nothing, in: "feed")
        #expect(report.purged == 3 && report.trimmed == 2 && report.remaining == 0)
        #expect(try await store.retain(nothing, in: "feed").remaining == 0)
    }
}
