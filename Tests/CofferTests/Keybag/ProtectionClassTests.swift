import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Protection classes")
struct ProtectionClassTests {
    private func id(_ account: String) throws -> TokenID {
        try TokenID(service: "api.example.org", account: account)
    }

    private func value(_ account: String, in session: Vault) async throws -> String? {
        try await session.tokens.withToken(for: id(account)) { token, _ in
            token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
        }
    }

    @Test(
        "Tokens and files of every class are readable exactly when the class allows",
        arguments: ProtectionClass.allCases)
    func tokensAndFilesOfEveryClass(_ protection: ProtectionClass) async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        try await session.tokens.put(Token(copying: "value"), for: id("ada"), class: protection)
        try home.scratch.write("file.txt", Array("content".utf8))
        let file = try await session.files.add(
            contentsOf: home.scratch.path.appending("file.txt"), class: protection)
        #expect(try await session.files.info(for: file).protection == protection)

        session.lock()
        let outlastsLock = [.afterFirstUnlock, .afterFirstUnlockThisDeviceOnly].contains(protection)
        let readsLocked = await refusal { _ = try await value("ada", in: session) }
        let viewsLocked = await refusal { try await session.files.verify(file) }
        #expect(readsLocked?.code == (outlastsLock ? nil : .locked))
        #expect(viewsLocked?.code == (outlastsLock ? nil : .locked))
        session.close()
        #expect(await refusal { _ = try await value("ada", in: session) }?.code == .locked)

        let again = try await home.unlocked("correct horse")
        #expect(try await value("ada", in: again) == "value")
        #expect(try await again.tokens.info(for: id("ada"))?.protection == protection)
        try await again.files.verify(file)
    }

    @Test("A reboot ends the classes that outlast a lock")
    func aRebootEndsAfterFirstUnlock() async throws {
        let home = try TestHome()
        let clock = TestClock()
        let options = TestHome.options { $0.inactivity = nil }
        let session = try await home.create("correct horse", options: options, clock: clock.source)
        try await session.tokens.put(Token(copying: "value"), for: id("ada"), class: .afterFirstUnlock)
        session.lock()
        #expect(try await value("ada", in: session) == "value")
        var events = session.events.makeAsyncIterator()
        clock.reboot(running: .seconds(6000))
        #expect(await refusal { _ = try await value("ada", in: session) }?.code == .locked)
        #expect(!session.hasKeys)
        #expect(await events.next() == VaultEvent(.closed, .reboot))
    }

    // MARK: The class that needs a passcode

    @Test("Without a passcode, the vault refuses items that depend on one")
    func withoutAPasscodeItsItemsAreRefused() async throws {
        let home = try TestHome()
        let session = try await home.create()
        try home.scratch.write("file.txt", [1])
        let path = home.scratch.path.appending("file.txt")
        for _ in 0..<2 {
            let token = await refusal {
                try await session.tokens.put(
                    Token(copying: "value"), for: id("ada"), class: .whenPasscodeSetThisDeviceOnly)
            }
            #expect(token?.code == .refused)
            let file = await refusal {
                _ = try await session.files.add(contentsOf: path, class: .whenPasscodeSetThisDeviceOnly)
            }
            #expect(file?.code == .refused)
            // Once it was set and removed, it is as before.
            try await session.changePasscode(to: Passcode(copying: "first one"), current: nil)
            try await session.tokens.put(
                Token(copying: "value"), for: id("b"), class: .whenPasscodeSetThisDeviceOnly)
            let destroyed = try await session.changePasscode(to: nil, current: Passcode(copying: "first one"))
            #expect(destroyed.tokens == 1 && destroyed.files == 0 && destroyed.databases == 0)
        }
        #expect(try await session.tokens.count() == 0)
        #expect(try await session.files.count() == 0)
    }

    @Test("Removing the passcode destroys exactly the items that depend on it")
    func removingThePasscodeDestroysThem() async throws {
        let home = try TestHome()
        let session = try await home.create("first one")
        try home.scratch.write("file.txt", [1, 2, 3])
        let path = home.scratch.path.appending("file.txt")
        for protection in ProtectionClass.allCases {
            try await session.tokens.put(
                Token(copying: "value"), for: id(protection.name), class: protection)
            _ = try await session.files.add(contentsOf: path, class: protection)
        }
        let dependent = try await session.passcodeDependentItems()
        #expect(dependent.tokens == 1 && dependent.files == 1 && dependent.databases == 0)
        // Changing it destroys nothing; a wrong one neither.
        try await session.changePasscode(
            to: Passcode(copying: "second one"), current: Passcode(copying: "first one"))
        let wrong = await refusal {
            try await session.changePasscode(to: nil, current: Passcode(copying: "first one"))
        }
        #expect(wrong?.code == .wrongPasscode)
        #expect(try await session.passcodeDependentItems() == dependent)
        #expect(try await session.tokens.count() == 5)

        let key = try #require(home.keybag().keys[.whenPasscodeSetThisDeviceOnly])
        let destroyed = try await session.changePasscode(to: nil, current: Passcode(copying: "second one"))
        #expect(destroyed == dependent)
        #expect(try !home.read("keybag").contains(Array(key.encoded.suffix(72))))
        #expect(!session.hasKey(of: .whenPasscodeSetThisDeviceOnly))
        for reader in [session, try await home.unlocked()] {
            #expect(try await value("whenPasscodeSetThisDeviceOnly", in: reader) == nil)
            #expect(try await value("whenUnlocked", in: reader) == "value")
            #expect(try await reader.tokens.list().count == 4)
            #expect(try await reader.files.list().count == 4)
        }
    }

    /// The key is destroyed first, so items that a crash leaves behind are unreadable, and the next unlock
    /// removes them.
    @Test("The next unlock removes items whose key was destroyed before a crash")
    func whatACrashLeavesIsRemovedAtTheNextUnlock() async throws {
        let home = try TestHome()
        let session = try await home.create("first one")
        try await session.tokens.put(
            Token(copying: "value"), for: id("ada"), class: .whenPasscodeSetThisDeviceOnly)
        try await session.tokens.put(Token(copying: "value"), for: id("b"))
        let tokens = try home.read("tokens")
        try await session.changePasscode(to: nil, current: Passcode(copying: "first one"))
        try home.write("tokens", tokens)
        try home.changeKeybag { $0.hasOrphans = true }

        let again = try await home.unlocked()
        #expect(try await again.tokens.list().map(\.id.account) == ["b"])
        #expect(try !home.keybag().hasOrphans)
    }

    @Test("A session with a key that another process destroyed stores nothing")
    func aDestroyedKeyStoresNothing() async throws {
        let home = try TestHome()
        let session = try await home.create("first one")
        let stale = try await home.unlocked("first one")
        try await session.changePasscode(to: nil, current: Passcode(copying: "first one"))
        let error = await refusal {
            try await stale.tokens.put(
                Token(copying: "value"), for: id("ada"), class: .whenPasscodeSetThisDeviceOnly)
        }
        #expect(error?.code == .refused)
        #expect(try await session.tokens.count() == 0)
    }

    // MARK: Homes of an earlier release

    @Test("A home of an earlier release with two classes opens, and an upgrade gives it the others")
    func aHomeWithTwoClassesOpensAndGetsTheOthers() async throws {
        let home = try TwoClassHome.make()
        let session = try await home.open()
        #expect(try home.keybag().keys.count == 2)
        #expect(await refusal(of: "battery staple", by: session)?.code == .wrongPasscode)
        #expect(try home.keybag().keys.count == 2)
        for opened in [session, try await home.open()] {
            try await opened.unlock(with: Passcode(copying: "correct horse"))
            _ = try await opened.upgrade(
                passcode: Passcode(copying: "correct horse"), requiringBackup: false)
            #expect(try home.keybag().isComplete)
            #expect(try await value("ada", in: opened) == "kept from before")
            for protection in ProtectionClass.allCases {
                try await opened.tokens.put(
                    Token(copying: "new"), for: id(protection.name), class: protection)
            }
            opened.lock()
            #expect(try await value("after", in: opened) == "outlasts")
        }
    }
}
