@testable import Coffer
import CofferBase
import Foundation
import SystemPackage
import Synchronization
import TestSupport
import Testing

@Suite("The progress of a wipe")
struct WipeProgressTests {
    private func filled() async throws -> (TestHome, Vault) {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let token = try TokenID(service: "api.example.org", account: "ada")
        try await session.tokens.put(Token(copying: "secret"), for: token)
        try home.scratch.write("letter", Array("a letter".utf8))
        for _ in 0..<3 { _ = try await session.files.add(contentsOf: home.scratch.path.appending("letter")) }
        return (home, session)
    }

    @Test("A wipe reports its steps in order")
    func stepsComeInTheirOrder() async throws {
        let (home, session) = try await filled()
        let wipe = session.startWipe(reason: "progress")
        var steps: [WipeProgress] = []
        for await progress in wipe { steps.append(progress) }
        #expect(try await wipe.receipt.reason == "progress")
        let order = steps.compactMap { WipeProgress.Step.allCases.firstIndex(of: $0.step) }
        #expect(order == order.sorted())
        #expect(Set(steps.map(\.step)) == Set(WipeProgress.Step.allCases))
        #expect(steps.allSatisfy { $0.completed <= $0.total })
        #expect(try home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
    }

    @Test("A wipe completes without a listener")
    func nobodyNeedsToListen() async throws {
        let (home, session) = try await filled()
        #expect(try await session.startWipe().receipt.removed["files"] == 3)
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        let again = session.startWipe()
        var count = 0
        for await _ in again { count += 1 }
        #expect(count == 0)
        #expect(await refusal { _ = try await again.receipt }?.code == .wiped)
    }

    @Test("A wipe makes every session of the process forget its keys")
    func everySessionForgets() async throws {
        let (home, session) = try await filled()
        let other = try await home.unlocked("correct horse")
        let events = other.events
        #expect(other.isUnlocked)
        _ = try await Vault.wipe(at: home.location)
        #expect(!session.isUnlocked && !other.isUnlocked)
        for await event in events where event.kind == .wiped { break }
        #expect(failure { _ = try other.core.device.deviceKey() } == .wiped)
    }

    private final class Store: VaultObserver {
        let count = Mutex(0)
        func vaultDidWipe() async { count.withLock { $0 += 1 } }
    }

    @Test("Registered stores close before the wipe is done")
    func storesCloseBeforeTheWipeIsDone() async throws {
        let (home, session) = try await filled()
        let store = Store()
        session.register(store)
        session.register(Store())
        _ = try await session.wipe(.tokens)
        #expect(store.count.withLock { $0 } == 0)
        _ = try await session.wipe()
        #expect(store.count.withLock { $0 } == 1)
        #expect(try await Vault.status(at: home.location).state == .wiped)
    }
}
