@testable import Coffer
import CofferBase
import Foundation
import Synchronization
import SystemPackage
import Testing
import TestSupport

@Suite("Revocations")
struct RevocationTests {
    /// The kinds of the events that have come in, up to the end of the handling.
    private func kinds(_ events: AsyncStream<VaultEvent>) async -> [VaultEvent.Kind] {
        var kinds: [VaultEvent.Kind] = []
        for await event in events {
            kinds.append(event.kind)
            if event.kind == .revocationProcessed { break }
        }
        return kinds
    }

    @Test("A revoked grant wipes, locks or keeps, as the policy demands, between two events")
    func grants() async throws {
        for (policy, expected) in [
            (.wipe(.all), [.revoked, .wiped, .revocationProcessed]),
            (.lock, [.revoked, .closed, .revocationProcessed]),
            // It names no account: what it stands for is not known.
            (.wipe(.account), [.revoked, .closed, .revocationProcessed]),
            (.keep, [.revoked, .revocationProcessed]),
        ] as [(RevocationPolicy, [VaultEvent.Kind])] {
            let scene = try await OrderFixture.make()
            let events = scene.session.events
            let outcome = try await scene.session.handle(
                .grantRevoked(reason: "dismissed"), onRevocation: policy)
            #expect(await kinds(events) == expected)
            switch (policy, outcome) {
            case (.wipe(.all), .wiped(let receipt)):
                #expect(receipt.reason == "dismissed" && receipt.orderDigest == nil)
                #expect(await refusal { _ = try await scene.home.open() }?.code == .wiped)
            case (.lock, .locked), (.wipe(.account), .locked): #expect(!scene.session.hasKeys)
            case (.keep, .kept): #expect(try await scene.token())
            default: Issue.record("\(policy) did something else")
            }
        }
    }

    @Test("An order is obeyed under any policy, and a refused one changes nothing")
    func orders() async throws {
        let scene = try await OrderFixture.make()
        let before = try scene.home.everything()
        for bytes in [[], [1, 2, 3], try scene.order(by: Administrator())] {
            guard case .refused(let error) = try await scene.session.handle(.order(bytes)) else {
                Issue.record("not refused")
                return
            }
            #expect(error.code.name.hasPrefix("order"))
        }
        #expect(try scene.home.everything() == before)
        let events = scene.session.events
        let order = Revocation.order(try scene.order())
        guard
            case .carriedOut(.wiped(let receipt)) = try await scene.session.handle(order, onRevocation: .keep)
        else {
            Issue.record("not carried out")
            return
        }
        #expect(receipt.orderDigest != nil)
        #expect(await kinds(events) == [.revoked, .wiped, .revocationProcessed])
        #expect(await refusal { try await scene.session.handle(order) }?.code == .wiped)
    }

    @Test("A mailbox delivers each order until it is handled, by counter, and skips other entries")
    func mailbox() async throws {
        let scene = try await OrderFixture.make(nil)
        let scratch = try ScratchDirectory.make()
        let source = DirectoryRevocationSource(scratch.path)
        #expect(try await source.poll().isEmpty)
        let first = try scene.order(.heartbeat, counter: 1)
        let second = try scene.order(.heartbeat, counter: 2)
        try scratch.write("b.order", second)
        try scratch.write("a.order", first)
        try scratch.write("c.txt", [1])
        try scratch.write("d.order", [UInt8](repeating: 0, count: 1 << 20))
        try scratch.link("e.order", to: "a.order")
        try FileManager.default.createDirectory(
            atPath: scratch.path(of: "f.order"), withIntermediateDirectories: false)
        let told = try await source.poll()
        #expect(told.count == 3 && Array(told.prefix(2)) == [.order(first), .order(second)])
        #expect(try await source.poll() == told)
        await source.didHandle(told[0])
        #expect(try await source.poll() == Array(told.dropFirst()))
        for revocation in told { await source.didHandle(revocation) }
        #expect(try await source.poll().isEmpty)
        let again = DirectoryRevocationSource(scratch.path)
        let outcomes = try await scene.session.handleRevocations(from: again)
        let codes = outcomes.map { outcome -> String in
            switch outcome {
            case .carriedOut: "done"
            case .refused(let error): error.code.name
            default: "else"
            }
        }
        #expect(codes == ["done", "done", "orderTooLong"])
        #expect(
            await refusal { _ = try await DirectoryRevocationSource("/no/such/box").poll() }?.code == .absent)
    }

    @Test("A follower polls again after a failure and ends with the vault")
    func following() async throws {
        let scene = try await OrderFixture.make(nil)
        let bytes = try scene.order()
        let calls = Mutex(0)
        let source = PollingRevocationSource { () throws(CofferError) in
            let call = calls.withLock { number in
                number += 1
                return number
            }
            switch call {
            case 1: throw CofferError(.timedOut, "the server does not answer")
            case 2: return [.order([]), .grantRevoked(reason: "kept")]
            case 3: return []
            default: return [.order(bytes)]
            }
        }
        let reports = Mutex<[String]>([])
        let error = await refusal {
            try await scene.session.followRevocations(from: source, every: .zero, onRevocation: .keep) {
                result in
                let word =
                    switch result {
                    case .failure(let error): error.code.name
                    case .success(.refused(let error)): error.code.name
                    case .success(.kept): "kept"
                    case .success(.carriedOut): "done"
                    case .success: "else"
                    }
                reports.withLock { $0.append(word) }
            }
        }
        #expect(error?.code == .wiped)
        #expect(reports.withLock { $0 } == ["timedOut", "orderMalformed", "kept", "done"])
    }

    @Test("A follower ends when its task is cancelled")
    func cancelled() async throws {
        let scene = try await OrderFixture.make(nil)
        let asked = AsyncStream.makeStream(of: Void.self)
        let source = PollingRevocationSource { () throws(CofferError) in
            asked.continuation.yield()
            return []
        }
        let task = Task { try await scene.session.followRevocations(from: source, every: .seconds(3600)) }
        for await _ in asked.stream { break }
        task.cancel()
        try await task.value
        #expect(try await scene.token())
    }

    @Test(
        "A refresh refused with invalid_grant follows the policy",
        arguments: [RevocationPolicy.wipe(.all), .wipe(.account), .lock, .keep])
    func refresh(_ policy: RevocationPolicy) async throws {
        let scene = try await OrderFixture.make()
        let id = try TokenID(service: "api.example.org", account: "ada")
        let error = await refusal {
            _ = try await scene.session.tokens.refresh(id, onRevocation: policy) {
                (_, _) throws(CofferError) in
                throw CofferError(.tokenRevoked, "invalid_grant")
            }
        }
        #expect(error?.code == .tokenRevoked)
        switch policy {
        case .wipe(.all): #expect(await refusal { _ = try await scene.home.open() }?.code == .wiped)
        case .wipe(.account): #expect(try await !scene.token())
        case .lock: #expect(!scene.session.hasKeys)
        case .keep: #expect(try await scene.token())
        }
    }

    @Test("A token replaced while its issuer refused the old one is no revocation")
    func replaced() async throws {
        let scene = try await OrderFixture.make()
        let id = try TokenID(service: "api.example.org", account: "ada")
        let session = scene.session
        let error = await refusal {
            _ = try await session.tokens.refresh(id) { (_, _) throws(CofferError) in
                try await session.tokens.put(Token(copying: "by other means"), for: id)
                throw CofferError(.tokenRevoked, "invalid_grant")
            }
        }
        #expect(error?.code == .conflict && error?.currentVersion == 2)
        #expect(try await scene.token())
    }
}
