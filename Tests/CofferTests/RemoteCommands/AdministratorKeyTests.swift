@testable import Coffer
import CofferBase
import CofferTesting
import Foundation
import Testing
import TestSupport

@Suite("Pinned keys")
struct AdministratorKeyTests {
    @Test("The owner pins and removes keys, and only while unlocked")
    func owner() async throws {
        let scene = try await OrderFixture.make()
        let key = try Administrator().key
        try await scene.session.pinAdministratorKey(key, label: "zwei")
        let keys = try await scene.session.administratorKeys()
        #expect(
            keys.map(\.key) == [scene.administrator.key, key] && keys.map(\.label) == ["the office", "zwei"])
        #expect(keys[0].pinned == scene.now)
        #expect(await refusal { try await scene.session.pinAdministratorKey(key) }?.code == .alreadyExists)
        scene.session.lock()
        let before = try scene.home.everything()
        let other = try Administrator().key
        let changes: [() async throws -> Void] = [
            { try await scene.session.pinAdministratorKey(other) },
            { try await scene.session.removeAdministratorKey(key) },
            { try await scene.session.setDeadManSwitch(nil) },
        ]
        for change in changes { #expect(await refusal(change)?.code == .locked) }
        #expect(try scene.home.everything() == before)
        #expect(try await scene.session.administratorKeys() == keys)
        let reopened = try await scene.home.unlocked("correct horse", clock: scene.clock.source)
        try await reopened.removeAdministratorKey(key)
        #expect(await refusal { try await reopened.removeAdministratorKey(key) }?.code == .absent)
        #expect(try await scene.session.administratorKeys().count == 1)
        // The owner may also leave none.
        try await reopened.removeAdministratorKey(scene.administrator.key)
        #expect(await scene.refusal(of: try scene.order()) == .orderUnknownKey)
    }

    @Test("A vault accepts sixteen keys and labels of 64 bytes, and no more")
    func limits() async throws {
        let scene = try await OrderFixture.make(nil)
        let label = String(repeating: "x", count: 64)
        for _ in 0..<15 { try await scene.session.pinAdministratorKey(Administrator().key, label: label) }
        let key = try Administrator().key
        #expect(await refusal { try await scene.session.pinAdministratorKey(key) }?.code == .refused)
        #expect(await scene.refusal(of: try scene.order(.pin(key))) == .refused)
        for label in [label + "x", "a\nb", "\u{1B}c"] {
            let error = await refusal { try await scene.session.pinAdministratorKey(key, label: label) }
            #expect(error?.code == .invalidInput)
        }
        #expect(try await scene.session.administratorKeys().count == 16)
        // The record holds two of the longest orders beside all of them, and every boot it remembers.
        let name = String(repeating: "n", count: 256)
        let reason = String(repeating: "r", count: 1024)
        let longest = try SignedCommand.read(
            scene.order(.wipe(.user(name)), counter: 2, reason: reason))
        for number in 0..<9 {
            _ = try await scene.home.open(clock: scene.clock.elsewhere(number, earlier: .seconds(9)))
        }
        let pending = PendingCommand(longest, .user(name), for: scene.session.vaultID)
        try scene.session.core.changeRemoteCommandRecord { (record) throws(CofferError) in
            for _ in 0..<2 {
                try record.requireRoom(for: longest.content.action, pending)
                record.pending.append(pending)
            }
        }
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending(longest.digest) == pending)
        let more = await refusal {
            try scene.session.core.changeRemoteCommandRecord { (record) throws(CofferError) in
                try record.requireRoom(for: longest.content.action, pending)
            }
        }
        #expect(more?.code == .busy)
    }

    @Test("Orders rotate keys: an old key pins a new one, which removes the old")
    func rotation() async throws {
        let scene = try await OrderFixture.make()
        let next = try Administrator()
        scene.session.lock()
        let pin = try scene.order(.pin(next.key), counter: 1)
        #expect(try await scene.take(pin) == .keyPinned(next.key))
        #expect(await scene.refusal(of: pin) == .orderReplayed)
        #expect(await scene.refusal(of: try scene.order(.pin(next.key), counter: 2)) == .alreadyExists)
        let unpin = try scene.order(.unpin(scene.administrator.key), counter: 3, by: next)
        #expect(try await scene.take(unpin) == .keyRemoved(scene.administrator.key))
        #expect(await scene.refusal(of: try scene.order(counter: 4)) == .orderUnknownKey)
        let last = try scene.order(.unpin(next.key), counter: 5, by: next)
        #expect(await scene.refusal(of: last) == .refused)
        #expect(await scene.refusal(of: try scene.order(.unpin(pinned()), counter: 6, by: next)) == .absent)
        // Counters belong to the vault: the old key, pinned again, brings no old order back.
        try await scene.take(scene.order(.pin(scene.administrator.key), counter: 5, by: next))
        #expect(await scene.refusal(of: try scene.order(counter: 4)) == .orderReplayed)
        guard case .wiped = try await scene.take(scene.order(counter: 6, by: next)) else {
            Issue.record("no receipt")
            return
        }
    }

    private func pinned() throws -> AdministratorKey { try Administrator().key }

    @Test("A record of orders that is damaged or from another vault accepts no order")
    func record() async throws {
        let scene = try await OrderFixture.make(nil)
        let sound = try scene.home.read("orders")
        #expect(sound.count == 8192)
        for place in [0, 9, 20, 30, 60, 4090] {
            var damaged = sound
            damaged[place] ^= 1
            damaged[place + 4096] ^= 1
            try scene.home.write("orders", damaged)
            _ = try await scene.home.open(clock: scene.clock.source)
            let code = await scene.refusal(of: try scene.order())
            #expect(code.map { [.corrupt, .foreign, .unsupportedVersion].contains($0) } == true)
        }
        let stranger = try await OrderFixture.make(nil)
        try scene.home.write("orders", stranger.home.read("orders"))
        #expect(await scene.refusal(of: try scene.order()) == .foreign)
        try scene.home.write("orders", Array(sound.dropLast()))
        #expect(await scene.refusal(of: try scene.order()) == .corrupt)
        // One whole slot is enough, and the next change mends the other.
        var half = sound
        half[100] ^= 1
        try scene.home.write("orders", half)
        try await scene.take(scene.order(.heartbeat, counter: 1))
        #expect(
            Array(try scene.home.read("orders").prefix(4096))
                == Array(try scene.home.read("orders").suffix(4096)))
        #expect(try await scene.session.administratorKeys().map(\.key) == [scene.administrator.key])
    }
}
