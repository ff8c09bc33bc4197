@testable import Coffer
import CofferBase
import CofferCrypto
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Signed orders")
struct OrderTests {
    @Test("A valid order wipes, locked or unlocked, and its receipt names it", arguments: [true, false])
    func valid(isLocked: Bool) async throws {
        let scene = try await OrderFixture.make()
        if isLocked { scene.session.lock() }
        let bytes = try scene.order(reason: "lost on a train")
        guard case .wiped(let receipt) = try await scene.take(bytes) else {
            Issue.record("no receipt")
            return
        }
        let order = try SignedCommand.read(bytes)
        #expect(receipt.reason == "lost on a train" && receipt.vaultID == scene.session.vaultID.uuid)
        #expect(receipt.orderDigest == HexText.encode(try Digest.sha256.hash(bytes.span)))
        let json = [UInt8](try Data(contentsOf: URL(filePath: scene.home.homePath("receipt.json").string)))
        #expect(try order.isNamed(inReceipt: json))
        let other = try SignedCommand.read(scene.order(counter: 2))
        #expect(try !other.isNamed(inReceipt: json))
        #expect(throws: CofferError.self) { try order.isNamed(inReceipt: Array(json.dropLast(9))) }
        #expect(await refusal { _ = try await scene.home.open() }?.code == .wiped)
        #expect(await scene.refusal(of: bytes) == .wiped)
    }

    @Test("An order needs no readable keybag, whether it is carried out or refused")
    func withoutKeybag() async throws {
        let scene = try await OrderFixture.make()
        try Data([1, 2, 3]).write(to: URL(filePath: scene.home.path("keybag").string))
        #expect(await refusal { _ = try await scene.home.open() }?.code == .corrupt)
        func execute(_ bytes: [UInt8]) async throws -> RemoteCommand.Outcome {
            try await Vault.execute(
                SignedCommand.read(bytes), at: scene.home.location, clock: scene.clock.source)
        }
        let foreign = try scene.order(target: .vault(UUID()))
        #expect(await refusal { _ = try await execute(foreign) }?.code == .orderForeign)
        guard case .wiped(let receipt) = try await execute(scene.order()) else {
            Issue.record("no receipt")
            return
        }
        #expect(receipt.failures.isEmpty)
        #expect(await refusal { _ = try await scene.home.open() }?.code == .wiped)
    }

    @Test("An order for this device wipes the vault", .enabled(if: isIdentified))
    func device() async throws {
        let scene = try await OrderFixture.make()
        let device = try #require(try DeviceID.current())
        guard case .wiped(let receipt) = try await scene.take(scene.order(target: .device(device))) else {
            Issue.record("no receipt")
            return
        }
        #expect(receipt.orderDigest != nil)
    }

    private static let isIdentified = ((try? DeviceID.current()) ?? nil) != nil

    @Test("Each refusal has a code of its own and changes nothing")
    func refusals() async throws {
        let scene = try await OrderFixture.make()
        let (stranger, now) = (try Administrator(), scene.now)
        try await scene.take(scene.order(.heartbeat, counter: 5))
        try await scene.take(scene.order(.pin(stranger.key), counter: 5))
        try await scene.session.removeAdministratorKey(stranger.key)
        let before = try scene.home.everything()
        let good = try scene.order(counter: 6)
        let elsewhere = RemoteCommand.Target.vault(UUID())
        let nowhere = RemoteCommand.Target.device(try DeviceID([UInt8](repeating: 3, count: 16)))
        var broken = good
        broken[39] ^= 1
        let forged = Array(good.dropLast(64)) + Array(try stranger.sign(Array(good.dropLast(64))).suffix(64))
        let cases: [(CofferError.Code, [UInt8])] = [
            (.orderMalformed, []), (.orderMalformed, Array(good.dropLast())), (.orderMalformed, good + [0]),
            (.orderTooLong, [UInt8](repeating: 0, count: 1 << 20)),
            (.orderTooLong, good + [UInt8](repeating: 0, count: 1 << 20)),
            (.orderUnsupportedVersion, try versioned(good, 2, scene)),
            (.orderUnknownKey, try scene.order(counter: 6, by: stranger)),
            (.orderBadSignature, broken), (.orderBadSignature, forged),
            (.orderForeign, try scene.order(target: elsewhere, counter: 6)),
            (.orderForeign, try scene.order(target: nowhere, counter: 6)),
            (.orderCounterOutOfRange, try counted(good, 0, scene)),
            (.orderCounterOutOfRange, try counted(good, .max, scene)),
            (.orderReplayed, try scene.order(counter: 5)), (.orderReplayed, try scene.order(counter: 1)),
            (.orderReplayed, try scene.order(.heartbeat, counter: 5)),
            (.orderNotYetValid, try scene.order(counter: 6, issued: now + 1)),
            (.orderExpired, try scene.order(counter: 6, issued: now - 9, expires: now)),
        ]
        for (number, (code, bytes)) in cases.enumerated() {
            #expect(await scene.refusal(of: bytes) == code, "case \(number)")
        }
        #expect(Set(cases.map(\.0.name)).count == 10)
        #expect(try scene.home.everything() == before)
        #expect(try await scene.token())
        #expect(try await scene.session.verify(SignedCommand.read(good)).content.counter == 6)
        #expect(try scene.home.everything() == before)
        #expect(await scene.refusal(of: good) == nil)
    }

    private func versioned(_ order: [UInt8], _ version: UInt16, _ scene: OrderFixture) throws -> [UInt8] {
        var body = Array(order.dropLast(64))
        body.replaceSubrange(8..<10, with: version.bigEndianBytes)
        return try scene.administrator.sign(body)
    }

    private func counted(_ order: [UInt8], _ counter: UInt64, _ scene: OrderFixture) throws -> [UInt8] {
        var body = Array(order.dropLast(64))
        body.replaceSubrange(32..<40, with: counter.bigEndianBytes)
        return try scene.administrator.sign(body)
    }

    @Test("The vault accepts the greatest counter once, and nothing after it")
    func counters() async throws {
        let scene = try await OrderFixture.make()
        let key = try Administrator().key
        let most = UInt64.max - 1
        #expect(await scene.refusal(of: try scene.order(.pin(key), counter: most)) == nil)
        #expect(await scene.refusal(of: try scene.order(.unpin(key), counter: most)) == .orderReplayed)
        #expect(await scene.refusal(of: try scene.order(counter: 1)) == .orderReplayed)
        #expect(await scene.refusal(of: try scene.order(.heartbeat, counter: 1)) == nil)
        for counter in [0, UInt64.max] {
            #expect(throws: CofferError.self) { try scene.order(counter: counter) }
        }
    }

    @Test("Under a wrong clock the vault refuses orders, and a clock set back revives none")
    func clocks() async throws {
        let scene = try await OrderFixture.make()
        let start = scene.clock.source.wallClock()
        let short = try scene.order(counter: 9, expires: scene.now + 60)
        let old = try scene.order(.heartbeat, counter: 1, expires: scene.now + 60)
        scene.clock.setWallClock(to: .zero)
        #expect(await scene.refusal(of: short) == .orderNotYetValid)
        scene.clock.setWallClock(to: .seconds(-1))
        #expect(await scene.refusal(of: short) == .orderNotYetValid)
        scene.clock.setWallClock(to: .seconds(1 << 31))
        #expect(await scene.refusal(of: short) == .orderExpired)
        scene.clock.setWallClock(to: start + .seconds(600))
        try await scene.take(scene.order(.heartbeat, counter: 2))
        scene.clock.setWallClock(to: start + .seconds(1))
        #expect(await scene.refusal(of: short) == .orderExpired)
        #expect(await scene.refusal(of: old) == .orderReplayed)
        scene.clock.setWallClock(to: .seconds((1 << 31) + 5))
        #expect(await scene.refusal(of: try scene.order(counter: 9)) == nil)
    }

    @Test("A vault without a pinned key refuses orders and has no record of them")
    func unpinned() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let administrator = try Administrator()
        let order = RemoteCommand(
            .wipe(.all), for: .vault(session.vaultID.uuid), counter: 1, issued: Date() - 60,
            expires: Date() + 600)
        let bytes = try administrator.sign(order)
        let read = try SignedCommand.read(bytes)
        #expect(await refusal { _ = try await session.verify(read) }?.code == .orderUnknownKey)
        let outcome = await refusal { _ = try await Vault.execute(read, at: home.location) }
        #expect(outcome?.code == .orderUnknownKey)
        #expect(try await session.administratorKeys().isEmpty)
        #expect(try !home.everything().keys.contains("vault/orders"))
        // A copy of it, pinned afterwards, is judged as any other.
        try await session.pinAdministratorKey(administrator.key)
        #expect(try await session.verify(read).signer == administrator.key)
    }

    @Test("An administrator can check an order without the vault")
    func checks() async throws {
        let scene = try await OrderFixture.make()
        let (stranger, now) = (try Administrator(), scene.now)
        let order = try SignedCommand.read(scene.order(reason: "why"))
        try order.check(signedBy: [stranger.key, scene.administrator.key], at: now)
        #expect(order.content.reason == "why" && order.claimedSigner == scene.administrator.key)
        for (keys, date, code) in [
            ([], now, .orderUnknownKey), ([stranger.key], now, .orderUnknownKey),
            ([scene.administrator.key], now - 1, .orderNotYetValid),
            ([scene.administrator.key], now + 3600, .orderExpired),
        ] as [([AdministratorKey], Date, CofferError.Code)] {
            let error = #expect(throws: CofferError.self) { try order.check(signedBy: keys, at: date) }
            #expect(error?.code == code)
        }
    }
}
