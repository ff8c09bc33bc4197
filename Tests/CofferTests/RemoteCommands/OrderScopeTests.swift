@testable import Coffer
import CofferBase
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Scopes of orders")
struct OrderScopeTests {
    /// A scene whose home has a namespace of the user ada, with a token in it.
    private func scene() async throws -> (OrderFixture, VaultLocation) {
        let scene = try await OrderFixture.make(nil)
        let location = try scene.home.location.namespace(of: "ada")
        let session = try await Vault.create(
            at: location, options: TestHome.options(), passcode: nil, clock: scene.clock.source)
        try await session.tokens.put(Token(copying: "hers"), for: TokenID(service: "s", account: "ada"))
        return (scene, location)
    }

    private func isAlive(_ location: VaultLocation, _ scene: OrderFixture) async -> Bool {
        await refusal { _ = try await Vault(at: location, clock: scene.clock.source) } == nil
    }

    /// As a process leaves it that dies between the counter and the mark of the wipe.
    private func interrupt(_ scene: OrderFixture, _ bytes: [UInt8]) throws {
        let order = try scene.session.core.verify(SignedCommand.read(bytes))
        _ = try scene.session.core.accept(order).get()
    }

    @Test("An order for the tokens erases only these, and only once")
    func tokens() async throws {
        let (scene, namespace) = try await scene()
        let bytes = try scene.order(.wipe(.tokens), reason: "leaked")
        guard case .wiped(let receipt) = try await scene.take(bytes) else {
            Issue.record("no receipt")
            return
        }
        let order = try SignedCommand.read(bytes)
        #expect(receipt.scope == "tokens" && receipt.reason == "leaked")
        #expect(receipt.orderDigest == order.digest)
        #expect(try order.isNamed(inReceipt: receipt.json))
        #expect(try await !scene.token())
        #expect(await isAlive(scene.home.location, scene))
        #expect(await isAlive(namespace, scene))
        #expect(await scene.refusal(of: bytes) == .orderReplayed)
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
        try await scene.session.unlock()
        try await scene.session.tokens.put(
            Token(copying: "another"), for: TokenID(service: "api.example.org", account: "ada"))
        #expect(try await scene.token())
    }

    @Test("An order for a user erases only that namespace; without one, it uses no counter")
    func user() async throws {
        let (scene, namespace) = try await scene()
        #expect(await scene.refusal(of: try scene.order(.wipe(.user("bob")))) == .absent)
        let bytes = try scene.order(.wipe(.user("ada")))
        guard case .wiped(let receipt) = try await scene.take(bytes) else {
            Issue.record("no receipt")
            return
        }
        #expect(receipt.scope == "user" && receipt.vaultID != scene.session.vaultID.uuid)
        #expect(try SignedCommand.read(bytes).isNamed(inReceipt: receipt.json))
        #expect(await !isAlive(namespace, scene))
        #expect(await isAlive(scene.home.location, scene))
        #expect(try await scene.token())
        #expect(await scene.refusal(of: try scene.order(.wipe(.user("ada")), counter: 2)) == .absent)
        #expect(await scene.refusal(of: try scene.order(.heartbeat, counter: 2)) == nil)
        #expect(await scene.refusal(of: bytes) != nil)
    }

    @Test("The next opening carries out a killed order in its scope and no further")
    func resumed() async throws {
        for action in [RemoteCommand.Action.wipe(.tokens), .wipe(.user("ada"))] {
            let (scene, namespace) = try await scene()
            try interrupt(scene, scene.order(action))
            #expect(await isAlive(scene.home.location, scene))
            #expect(await isAlive(namespace, scene) == (action == .wipe(.tokens)))
            #expect(try await scene.token() == (action != .wipe(.tokens)))
            #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
            #expect(await isAlive(scene.home.location, scene))
        }
    }

    @Test("A pending order for a namespace that is gone does not block opening the vault")
    func gone() async throws {
        let (scene, namespace) = try await scene()
        try interrupt(scene, scene.order(.wipe(.user("ada"))))
        _ = try await Vault.wipe(at: namespace)
        #expect(await isAlive(scene.home.location, scene))
        #expect(try scene.session.core.readRemoteCommandRecord()?.pending.isEmpty == true)
    }
}
