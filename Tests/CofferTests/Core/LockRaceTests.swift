@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import Synchronization
import SystemPackage
import Testing
import TestSupport

/// A lock that comes while keys are on their way holds.
///
/// One test after the other: the kernel lets an ordinary user have 200 keys and 20 000 bytes of them.
@Suite("Locks in the middle of other work", .serialized)
struct LockRaceTests {
    private static let passcode = "correct horse"
    /// No watch of an inactivity time asks the clock, too.
    private static let options = TestHome.options { $0.inactivity = nil }

    /// Clocks that run an action the next time they are read.
    private final class Ambush: Sendable {
        private struct Action {
            var body: (@Sendable () -> Void)?
        }

        private let action = Mutex(Action())
        private let times = Counter()

        var source: VaultClock {
            let system = VaultClock.system
            return VaultClock(
                bootTime: {
                    self.spring()
                    return system.bootTime()
                }, wallClock: system.wallClock, bootIdentifier: system.bootIdentifier)
        }

        var count: Int { times.value }

        func set(_ body: @escaping @Sendable () -> Void) { action.withLock { $0.body = body } }

        private func spring() {
            guard let body = action.withLock({ $0.body.take() }) else { return }
            times.increment()
            body()
        }
    }

    private enum Ending: CaseIterable { case lock, close, lockOfTheHome }

    private func end(_ session: Vault, _ ending: Ending, _ home: TestHome) -> @Sendable () -> Void {
        let location = home.location
        return {
            switch ending {
            case .lock: session.lock()
            case .close: session.close()
            case .lockOfTheHome: _ = try? EmergencyLock.run(at: location)
            }
        }
    }

    @Test(
        "A lock during an unlock keeps the keys out and costs no attempt",
        arguments: [Ending.lock, .close, .lockOfTheHome])
    private func unlock(_ ending: Ending) async throws {
        let (home, ambush) = (try TestHome(), Ambush())
        try await home.create(Self.passcode, options: Self.options).close()
        let session = try await home.open(clock: ambush.source)
        ambush.set(end(session, ending, home))
        let passcode = try Passcode(copying: Self.passcode)
        #expect(await refusal { try await session.unlock(with: passcode) }?.code == .locked)
        #expect(ambush.count == 1)
        #expect(!session.isUnlocked && !session.hasKeys)
        // The passcode was right: nothing was counted, and the next one opens it.
        #expect(try await session.status().attemptsLeft == 10)
        try await session.unlock(with: Passcode(copying: Self.passcode))
        #expect(session.isUnlocked)
    }

    @Test("A lock during a passcode change leaves the new passcode and a locked vault")
    func changePasscode() async throws {
        let (home, ambush) = (try TestHome(), Ambush())
        try await home.create(Self.passcode, options: Self.options).close()
        let session = try await home.open(clock: ambush.source)
        ambush.set(end(session, .lock, home))
        try await session.changePasscode(
            to: Passcode(copying: "battery staple"), current: Passcode(copying: Self.passcode))
        #expect(ambush.count == 1)
        #expect(!session.isUnlocked && !session.hasKeys)
        try await session.unlock(with: Passcode(copying: "battery staple"))
        #expect(session.isUnlocked)
    }

    @Test(
        "A lock while keys are being cached removes them from the kernel keyring",
        .enabled(if: KernelKeyring.isAvailable),
        arguments: [Ending.lock, .close, .lockOfTheHome])
    private func hold(_ ending: Ending) async throws {
        let (home, ambush) = (try TestHome(), Ambush())
        let session = try await home.create(Self.passcode, options: Self.options, clock: ambush.source)
        defer { session.close() }
        let lock = end(session, ending, home)
        let locks = Counter()
        // Each question is another moment: before the keys are read, and between any two that are stored.
        for moment in 0..<12 {
            try await session.unlock(with: Passcode(copying: Self.passcode))
            let before = locks.value
            after(moment, ambush) {
                lock()
                locks.increment()
            }
            let error = await refusal { try await session.cacheKeysInKernel() }
            ambush.set {}
            guard locks.value > before else { continue }
            #expect(error?.code == .locked, "\(moment)")
            let held = ProtectionClass.allCases.filter {
                (try? KernelKeyring.contains(KernelKeyCache.name($0, vaultID: session.vaultID))) == true
            }
            #expect(!held.contains { ending == .close || $0.isEvictedOnLock }, "\(moment): \(held)")
        }
        #expect(locks.value >= 6)
    }

    @Test(
        "A lock while cached keys are being restored keeps them out",
        .enabled(if: KernelKeyring.isAvailable),
        arguments: [Ending.lock, .close, .lockOfTheHome])
    private func adopt(_ ending: Ending) async throws {
        let (home, ambush) = (try TestHome(), Ambush())
        let made = try await home.create(Self.passcode, options: Self.options)
        defer { made.close() }
        let locks = Counter()
        for moment in 0..<8 {
            try await made.unlock(with: Passcode(copying: Self.passcode))
            try await made.cacheKeysInKernel()
            let session = try await home.open(clock: ambush.source)
            let lock = end(session, ending, home)
            let before = locks.value
            after(moment, ambush) {
                lock()
                locks.increment()
            }
            let isIn = try await session.restoreCachedKeys()
            ambush.set {}
            #expect(isIn == (locks.value == before), "\(moment)")
        }
        #expect(locks.value >= 5)
    }

    private func coffer(_ command: [String], _ home: TestHome, _ times: Counter) -> @Sendable () -> Void {
        let arguments = command + ["--home", home.location.path.string]
        return {
            let run = try? CommandRun.run(CommandRun.cofferPath, arguments)
            if run?.code == 0 { times.increment() }
        }
    }

    @Test(
        "Another process's lock during a caching unlock leaves no key that locks evict",
        .enabled(if: KernelKeyring.isAvailable))
    func lockedByAnother() async throws {
        let (home, ambush, times) = (try TestHome(), Ambush(), Counter())
        try await home.create(Self.passcode, options: Self.options).close()
        for moment in 0..<12 {
            let session = try await home.open(clock: ambush.source)
            let before = times.value
            after(moment, ambush, coffer(["lock"], home, times))
            let passcode = try Passcode(copying: Self.passcode)
            let error = await refusal { try await session.unlock(with: passcode, cachingFor: .seconds(600)) }
            ambush.set {}
            let held = ProtectionClass.allCases.filter {
                (try? KernelKeyring.contains(KernelKeyCache.name($0, vaultID: session.vaultID))) == true
            }
            if times.value > before {
                #expect(error?.code == .locked, "\(moment)")
                #expect(!held.contains { $0.isEvictedOnLock }, "\(moment): \(held)")
                #expect(!session.isUnlocked)
            } else {
                #expect(error == nil && held.count == ProtectionClass.allCases.count)
            }
            session.close()
        }
        #expect(times.value >= 6)
    }

    @Test(
        "Another process's wipe during caching leaves no key of any class",
        .enabled(if: KernelKeyring.isAvailable))
    func wipedByAnother() async throws {
        let (home, ambush, times) = (try TestHome(), Ambush(), Counter())
        for moment in 0..<6 {
            let session = try await home.create(Self.passcode, options: Self.options, clock: ambush.source)
            let before = times.value
            after(moment, ambush, coffer(["wipe", "--yes"], home, times))
            let error = await refusal { try await session.cacheKeysInKernel(for: .seconds(600)) }
            ambush.set {}
            if times.value > before {
                #expect(error?.code == .locked || error?.code == .wiped, "\(moment)")
                #expect(!KernelKeyCache.isAnyLeft(vaultID: session.vaultID), "\(moment)")
            }
            session.close()
            _ = try? await Vault.wipe(at: home.location)
        }
        #expect(times.value >= 4)
    }

    /// Does `body` when the clock has been asked that many times before.
    private func after(_ moment: Int, _ ambush: Ambush, _ body: @escaping @Sendable () -> Void) {
        guard moment > 0 else { return ambush.set(body) }
        ambush.set { self.after(moment - 1, ambush, body) }
    }

    @Test(
        "A volatile token stored during a lock does not outlast it",
        .enabled(if: KernelKeyring.isAvailable))
    func ephemeralTokens() async throws {
        let (home, ambush) = (try TestHome(), Ambush())
        let session = try await home.create(Self.passcode, options: Self.options, clock: ambush.source)
        defer { session.close() }
        let id = try TokenID(service: "s", account: "a")
        let name = try id.keyedHash(session.core.device.nameKey().key)
        for isShared in [false, true] {
            if isShared { session.shareEphemeralTokens() }
            let info = TokenInfo(
                id: id, version: 1, protection: .whenUnlocked, stored: Date(timeIntervalSince1970: 0),
                expires: nil, scopes: [], attributes: [:])
            let key = try #require(session.core.keys.present(.whenUnlocked))
            let envelope = try TokenEnvelope.seal(
                Token(copying: "x"), info: info, name: name, under: key, vaultID: session.vaultID)
            ambush.set { session.lock() }
            let put = failure { try session.core.ephemeralTokens.put(envelope.encoded, for: name) }
            #expect(put == .locked)
            #expect(ambush.count > 0)
            try await session.unlock(with: Passcode(copying: Self.passcode))
            #expect(try session.core.ephemeralTokens.count() == 0)
        }
    }
}
