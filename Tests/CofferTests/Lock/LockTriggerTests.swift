@testable import Coffer
import CofferBase
import CofferDBus
import CofferEngine
import Dispatch
import Foundation
import Synchronization
import SystemPackage
import Testing
import TestSupport

/// Real signals on private buses.
@Suite(
    "Lock triggers", .enabled(if: FakeDesktop.isPossible, "needs dbus, gnome-keyring and python3-dbusmock"))
struct LockTriggerTests {
    private func unlock(_ session: Vault) async throws {
        try await session.unlock(with: Passcode(copying: "correct horse"))
    }

    private func session(_ home: TestHome) async throws -> Vault {
        try await home.create("correct horse", options: TestHome.options { $0.inactivity = nil })
    }

    private struct Source {
        let event: VaultEvent
        /// Reverts the signal, so that it can be sent again.
        var undo: String?
    }

    @Test("Each source locks at its signal, a second time as well if it can send its signal again")
    func eachLocksAtItsSignal() async throws {
        let desktop = try #require(try FakeDesktop())
        let home = try TestHome()
        let session = try await session(home)
        let statuses = await session.observeLockTriggers(desktop.sources)
        for status in statuses where ![.idleTimer, .kernelKeyring].contains(status.source) {
            #expect(status.isListening, "\(status.source): \(status.message)")
        }
        let log = EventLog(session)
        let sources = [
            Source(event: VaultEvent(.locked, .screenLock), undo: "awake"),
            Source(event: VaultEvent(.locked, .lockedHint), undo: "lockedHintOff"),
            Source(event: VaultEvent(.locked, .screenSaver), undo: "screenSaverOff"),
            Source(event: VaultEvent(.locked, .sleep), undo: "awake"),
            Source(event: VaultEvent(.locked, .collectionLock)),
            Source(event: VaultEvent(.closed, .shutdown), undo: "awake"),
            Source(event: VaultEvent(.closed, .sessionEnd)),
        ]
        for source in sources {
            try await expectLock(by: source, on: desktop, session, log)
            if source.undo != nil { try await expectLock(by: source, on: desktop, session, log) }
        }
        try await open(session, log)
        #expect(desktop.send("sessionRemoved"))
        #expect(await log.next() == VaultEvent(.closed, .sessionEnd))
    }

    /// Sends a signal to an open vault and checks that it locks.
    private func expectLock(
        by source: Source, on desktop: FakeDesktop, _ session: Vault, _ log: EventLog
    ) async throws {
        try await open(session, log)
        #expect(desktop.send(source.event.reason?.rawValue ?? ""))
        let event = try #require(await log.next(), "\(source.event) does not come.")
        #expect(event == source.event)
        checkKeys(of: session, after: source.event)
        if let undo = source.undo { #expect(desktop.send(undo)) }
    }

    private func open(_ session: Vault, _ log: EventLog) async throws {
        guard !session.isUnlocked else { return }
        let clock = ContinuousClock()
        let end = clock.now + .seconds(30)
        while !session.isUnlocked {
            do {
                try await unlock(session)
            } catch let error as CofferError where error.code == .locked {
                // A signal of the round before was late and met the unlock.
                guard clock.now < end else { throw error }
            }
        }
        while let event = await log.next(), event.kind != .unlocked {}
        while await log.next(within: .milliseconds(1)) != nil {}
    }

    private func checkKeys(of session: Vault, after event: VaultEvent) {
        let left = Set(session.core.keys.all.keys)
        let afterFirstUnlock: Set<ProtectionClass> = [.afterFirstUnlock, .afterFirstUnlockThisDeviceOnly]
        #expect(left == (event.kind == .locked ? afterFirstUnlock : []))
    }

    @Test("The machine's sleep waits until the keys are gone")
    func sleepWaitsUntilTheKeysAreGone() async throws {
        let desktop = try #require(try FakeDesktop())
        let home = try TestHome()
        var session: Vault? = try await session(home)
        let core = try #require(session?.core)
        let reached = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let hadKeys = Mutex<Bool?>(nil)
        core.events.observe { [weak core] event in
            guard event.reason == .sleep else { return }
            hadKeys.withLock { $0 = core?.keys.isUnlocked }
            reached.signal()
            _ = goOn.wait(timeout: .now() + 120)
        }
        await session?.observeLockTriggers(desktop.sources)
        #expect(desktop.inhibitors() == 1)
        #expect(desktop.send("sleep"))
        #expect(await BlockingExecutor.isDone { reached.wait(timeout: .now() + 120) == .success })
        // The keys are gone, and the machine still waits.
        #expect(hadKeys.withLock { $0 } == false)
        #expect(desktop.inhibitors() == 1)
        goOn.signal()
        #expect(await becomes(0, desktop))
        #expect(desktop.send("awake"))
        #expect(await becomes(1, desktop))
        extendLifetime(core)
        session = nil
    }

    @Test("Listening ends with the session")
    func listeningEndsWithTheSession() async throws {
        let desktop = try #require(try FakeDesktop())
        let home = try TestHome()
        var session: Vault? = try await session(home)
        await session?.observeLockTriggers(desktop.sources)
        #expect(desktop.inhibitors() == 1)
        session = nil
        #expect(await becomes(0, desktop))
    }

    private func becomes(_ count: Int, _ desktop: FakeDesktop) async -> Bool {
        let end = ContinuousClock.now + .seconds(120)
        while desktop.inhibitors() != count {
            guard ContinuousClock.now < end else { return false }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return true
    }

    @Test("Signals of other sessions or of waking up do not lock the vault")
    func whatIsNotMeantForUsDoesNotLock() async throws {
        let desktop = try #require(try FakeDesktop())
        let home = try TestHome()
        let session = try await session(home)
        await session.observeLockTriggers(desktop.sources)
        let log = EventLog(session)
        for command in ["otherRemoved", "awake", "lockedHintOff", "screenSaverOff"] {
            #expect(desktop.send(command))
        }
        #expect(desktop.send("lockedHint"))
        #expect(await log.next() == VaultEvent(.locked, .lockedHint))
    }

    @Test("The end of a bus locks the vault", arguments: ["busLost", "systemBusLost"])
    func theEndOfABusLocks(_ command: String) async throws {
        let desktop = try #require(try FakeDesktop())
        let home = try TestHome()
        let session = try await session(home)
        await session.observeLockTriggers(desktop.sources)
        let log = EventLog(session)
        #expect(desktop.send(command))
        #expect(await log.next() == VaultEvent(.locked, .busLost))
    }
}

/// Without a desktop.
@Suite("Lock triggers without a desktop")
struct AbsentLockTriggerTests {
    private var nothing: LockTriggers {
        var sources = LockTriggers()
        sources.sessionBus = nil
        sources.systemBus = nil
        sources.deadline = .milliseconds(500)
        return sources
    }

    @Test("The vault reports each absent source and stays unlocked")
    func whatIsAbsentIsSaid() async throws {
        let home = try TestHome()
        let session = try await home.create()
        var dead = nothing
        dead.sessionBus = "unix:path=\(home.scratch.path)/nobody"
        dead.systemBus = "nonsense"
        for sources in [nothing, dead] {
            let statuses = await session.observeLockTriggers(sources)
            #expect(statuses.map(\.source) == LockTriggerStatus.Source.allCases)
            #expect(statuses.allSatisfy { !$0.message.isEmpty })
            #expect(statuses[0].isListening)
            #expect(!statuses.dropFirst(2).contains { $0.isListening })
            #expect(session.isUnlocked)
        }
    }

    @Test("The vault waits for a silent bus only until the deadline", .enabled(if: BusListener.isBuilt))
    func aSilentBusIsNotWaitedForLongerThanTheDeadline() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let path = home.scratch.path.appending("silent").string
        let script = """
            import socket, sys
            s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print("ready", flush=True)
            sys.stdin.read()
            """
        let helper = try #require(Helper(["python3", "-c", script, path]))
        var silent = nothing
        silent.sessionBus = "unix:path=\(path)"
        silent.systemBus = silent.sessionBus
        let statuses = await session.observeLockTriggers(silent)
        #expect(!statuses.dropFirst(2).contains { $0.isListening })
        #expect(statuses[2].message.contains("in time"))
        extendLifetime(helper)
    }

    @Test(
        "Keys that expire or are removed in the kernel keyring lock the vault",
        .enabled(if: KernelKeyring.isAvailable))
    func theTimeoutOfTheKernelKeyringLocks() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        defer { session.close() }
        await session.observeLockTriggers(nothing)
        let log = EventLog(session)
        try await session.cacheKeysInKernel(for: .seconds(1))
        #expect(await log.next() == VaultEvent(.locked, .kernelKeyExpired))
        #expect(!session.isUnlocked)
        // So does another process that takes them back.
        try await session.unlock(with: Passcode(copying: "correct horse"))
        #expect(await log.next() == VaultEvent(.unlocked))
        try await session.cacheKeysInKernel()
        try await home.open().lock()
        #expect(await log.next() == VaultEvent(.locked, .kernelKeyExpired))
    }

    @Test(
        "A process without keys removes the cached keys at a lock and reports it",
        .enabled(if: KernelKeyring.isAvailable))
    func aLockTakesBackWhatOthersLent() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        defer { session.close() }
        try await session.cacheKeysInKernel()
        let watching = try await home.open()
        let log = EventLog(watching)
        watching.core.lock(.screenSaver)
        #expect(await log.next() == VaultEvent(.locked, .screenSaver))
        #expect(try await !home.open().restoreCachedKeys())
    }

    @Test(
        "Each desktop signal has its documented meaning",
        arguments: [
            ("org.freedesktop.login1.Manager", "PrepareForSleep", SignalArguments(), nil),
            (
                "org.freedesktop.login1.Manager", "PrepareForSleep", SignalArguments(flag: true),
                LockSignal.lock(.sleep)
            ),
            ("org.freedesktop.login1.Manager", "PrepareForSleep", SignalArguments(flag: false), .awake),
            ("org.freedesktop.login1.Manager", "PrepareForShutdown", SignalArguments(flag: false), nil),
            (
                "org.freedesktop.login1.Manager", "PrepareForShutdown", SignalArguments(flag: true),
                .close(.shutdown)
            ),
            (
                "org.freedesktop.login1.Manager", "SessionRemoved",
                SignalArguments(positionalStrings: ["c1", "/c1"]),
                .close(.sessionEnd)
            ),
            (
                "org.freedesktop.login1.Manager", "SessionRemoved",
                SignalArguments(positionalStrings: ["c1"]), nil
            ),
            ("org.freedesktop.login1.Session", "Lock", SignalArguments(), .lock(.screenLock)),
            ("org.freedesktop.login1.Session", "Unlock", SignalArguments(), nil),
            ("org.gnome.ScreenSaver", "ActiveChanged", SignalArguments(flag: true), .lock(.screenSaver)),
            ("org.freedesktop.ScreenSaver", "ActiveChanged", SignalArguments(flag: false), nil),
            ("org.example.ScreenSaver", "ActiveChanged", SignalArguments(flag: true), nil),
        ] as [(String, String, SignalArguments, LockSignal?)])
    func meanings(_ interface: String, _ name: String, _ content: SignalArguments, _ meaning: LockSignal?) {
        let signal = BusSignal(path: "/c1", interface: interface, name: name, content: content)
        #expect(LockSignal(signal, session: "/c1") == meaning)
    }

    @Test("Property changes count only for our own session and for collections")
    func propertiesOfOtherSessionsMeanNothing() {
        func meaning(_ path: String, _ content: SignalArguments, _ session: String?) -> LockSignal? {
            LockSignal(
                BusSignal(
                    path: path, interface: LockSignal.properties, name: "PropertiesChanged",
                    content: content),
                session: session)
        }
        let texts = [LockSignal.loginSession]
        let locked = SignalArguments(positionalStrings: texts, booleans: ["LockedHint": true])
        #expect(meaning("/c1", locked, "/c1") == .lock(.lockedHint))
        #expect(meaning("/c2", locked, "/c1") == nil)
        #expect(meaning("/c1", locked, nil) == nil)
        #expect(
            meaning("/c1", SignalArguments(positionalStrings: texts, booleans: ["LockedHint": false]), "/c1")
                == nil)
        #expect(
            meaning("/c1", SignalArguments(positionalStrings: texts, strings: ["State": "closing"]), "/c1")
                == .close(.sessionEnd))
        #expect(
            meaning("/c1", SignalArguments(positionalStrings: texts, strings: ["State": "active"]), "/c1")
                == nil)
        let collection = SignalArguments(
            positionalStrings: [LockSignal.collection], booleans: ["Locked": true])
        #expect(meaning("/col", collection, nil) == .collectionLocked(path: "/col"))
        #expect(
            meaning(
                "/col", SignalArguments(positionalStrings: ["org.example"], booleans: ["Locked": true]), nil)
                == nil)
    }
}

extension BlockingExecutor {
    /// Waits on a thread of its own.
    fileprivate static func isDone(_ body: @escaping @Sendable () -> Bool) async -> Bool {
        let result: Bool? = try? await run { _ throws(CofferError) in body() }
        return result ?? false
    }
}
