@testable import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import Synchronization
import SystemPackage
import Testing
import TestSupport

/// A valid order is carried out, once, however often and in whatever company it is delivered.
@Suite("Orders in a mailbox")
struct MailboxTests {
    private let manager = FileManager.default

    /// A word for an outcome.
    private func word(_ outcome: RevocationOutcome) -> String {
        switch outcome {
        case .refused(let error): error.code.name
        case .carriedOut(.wiped): "wiped"
        case .carriedOut: "done"
        default: "else"
        }
    }

    /// Follows a mailbox, with `step` before each look, until the vault is no more; returns the reports.
    private func follow(
        _ scene: OrderFixture, _ box: borrowing ScratchDirectory,
        _ step: @escaping @Sendable (Int) throws -> Void
    ) async throws -> [String] {
        let source = Stepped(DirectoryRevocationSource(box.path), step)
        let reports = Mutex<[String]>([])
        let error = await refusal {
            try await scene.session.followRevocations(from: source, every: .zero) { result in
                let text =
                    switch result {
                    case .success(let outcome): word(outcome)
                    case .failure(let error): error.code.name
                    }
                reports.withLock { $0.append(text) }
            }
        }
        #expect(error?.code == .wiped)
        return reports.withLock { $0 }
    }

    /// A mailbox that takes a step before each look, and stops after many.
    private final class Stepped: RevocationSource {
        let box: DirectoryRevocationSource
        let step: @Sendable (Int) throws -> Void
        let count = Mutex(0)

        init(_ box: DirectoryRevocationSource, _ step: @escaping @Sendable (Int) throws -> Void) {
            (self.box, self.step) = (box, step)
        }

        var repeatsUnhandled: Bool { box.repeatsUnhandled }

        func didHandle(_ revocation: Revocation) async { await box.didHandle(revocation) }

        func poll() async throws(CofferError) -> [Revocation] {
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number < 20 else { throw CofferError(.wiped, "The order was never carried out.") }
            do {
                try step(number)
            } catch {
                throw CofferError(.internalFailure, "\(error)")
            }
            return try await box.poll()
        }
    }

    @Test("An order that arrives before its time is carried out when its time comes")
    func early() async throws {
        let scene = try await OrderFixture.make(nil)
        let box = try ScratchDirectory.make()
        try box.write("a.order", scene.order(issued: scene.now + 600, expires: scene.now + 1200))
        let reports = try await follow(scene, box) { number in
            if number == 4 { scene.clock.advance(by: .seconds(601)) }
        }
        // A refusal that stays the same is told once.
        #expect(reports == ["orderNotYetValid", "wiped"])
        #expect(try scene.home.everything().keys.sorted() == ["lock", "receipt.json", "state"])
    }

    @Test("An order seen with a fast clock is carried out when the clock is right again")
    func clockAhead() async throws {
        let scene = try await OrderFixture.make(nil)
        let box = try ScratchDirectory.make()
        try box.write("a.order", scene.order(issued: scene.now, expires: scene.now + 600))
        scene.clock.advance(by: .seconds(900))
        let reports = try await follow(scene, box) { number in
            if number == 3 { scene.clock.advance(by: .seconds(-800)) }
        }
        #expect(reports == ["orderExpired", "wiped"])
    }

    @Test("An order beside hundreds of other files, pipes, links and huge ones is carried out")
    func company() async throws {
        let scene = try await OrderFixture.make(nil)
        let box = try ScratchDirectory.make()
        let valid = try scene.order()
        let strange = try scene.order(counter: 9, by: Administrator())
        for number in 0..<400 {
            try box.write(FilePath("a\(number).order"), number % 2 == 0 ? [UInt8(number / 2)] : strange + [0])
        }
        try box.write("b.order", strange)
        try box.write("c.order", [UInt8](repeating: 7, count: 8 << 20))
        #expect(try Helper.run(["mkfifo", box.path(of: "d.order")]).code == 0)
        try box.link("e.order", to: "/dev/zero")
        try box.write("zz.order", valid)
        for copy in 0..<4 { try box.write(FilePath("zz\(copy).order"), valid) }
        let reports = try await follow(scene, box) { _ in }
        #expect(reports.filter { $0 == "wiped" }.count == 1 && reports.last == "wiped")
    }

    @Test("An order signed with a key that another order pins is carried out, under any name")
    func chain() async throws {
        let scene = try await OrderFixture.make(nil)
        let box = try ScratchDirectory.make()
        let second = try Administrator()
        try box.write("a.order", scene.order(counter: 1, by: second))
        try box.write("b.order", scene.order(.pin(second.key), counter: 2))
        try box.write("c.order", scene.order(counter: 3, by: second))
        let reports = try await follow(scene, box) { _ in }
        #expect(reports.contains("done") && reports.last == "wiped")
    }

    /// Two users' namespaces, and an order to erase each.
    private func twoUsers() async throws -> (scene: OrderFixture, orders: [Revocation]) {
        let scene = try await OrderFixture.make(nil)
        for user in ["ada", "bob"] {
            _ = try await Vault.create(
                at: scene.home.location.namespace(of: user), options: TestHome.options { _ in },
                passcode: nil)
        }
        let orders = try [("ada", UInt64(1)), ("bob", 2)].map { user, counter in
            Revocation.order(try scene.order(.wipe(.user(user)), counter: counter))
        }
        return (scene, orders)
    }

    /// Makes the record of orders one that cannot be changed, as on a disk that is full; returns what it was.
    private func obstruct(_ scene: OrderFixture) throws -> [UInt8] {
        let sound = try scene.home.read("orders")
        try scene.home.remove("orders")
        try manager.createDirectory(
            atPath: scene.home.path("orders").string, withIntermediateDirectories: false)
        return sound
    }

    @Test("An order whose handling fails is tried again before those with higher counters")
    func busy() async throws {
        let (scene, orders) = try await twoUsers()
        let sound = try obstruct(scene)
        let source = PollingRevocationSource { () throws(CofferError) in orders.reversed() }
        #expect(await refusal { try await scene.session.handleRevocations(from: source) } != nil)
        try scene.home.remove("orders")
        try scene.home.write("orders", sound)
        let outcomes = try await scene.session.handleRevocations(from: source)
        #expect(outcomes.map(word) == ["wiped", "wiped"])
        let again = try await scene.session.handleRevocations(from: source)
        #expect(again.map(word) == ["orderReplayed", "orderReplayed"])
    }

    @Test(
        "An order that arrives while the home is disturbed is carried out afterwards",
        arguments: ["lock", "state", "vault"])
    func disturbed(_ name: String) async throws {
        for action in [RemoteCommand.Action.wipe(.tokens), .wipe(.user("ada")), .wipe(.all)] {
            let scene = try await OrderFixture.make(nil)
            _ = try await Vault.create(
                at: scene.home.location.namespace(of: "ada"), options: TestHome.options(), passcode: nil)
            let box = try ScratchDirectory.make()
            let path = scene.home.homePath(name).string
            let order = try scene.order(action, counter: 1)
            let last = try scene.order(counter: 2)
            let reports = try await follow(scene, box) { number in
                let manager = FileManager.default
                switch number {
                case 1:
                    try manager.moveItem(atPath: path, toPath: path + "-aside")
                    if name == "lock" {
                        try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
                    } else {
                        try manager.createSymbolicLink(atPath: path, withDestinationPath: path + "-aside")
                    }
                    try box.write("a.order", order)
                case 4:
                    try manager.removeItem(atPath: path)
                    try manager.moveItem(atPath: path + "-aside", toPath: path)
                case 6: try box.write("b.order", last)
                default: break
                }
            }
            #expect(reports.count { $0 == "wiped" } == (action == .wipe(.all) ? 1 : 2), "\(reports)")
            #expect(!reports.contains("orderReplayed") && reports.last == "wiped")
        }
    }

    @Test("A failed order holds up those with higher counters, even if they could succeed")
    func heldUp() async throws {
        let (scene, orders) = try await twoUsers()
        let sound = try obstruct(scene)
        // The disk is well again when the second order's turn comes.
        var asked = 0
        func repair() throws {
            try scene.home.remove("orders")
            try scene.home.write("orders", sound)
        }
        var round = RevocationRound(scene.session.core, .wipe(.account))
        let results = round.handle(orders) {
            asked += 1
            if asked == 2 { #expect(throws: Never.self) { try repair() } }
            return false
        }
        #expect(results.count == 2)
        #expect(results.allSatisfy { if case .failure = $0.result { true } else { false } })
        let later = orders.reversed() as [Revocation]
        let source = PollingRevocationSource { () throws(CofferError) in later }
        let outcomes = try await scene.session.handleRevocations(from: source)
        #expect(outcomes.map(word) == ["wiped", "wiped"])
    }

    @Test("An order to erase everything does not wait for one that cannot be finished")
    func stuck() async throws {
        let scene = try await OrderFixture.make(nil)
        let stuck = try scene.order(.wipe(.tokens), counter: 1)
        _ = try scene.session.core.accept(scene.session.core.verify(SignedCommand.read(stuck))).get()
        let heartbeat = try await scene.session.handle(.order(scene.order(.heartbeat, counter: 1)))
        #expect(word(heartbeat) == "done")
        #expect(await scene.refusal(of: try scene.order(.wipe(.tokens), counter: 2)) == nil)
        #expect(word(try await scene.session.handle(.order(scene.order(counter: 3)))) == "wiped")
        #expect(await refusal { _ = try await scene.home.open() }?.code == .wiped)
    }

    @Test("The newest handled orders are remembered in a bounded memory")
    func bounded() throws {
        var digests = NewestDigests(limit: 100)
        let all = (0..<1000).map { [UInt8($0 / 256), UInt8($0 % 256)] }
        for (number, digest) in all.enumerated() {
            digests.insert(digest)
            for recent in all[max(0, number - 49)...number] { #expect(digests.contains(recent)) }
            #expect(all.count { digests.contains($0) } <= 100)
        }
    }

    @Test("A changed file is delivered again; a handled order under another name is not")
    func changed() async throws {
        let scene = try await OrderFixture.make(nil)
        let box = try ScratchDirectory.make()
        let source = DirectoryRevocationSource(box.path)
        let first = try scene.order(.heartbeat, counter: 1)
        let second = try scene.order(.heartbeat, counter: 2)
        try box.write("a.order", first)
        #expect(try await source.poll() == [.order(first)])
        await source.didHandle(.order(first))
        #expect(try await source.poll().isEmpty)
        try box.write("a.order", second)
        try box.write("b.order", first)
        #expect(try await source.poll() == [.order(second)])
        #expect(try await source.poll() == [.order(second)])
        // Taken back by the administrator.
        try manager.removeItem(atPath: box.path(of: "a.order"))
        #expect(try await source.poll().isEmpty)
    }

    @Test("With a damaged record of orders, a vault refuses orders but opens", arguments: [true, false])
    func damagedRecord(isFile: Bool) async throws {
        let scene = try await OrderFixture.make()
        let sound = try scene.home.read("orders")
        try scene.home.remove("orders")
        if isFile {
            try scene.home.write("orders", [UInt8](repeating: 1, count: sound.count))
        } else {
            try manager.createSymbolicLink(
                atPath: scene.home.path("orders").string, withDestinationPath: "/etc/hostname")
        }
        let session = try await scene.home.open(clock: scene.clock.source)
        try await session.unlock(with: Passcode(copying: "correct horse"))
        #expect(try await session.tokens.count() == 1)
        #expect(try await session.securityChecks().contains { $0.name == "orders" && $0.status == .missing })
        #expect(await refusal { _ = try await session.handle(.order(scene.order())) }?.code == .corrupt)
        #expect(await refusal { _ = try await session.deadManSwitch() }?.code == .corrupt)
        try scene.home.remove("orders")
        try scene.home.write("orders", sound)
        #expect(try await !session.securityChecks().contains { $0.name == "orders" })
        #expect(word(try await session.handle(.order(scene.order()))) == "wiped")
    }
}
