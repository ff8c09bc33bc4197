import Coffer
import CofferBase
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Opening a vault or creating it")
struct OpenOrCreateTests {
    private func openOrCreate(
        _ home: TestHome, _ passcode: String? = "correct horse", replacingWiped: Bool = false
    ) async throws -> Vault {
        try await Vault.openOrCreate(
            at: home.location, options: TestHome.options(), replacingWiped: replacingWiped,
            passcode: passcode.map { try Passcode(copying: $0) })
    }

    @Test("The first call creates the vault, and every later one opens it unlocked")
    func createsOnce() async throws {
        let home = try TestHome()
        let id = try TokenID(service: "s", account: "a")
        let first = try await openOrCreate(home)
        #expect(first.isUnlocked)
        try await first.tokens.put(Token(copying: "value"), for: id)
        first.close()
        let next = try await openOrCreate(home)
        #expect(next.isUnlocked && next.vaultID == first.vaultID)
        #expect(try await next.tokens.get(id)?.token.count == 5)
    }

    @Test("A passcode is asked for once, and the question says whether the vault is new")
    func asks() async throws {
        let home = try TestHome()
        var asked: [Bool] = []
        for isFirst in [true, false] {
            let options = TestHome.options()
            let vault = try await Vault.openOrCreate(at: home.location, options: options) { isNew in
                asked.append(isNew)
                return try Passcode(copying: "correct horse")
            }
            #expect(vault.isUnlocked && asked == (isFirst ? [true] : [true, false]))
        }
        #expect(await refusal { _ = try await openOrCreate(home, "wrong") }?.attemptsLeft == 9)
    }

    @Test("A question that fails creates nothing, and a vault without a passcode asks none")
    func asksInVain() async throws {
        let home = try TestHome()
        await #expect(throws: CancellationError.self) {
            _ = try await Vault.openOrCreate(at: home.location) { _ in throw CancellationError() }
        }
        #expect(try await Vault.status(at: home.location).vaultID == nil)
        let made = try await openOrCreate(home, nil)
        let next = try await Vault.openOrCreate(at: home.location) { _ in throw CancellationError() }
        #expect(next.vaultID == made.vaultID && next.isUnlocked)
    }

    /// Runs the agent that asks on its terminal, and returns what appeared there and the exit code.
    private func onTerminal(_ answers: [String], _ home: TestHome) throws -> (shown: String, code: Int?) {
        let script = PackageRoot.path + "Tests/Faults/terminal.py"
        let agent = [Agent.path, "open-on-terminal", home.location.path.string]
        let run = try CommandRun.run("python3", [script] + answers + ["--"] + agent)
        #expect(run.json["quiet"] as? Bool == true && run.json["echoAtEnd"] as? Bool == true)
        return (run.json["shown"] as? String ?? "", run.json["code"] as? Int)
    }

    @Test("On a terminal, a new passcode is asked for twice, again after a mistake, and later ones once")
    func typed() throws {
        let home = try TestHome()
        let first = try onTerminal(["2468", "2469", "abc", "2468", "2468"], home)
        #expect(first.code == 0 && first.shown.contains("vault "), "\(first.shown)")
        #expect(first.shown.contains("The two passcodes do not match. Try again."))
        #expect(first.shown.contains("requires a passcode of 4 to 8 digits. Try again."))
        let next = try onTerminal(["2468"], home)
        #expect(next.code == 0 && next.shown.contains("vault "), "\(next.shown)")
        let other = try TestHome()
        let mistaken = try onTerminal(["1357", "1358", "1357", "1358", "1357", "1358"], other)
        #expect(mistaken.code != 0 && !mistaken.shown.contains("vault "), "\(mistaken.shown)")
    }

    @Test("An empty directory gets a vault")
    func emptyDirectory() async throws {
        let home = try TestHome()
        try FileManager.default.createDirectory(
            atPath: home.location.path.string, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        #expect(try await openOrCreate(home).isUnlocked)
    }

    @Test("A wrong passcode is counted, and a missing one is refused; neither creates anything")
    func wrongPasscode() async throws {
        let home = try TestHome()
        let made = try await openOrCreate(home)
        #expect(await refusal { _ = try await openOrCreate(home, "wrong") }?.attemptsLeft == 9)
        #expect(await refusal { _ = try await openOrCreate(home, nil) }?.code == .locked)
        #expect(try await openOrCreate(home).vaultID == made.vaultID)
    }

    @Test("A vault without a passcode ignores one that is given")
    func needlessPasscode() async throws {
        let home = try TestHome()
        let made = try await openOrCreate(home, nil)
        #expect(try await openOrCreate(home, "needless").vaultID == made.vaultID)
        #expect(try await Vault.status(at: home.location).hasPasscode == false)
    }

    @Test(
        "A damaged vault is not replaced, even if a wiped one may be",
        arguments: ["device", "keybag", "attempts"])
    func damaged(file: String) async throws {
        let home = try TestHome()
        _ = try await openOrCreate(home)
        let (path, aside) = (home.path(file).string, home.scratch.path(of: "aside"))
        try FileManager.default.moveItem(atPath: path, toPath: aside)
        let before = try home.everything()
        let missing = await refusal { _ = try await openOrCreate(home, replacingWiped: true) }
        #expect(missing?.code == .corrupt)
        #expect(try home.everything() == before)
        try FileManager.default.moveItem(atPath: aside, toPath: path)
        #expect(try await openOrCreate(home, replacingWiped: true).isUnlocked)
    }

    @Test("A wiped vault stays wiped unless the caller says otherwise")
    func wiped() async throws {
        let home = try TestHome()
        let old = try await openOrCreate(home)
        _ = try await old.wipe()
        #expect(await refusal { _ = try await openOrCreate(home) }?.code == .wiped)
        #expect(try await Vault.status(at: home.location).state == .wiped)
        let new = try await openOrCreate(home, replacingWiped: true)
        #expect(new.isUnlocked && new.vaultID != old.vaultID)
        #expect(try await openOrCreate(home, replacingWiped: true).vaultID == new.vaultID)
    }

    @Test("The tenth wrong passcode erases the vault, and the same call does not create another")
    func tenthAttempt() async throws {
        let home = try TestHome()
        _ = try await openOrCreate(home)
        for left in (1...9).reversed() {
            let error = await refusal {
                _ = try await openOrCreate(home, "wrong \(left)", replacingWiped: true)
            }
            #expect(error?.attemptsLeft == left)
        }
        let last = await refusal { _ = try await openOrCreate(home, "wrong", replacingWiped: true) }
        #expect(last?.code == .wiped)
        #expect(try await Vault.status(at: home.location).state == .wiped)
    }

    @Test("A passcode that the policy forbids creates nothing")
    func policy() async throws {
        let home = try TestHome()
        let options = TestHome.options { $0.policy = .alphanumeric }
        let error = await refusal {
            _ = try await Vault.openOrCreate(
                at: home.location, options: options, passcode: Passcode(copying: "1"))
        }
        #expect(error?.code == .refused)
        #expect(!FileManager.default.fileExists(atPath: home.location.path.string))
    }

    @Test("Eight tasks at once end with one vault", .timeLimit(.minutes(10)))
    func tasks() async throws {
        let home = try TestHome()
        let ids = try await withThrowingTaskGroup(of: VaultID.self) { group in
            for _ in 0..<8 { group.addTask { try await openOrCreate(home).vaultID } }
            return try await group.reduce(into: Set<VaultID>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(try await openOrCreate(home).vaultID == ids.first)
    }

    @Test("Two processes at once end with one vault, which both open", .timeLimit(.minutes(10)))
    func processes() async throws {
        for _ in 0..<4 {
            let home = try TestHome()
            let path = home.location.path.string
            let agents = try (0..<2).map { _ in try #require(Agent.start(["open-or-create", path])) }
            for agent in agents { agent.send("go") }
            let ids = agents.map { $0.line() }
            for agent in agents { #expect(agent.line() == "done") }
            let vault = try await openOrCreate(home)
            #expect(ids == [vault.vaultID.description, vault.vaultID.description])
            #expect(try await vault.tokens.count() == 2)
        }
    }
}
