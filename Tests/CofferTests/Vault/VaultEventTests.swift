@testable import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import Synchronization
import SystemPackage
import Testing
import TestSupport

@Suite("Session events")
struct VaultEventTests {
    @Test("The session posts each change once, in order")
    func eachChangeIsToldOnceAndAfterIt() async throws {
        let home = try TestHome()
        let clock = TestClock()
        let options = TestHome.options { $0.inactivity = .seconds(600) }
        let session = try await home.create("correct horse", options: options, clock: clock.source)
        var events = session.events.makeAsyncIterator()
        session.lock()
        session.lock()
        try await session.unlock(with: Passcode(copying: "correct horse"))
        clock.advance(by: .seconds(601))
        #expect(!session.isUnlocked)
        #expect(!session.isUnlocked)
        try await session.unlock(with: Passcode(copying: "correct horse"))
        session.close()
        _ = try await session.wipe()
        let expected = [
            VaultEvent(.locked, .requested), VaultEvent(.unlocked), VaultEvent(.locked, .inactivity),
            VaultEvent(.unlocked), VaultEvent(.closed, .requested), VaultEvent(.wiped),
        ]
        for event in expected { #expect(await events.next() == event) }
    }

    @Test("Every listener has its own stream, which ends with the session")
    func everyListenerHasAStreamThatEndsWithTheSession() async throws {
        let home = try TestHome()
        var session: Vault? = try await home.create("correct horse")
        let streams = try (0..<3).map { _ in try #require(session?.events) }
        session?.lock()
        session = nil
        for stream in streams {
            var heard: [VaultEvent] = []
            for await event in stream { heard.append(event) }
            #expect(heard == [VaultEvent(.locked, .requested)])
        }
    }

    @Test("A slow listener keeps the newest events")
    func whoDoesNotReadKeepsTheNewest() async throws {
        let broadcaster = EventBroadcaster()
        let stream = broadcaster.stream()
        for _ in 0..<100 { broadcaster.post(VaultEvent(.unlocked)) }
        broadcaster.post(VaultEvent(.locked, .sleep))
        var events = stream.makeAsyncIterator()
        var last: VaultEvent?
        for _ in 0..<64 { last = await events.next() }
        #expect(last == VaultEvent(.locked, .sleep))
    }

    @Test("A lock takes every class from what lasts for a session, and only its own from the rest")
    func evictions() {
        final class Witness: Sendable {
            let losses = Mutex<[Set<ProtectionClass>]>([])
        }
        let broadcaster = EventBroadcaster()
        let (kept, volatile) = (Witness(), Witness())
        broadcaster.onKeyEviction(while: kept) { [kept] lost in kept.losses.withLock { $0.append(lost) } }
        broadcaster.onKeyEviction(while: volatile, isForAnyLock: true) { [volatile] lost in
            volatile.losses.withLock { $0.append(lost) }
        }
        broadcaster.keysEvicted(of: [.whenUnlocked])
        broadcaster.post(VaultEvent(.locked, .requested))
        broadcaster.post(VaultEvent(.closed, .requested))
        let all = Set(ProtectionClass.allCases)
        let evicted = all.filter(\.isEvictedOnLock)
        #expect(kept.losses.withLock { $0 } == [[.whenUnlocked], evicted, all])
        #expect(volatile.losses.withLock { $0 } == [[.whenUnlocked], all, all])
    }
}
