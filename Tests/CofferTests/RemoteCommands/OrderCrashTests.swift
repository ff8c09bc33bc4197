@testable import Coffer
import CofferBase
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Orders and crashes")
struct OrderCrashTests {
    /// As a process leaves it that dies between the counter and the tombstone.
    private func interrupted(_ scene: OrderFixture, _ bytes: [UInt8]) throws {
        let order = try scene.session.core.verify(SignedCommand.read(bytes))
        _ = try scene.session.core.accept(order).get()
    }

    @Test("The next opening carries out an order that was killed before its wipe")
    func opening() async throws {
        let scene = try await OrderFixture.make()
        let bytes = try scene.order(reason: "once and for all")
        try interrupted(scene, bytes)
        #expect(try await scene.token())
        // Its time may be over by then: it was judged.
        scene.clock.advance(by: .seconds(100_000))
        let error = await refusal { _ = try await scene.home.open(clock: scene.clock.source) }
        #expect(error?.code == .wiped)
        #expect(try scene.home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
        let receipt = [UInt8](try Data(contentsOf: URL(filePath: scene.home.homePath("receipt.json").string)))
        #expect(try SignedCommand.read(bytes).isNamed(inReceipt: receipt))
        #expect(try await Vault.status(at: scene.home.location).state == .wiped)
    }

    @Test("The same order after a kill is no replay and returns the receipt")
    func again() async throws {
        let scene = try await OrderFixture.make()
        let bytes = try scene.order()
        try interrupted(scene, bytes)
        let other = try scene.order(counter: 2)
        #expect(await scene.refusal(of: other) == .busy)
        let outcome = try await Vault.execute(
            SignedCommand.read(bytes), at: scene.home.location, clock: scene.clock.source)
        guard case .wiped(let receipt) = outcome else {
            Issue.record("no receipt")
            return
        }
        #expect(receipt.orderDigest == (try SignedCommand.read(bytes).digest))
    }

    @Test("Of several processes with the same order, one wipes and the others find it done")
    func atOnce() async throws {
        let scene = try await OrderFixture.make(nil)
        let order = try SignedCommand.read(scene.order())
        let results = await withTaskGroup(of: CofferError.Code?.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await refusal {
                        _ = try await Vault.execute(
                            order, at: scene.home.location, clock: scene.clock.source)
                    }?.code
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.filter { $0 == nil }.count == 1)
        for case let code? in results { #expect([.wiped, .corrupt].contains(code), "\(code.name)") }
        #expect(try scene.home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
    }

    @Test("Of several processes with the same heartbeat, one records it and the others see a replay")
    func heartbeats() async throws {
        let scene = try await OrderFixture.make(nil)
        let order = try SignedCommand.read(scene.order(.heartbeat))
        let results = await withTaskGroup(of: CofferError.Code?.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    await refusal {
                        _ = try await Vault.execute(
                            order, at: scene.home.location, clock: scene.clock.source)
                    }?.code
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.filter { $0 == nil }.count == 1)
        #expect(results.filter { $0 == .orderReplayed }.count == 3)
    }

    @Test("A record that cannot be written refuses the order, and nothing is erased")
    func unwritable() async throws {
        let scene = try await OrderFixture.make()
        let bytes = try scene.order()
        let path = scene.home.path("orders").string
        let sound = try scene.home.read("orders")
        try scene.home.remove("orders")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
        #expect(await scene.refusal(of: bytes) == .corrupt)
        try scene.home.remove("orders")
        try scene.home.write("orders", sound)
        #expect(try await scene.token())
        #expect(await scene.refusal(of: bytes) == nil)
    }
}
