@testable import Coffer
import CofferBase
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

/// An order erases the vault that it was accepted for, and nothing that is created afterwards.
@Suite("Orders are carried out once")
struct OrderOnceTests {
    private func take(_ scene: OrderFixture, _ bytes: [UInt8]) throws -> PendingCommand {
        let core = scene.session.core
        return try #require(try core.accept(core.verify(SignedCommand.read(bytes))).get())
    }

    private func makeNamespace(_ location: VaultLocation, _ scene: OrderFixture) async throws -> Vault {
        let session = try await Vault.create(
            at: location, options: TestHome.options(), passcode: nil, clock: scene.clock.source)
        try await session.tokens.put(Token(copying: "hers"), for: TokenID(service: "s", account: "ada"))
        return session
    }

    /// A namespace of ada's, with a token.
    private func scene() async throws -> (OrderFixture, VaultLocation) {
        let scene = try await OrderFixture.make(nil)
        let location = try scene.home.location.namespace(of: "ada")
        _ = try await makeNamespace(location, scene)
        return (scene, location)
    }

    private func holdsToken(_ location: VaultLocation, _ scene: OrderFixture) async throws -> Bool {
        let session = try await Vault(at: location, clock: scene.clock.source)
        return try await session.tokens.count() == 1
    }

    @Test("An order killed before it was settled spares a vault that its user made since")
    func newVault() async throws {
        let (scene, namespace) = try await scene()
        let bytes = try scene.order(.wipe(.user("ada")))
        let order = try take(scene, bytes)
        _ = try VaultEraser(
            home: scene.session.core.home, clock: scene.clock.source, orderDigest: order.digest
        )
        .wipe(.user("ada"), reason: "as ordered", by: nil)
        _ = try await makeNamespace(namespace, scene)
        // Neither receiving the order again nor the next two openings erase anything.
        #expect(await scene.refusal(of: bytes) == .orderReplayed)
        for _ in 0..<2 {
            _ = try await scene.home.open(clock: scene.clock.source)
            #expect(try await holdsToken(namespace, scene))
            #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
        }
        #expect(await scene.refusal(of: bytes) == .orderReplayed)
    }

    @Test("A namespace that its owner wiped and made again survives a pending order")
    func ownersWipe() async throws {
        let (scene, namespace) = try await scene()
        _ = try take(scene, scene.order(.wipe(.user("ada"))))
        _ = try await Vault.wipe(at: namespace, clock: scene.clock.source)
        _ = try await makeNamespace(namespace, scene)
        _ = try await scene.home.open(clock: scene.clock.source)
        #expect(try await holdsToken(namespace, scene))
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
    }

    @Test("A second run of an order for a user finds it done")
    func twoForUser() async throws {
        let (scene, _) = try await scene()
        let bytes = try scene.order(.wipe(.user("ada")))
        let order = try take(scene, bytes)
        #expect(try take(scene, bytes) == order)
        guard case .success(.wiped(let receipt)) = try scene.session.core.finish(order, reason: "") else {
            Issue.record("no receipt")
            return
        }
        #expect(receipt.orderDigest == order.digest)
        guard case .failure(let refusal) = try scene.session.core.finish(order, reason: "") else {
            Issue.record("twice")
            return
        }
        #expect(refusal.reason.code == .orderReplayed)
    }

    @Test("A second run of an order for the tokens erases no token stored since")
    func twoForTokens() async throws {
        let scene = try await OrderFixture.make(nil)
        let bytes = try scene.order(.wipe(.tokens))
        let (first, second) = (try take(scene, bytes), try take(scene, bytes))
        guard case .success(.wiped) = try scene.session.core.finish(first, reason: "") else {
            Issue.record("no receipt")
            return
        }
        try await put(scene)
        guard case .failure(let refusal) = try scene.session.core.finish(second, reason: "") else {
            Issue.record("twice")
            return
        }
        #expect(refusal.reason.code == .orderReplayed)
        #expect(try await scene.token())
    }

    private func put(_ scene: OrderFixture) async throws {
        try await scene.session.tokens.put(
            Token(copying: "another"), for: TokenID(service: "api.example.org", account: "ada"))
    }

    @Test("Finishing an interrupted wipe of tokens also settles its order")
    func interruptedTokens() async throws {
        let scene = try await OrderFixture.make(nil)
        let order = try take(scene, scene.order(.wipe(.tokens)))
        let eraser = VaultEraser(
            home: scene.session.core.home, clock: scene.clock.source, orderDigest: order.digest)
        try eraser.writeTombstone(.wipingTokens, scene.session.vaultID, reason: "as ordered")
        try VaultEraser.finishInterrupted(at: scene.home.location, clock: scene.clock.source)
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
        #expect(try await !scene.token())
        try await put(scene)
        _ = try await scene.home.open(clock: scene.clock.source)
        #expect(try await scene.token())
    }

    @Test("An order without a vault identifier is finished before a new vault is made")
    func beforeNewVault() async throws {
        let (scene, namespace) = try await scene()
        let bytes = scene.oldRecord(lastCommand: 1, pending: try scene.order(.wipe(.user("ada"))))
        try scene.session.core.rewriteRemoteCommandRecord { _ in bytes }
        _ = try await Vault.wipe(at: namespace, clock: scene.clock.source)
        _ = try await makeNamespace(namespace, scene)
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
        _ = try await scene.home.open(clock: scene.clock.source)
        #expect(try await holdsToken(namespace, scene))
    }

    @Test("An older record of orders, put back after the wipe, erases nothing again")
    func putBack() async throws {
        let (scene, namespace) = try await scene()
        for (counter, action) in [(UInt64(1), RemoteCommand.Action.wipe(.tokens)), (2, .wipe(.user("ada")))] {
            let order = try take(scene, scene.order(action, counter: counter))
            let old = try scene.home.read("orders")
            guard case .success(.wiped) = try scene.session.core.finish(order, reason: "") else {
                Issue.record("no receipt")
                return
            }
            try await put(scene)
            if counter == 2 { _ = try await makeNamespace(namespace, scene) }
            try scene.home.write("orders", old)
            _ = try await scene.home.open(clock: scene.clock.source)
            #expect(try await scene.token())
            #expect(try await holdsToken(namespace, scene))
            #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
        }
    }

    @Test("A scoped order of an earlier release is carried out once, and only while it is valid")
    func earlierRelease() async throws {
        for (action, isExpired, isWiped) in [
            (RemoteCommand.Action.wipe(.user("ada")), false, true), (.wipe(.user("ada")), true, false),
            (.wipe(.tokens), false, true), (.wipe(.tokens), true, false),
        ] {
            let (scene, namespace) = try await scene()
            let bytes = scene.oldRecord(lastCommand: 1, pending: try scene.order(action))
            try scene.session.core.rewriteRemoteCommandRecord { _ in bytes }
            if isExpired { scene.clock.advance(by: .seconds(3601)) }
            _ = try await scene.home.open(clock: scene.clock.source)
            #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
            if action == .wipe(.tokens) {
                #expect(try await scene.token() == !isWiped)
            } else {
                let error = await refusal { _ = try await Vault(at: namespace) }
                #expect((error == nil) == !isWiped)
                guard isWiped else { continue }
                // The same record once more: the receipt of the first time tells.
                _ = try await makeNamespace(namespace, scene)
            }
            try await put(scene)
            try scene.session.core.rewriteRemoteCommandRecord { _ in bytes }
            _ = try await scene.home.open(clock: scene.clock.source)
            #expect(try await scene.token())
        }
        // One for all of it has nothing to be confused with.
        let scene = try await OrderFixture.make(nil)
        let bytes = scene.oldRecord(lastCommand: 1, pending: try scene.order())
        try scene.session.core.rewriteRemoteCommandRecord { _ in bytes }
        scene.clock.advance(by: .seconds(3601))
        #expect(await refusal { _ = try await scene.home.open(clock: scene.clock.source) }?.code == .wiped)
    }
}
