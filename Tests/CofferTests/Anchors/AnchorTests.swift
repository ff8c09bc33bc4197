import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import SystemPackage
import TestSupport
import Testing

/// Older copies of a home, put back with and without a reboot.
@Suite("Anchors")
struct AnchorTests {
    private let home: TestHome
    private let clock = TestClock()
    private var anchor: FilePath { home.scratch.path.appending("anchor") }

    init() throws { home = try TestHome() }

    private func create() async throws -> Vault {
        try await home.create("correct horse", clock: clock.source)
    }

    private var passcode: Passcode { get throws { try Passcode(copying: "correct horse") } }

    private func unlocking() async throws -> CofferError.Code? {
        let (clock, home) = (clock.source, home)
        return await refusal { _ = try await home.unlocked("correct horse", clock: clock) }?.code
    }

    private func copy(to name: String) throws {
        try FileManager.default.copyItem(
            atPath: home.location.path.string, toPath: home.scratch.path(of: name))
    }

    private func putBack(_ name: String) throws {
        try FileManager.default.removeItem(atPath: home.location.path.string)
        try FileManager.default.copyItem(
            atPath: home.scratch.path(of: name), toPath: home.location.path.string)
    }

    /// A change of each kind that the number stands for.
    enum Change: String, CaseIterable {
        case passcode, settings, attempt, file, token, recoveryKey
    }

    private func make(_ change: Change, in vault: Vault) async throws {
        let passcode = try passcode
        switch change {
        case .passcode: try await vault.changePasscode(to: passcode, current: passcode)
        case .settings: _ = try await vault.changeSettings { $0.inactivity = .seconds(60) }
        case .attempt: #expect(await refusal(of: "wrong", by: vault)?.code == .wrongPasscode)
        case .file:
            let source = home.scratch.path.appending("source")
            try Data("content".utf8).write(to: URL(filePath: source.string))
            _ = try await vault.files.add(contentsOf: source)
        case .token:
            clock.advance(by: .seconds(2))
            try await vault.tokens.put(Token(copying: "value"), for: TokenID(service: "s", account: "a"))
        case .recoveryKey: _ = try await vault.createRecoveryKey(passcode: passcode)
        }
    }

    @Test(
        "A file elsewhere shows an older copy after every kind of change, also after a reboot",
        arguments: Change.allCases)
    func file(_ change: Change) async throws {
        let vault = try await create()
        try await vault.setAnchor(at: anchor.string, passcode: passcode)
        try copy(to: "old")
        try await make(change, in: vault)
        try copy(to: "new")
        try putBack("old")
        #expect(try await unlocking() == .rolledBack)
        clock.reboot()
        #expect(try await unlocking() == .rolledBack)
        try putBack("new")
        #expect(try await unlocking() == nil)
        #expect(try await home.open(clock: clock.source).anchors().map(\.kind) == [.file])
    }

    @Test(
        "The kernel keyring shows an older copy until the next reboot, also one from before it was set",
        .enabled(if: KernelKeyring.isAvailable))
    func keyring() async throws {
        let vault = try await create()
        try copy(to: "before")
        try await vault.setAnchor(at: nil, passcode: passcode)
        try copy(to: "old")
        try await make(.passcode, in: vault)
        for name in ["before", "old"] {
            try putBack(name)
            #expect(try await unlocking() == .rolledBack, "\(name)")
        }
        // What a reboot does to the kernel keyring.
        try AnchorKey.remove(vault.vaultID)
        #expect(try await unlocking() == .anchorLost)
        clock.reboot()
        #expect(try await unlocking() == nil)
        // From this boot on, it is there again.
        #expect(try AnchorKey(device: home.deviceKey()).number() != nil)
        try AnchorKey.remove(vault.vaultID)
        #expect(try await unlocking() == .anchorLost)
    }

    @Test("One of the files put back alone is noticed", arguments: ["keybag", "attempts", "tokens"])
    func oneFile(_ name: String) async throws {
        let vault = try await create()
        try await vault.setAnchor(at: anchor.string, passcode: passcode)
        try await make(.token, in: vault)
        let old = try home.read(name)
        for change in [Change.token, .passcode, .attempt] { try await make(change, in: vault) }
        try home.write(name, old)
        #expect(try await unlocking() == .rolledBack)
        let changing = await refusal { _ = try await vault.changeSettings { $0.inactivity = .seconds(30) } }
        #expect(changing?.code == .rolledBack)
    }

    @Test("A lost anchor is its own code, and the passcode is the way out of it")
    func lost() async throws {
        let vault = try await create()
        try await vault.setAnchor(at: anchor.string, passcode: passcode)
        let hidden = home.scratch.path(of: "hidden")
        try FileManager.default.moveItem(atPath: anchor.string, toPath: hidden)
        #expect(try await unlocking() == .anchorLost)
        let again = try await home.open(clock: clock.source)
        #expect(await refusal(of: "wrong", by: again)?.code == .anchorLost)
        #expect(try home.attempts().failures == 0)
        let checks = try await again.securityChecks().filter { $0.name == "anchors" }
        #expect(checks.map(\.status) == [.missing])
        let wrong = await refusal { try await again.resetAnchors(passcode: Passcode(copying: "wrong")) }
        #expect(wrong?.code == .wrongPasscode)
        #expect(try await unlocking() == .anchorLost)
        // The disk is mounted again.
        try FileManager.default.moveItem(atPath: hidden, toPath: anchor.string)
        #expect(try await unlocking() == nil)
        try FileManager.default.removeItem(atPath: anchor.string)
        try await again.resetAnchors(passcode: passcode)
        #expect(try await unlocking() == nil)
        try FileManager.default.removeItem(atPath: anchor.string)
        #expect(try await again.removeAnchor(.file, passcode: passcode))
        #expect(try await unlocking() == nil)
        #expect(try await !again.removeAnchor(.file, passcode: passcode))
    }

    @Test("An attempt of which the anchors cannot be told is neither compared nor counted")
    func unwritable() async throws {
        _ = try await create()
        let (device, keybag) = (try home.deviceKey(), try home.keybag())
        var limiter = AttemptLimiter(device: device, clock: clock.source, delays: false, erases: true)
        limiter.anchor = { (_) throws(CofferError) in throw CofferError(.anchorLost, "The disk is full.") }
        let parameters = try #require(keybag.passcode)
        let derived = try DerivedPasscode(Passcode(copying: "wrong"), parameters, device: device)
        let vault = try home.directory().openVault()
        do throws(CofferError) {
            _ = try limiter.mustErase(after: derived, keybag: keybag, in: vault)
            Issue.record("The passcode was compared.")
        } catch {
            #expect(error.code == .anchorLost)
        }
        #expect(try home.attempts().failures == 0)
    }

    @Test(
        "The owner accepts an older copy with the passcode, and is told of the next one",
        .enabled(if: KernelKeyring.isAvailable))
    func accepted() async throws {
        let vault = try await create()
        try await vault.setAnchor(at: anchor.string, passcode: passcode)
        try await vault.setAnchor(at: nil, passcode: passcode)
        try copy(to: "old")
        try await make(.passcode, in: vault)
        try putBack("old")
        let again = try await home.open(clock: clock.source)
        #expect(await refusal(of: "correct horse", by: again)?.code == .rolledBack)
        try await again.resetAnchors(passcode: passcode)
        #expect(try await unlocking() == nil)
        try putBack("old")
        #expect(try await unlocking() == .rolledBack)
        let anchors = try await home.open(clock: clock.source).anchors()
        #expect(anchors.map(\.problem?.code) == [.rolledBack, .rolledBack])
    }

    @Test("A receipt shows an older copy, and only this vault's receipt counts")
    func receipt() async throws {
        let vault = try await create()
        try copy(to: "before")
        let receipt = try await vault.anchorReceipt()
        let read = try AnchorReceipt(receipt.text.uppercased())
        #expect(read == receipt)
        try await vault.checkAnchors(read)
        try await make(.passcode, in: vault)
        let later = try await vault.anchorReceipt()
        #expect(later.number > receipt.number)
        try await vault.checkAnchors(receipt)
        for index in receipt.text.utf8.indices where receipt.text.utf8[index] != UInt8(ascii: "-") {
            var bytes = Array(receipt.text.utf8)
            let place = receipt.text.utf8.distance(from: receipt.text.utf8.startIndex, to: index)
            bytes[place] = bytes[place] == UInt8(ascii: "7") ? UInt8(ascii: "8") : UInt8(ascii: "7")
            guard let changed = try? AnchorReceipt(String(decoding: bytes, as: UTF8.self)) else { continue }
            let code = await refusal { try await vault.checkAnchors(changed) }?.code
            #expect(code == .notAuthentic || code == .foreign || changed == receipt, "\(place)")
        }
        try putBack("before")
        let again = try await home.open(clock: clock.source)
        #expect(await refusal { try await again.checkAnchors(later) }?.code == .rolledBack)
    }

    @Test("Tokens raise the number at most once a second")
    func tokens() async throws {
        let vault = try await create()
        try await vault.setAnchor(at: anchor.string, passcode: passcode)
        clock.advance(by: .seconds(2))
        let start = try await vault.checkAnchors()
        for number in 1...5 {
            try await vault.tokens.put(
                Token(copying: "\(number)"), for: TokenID(service: "s", account: "\(number)"))
        }
        #expect(try await vault.checkAnchors() == start + 1)
        clock.advance(by: .seconds(2))
        try await vault.tokens.put(Token(copying: "6"), for: TokenID(service: "s", account: "6"))
        #expect(try await vault.checkAnchors() == start + 2)
        #expect(try await unlocking() == nil)
    }

    @Test("A file in the vault directory, another file and a relative path are refused")
    func refused() async throws {
        let vault = try await create()
        let other = home.scratch.path(of: "other")
        try Data("mine".utf8).write(to: URL(filePath: other))
        for (path, code) in [
            (home.homePath("anchor").string, CofferError.Code.refused), (other, .alreadyExists),
            ("anchor", .invalidInput), ("/" + String(repeating: "a", count: 2000), .invalidInput),
            (home.scratch.path(of: "absent") + "/anchor", .anchorLost),
        ] {
            let error = await refusal { try await vault.setAnchor(at: path, passcode: passcode) }
            #expect(error?.code == code, "\(path)")
        }
        #expect(try Data(contentsOf: URL(filePath: other)) == Data("mine".utf8))
        #expect(try await vault.anchors().isEmpty)
        #expect(try await unlocking() == nil)
    }

    @Test("An anchor that knows of a later change is not overwritten by a copy from before it was set")
    func copyFromBefore() async throws {
        let vault = try await create()
        try copy(to: "before")
        try await vault.setAnchor(at: anchor.string, passcode: passcode)
        try await make(.passcode, in: vault)
        try putBack("before")
        #expect(try await unlocking() == nil)
        let again = try await home.open(clock: clock.source)
        let error = await refusal { try await again.setAnchor(at: anchor.string, passcode: passcode) }
        #expect(error?.code == .rolledBack)
    }

    @Test(
        "A damaged record of the anchors is an error, and the passcode is the way out",
        arguments: [true, false])
    func damagedRecord(_ byReset: Bool) async throws {
        let vault = try await create()
        try await vault.setAnchor(at: anchor.string, passcode: passcode)
        try home.write("anchors", [UInt8](repeating: 1, count: 4096))
        #expect(try await unlocking() == .corrupt)
        let again = try await home.open(clock: clock.source)
        if byReset {
            try await again.resetAnchors(passcode: passcode)
        } else {
            #expect(try await again.removeAnchor(.file, passcode: passcode))
        }
        #expect(try await unlocking() == nil)
    }

    @Test("A damaged file of the vault has its own error, also with an anchor")
    func damagedFile() async throws {
        let vault = try await create()
        try await vault.setAnchor(at: anchor.string, passcode: passcode)
        try home.write("tokens", [1, 2, 3])
        let again = try await home.open(clock: clock.source)
        try await again.unlock(with: passcode)
        let error = await refusal { _ = try await again.tokens.get(TokenID(service: "s", account: "a")) }
        #expect(error?.code == .corrupt)
    }

    @Test(
        "Without an anchor, locking and wiping work, and a wipe removes the key from the kernel keyring",
        .enabled(if: KernelKeyring.isAvailable))
    func wiping() async throws {
        let vault = try await create()
        try await vault.setAnchor(at: anchor.string, passcode: passcode)
        try await vault.setAnchor(at: nil, passcode: passcode)
        let id = vault.vaultID
        try FileManager.default.removeItem(atPath: anchor.string)
        let again = try await home.open(clock: clock.source)
        again.lock()
        _ = try await Vault.wipe(at: home.location, reason: "test")
        #expect(try !KernelKeyring.contains(AnchorKey.name(id)))
    }
}
