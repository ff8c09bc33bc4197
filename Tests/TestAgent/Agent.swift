import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage

/// The modes of this program.
enum Agent {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count >= 2 else {
            throw CofferError(.invalidInput, "MODE HOME …")
        }
        let location = VaultLocation(path: FilePath(arguments[1]))
        switch arguments[0] {
        case "put": try await put(location, prefix: arguments[2], count: Int(arguments[3]) ?? 0)
        case "open-or-create": try await openOrCreate(location)
        case "open-on-terminal": try await openOnTerminal(location)
        case "refresh": try await refresh(location)
        case "view-and-wait": try await viewAndWait(location, FileID(arguments[2]))
        case "volatile-file": try await volatileFile(location)
        case "guess-read-only": try await guessReadOnly(location)
        case "clock":
            say("ready")
            say(String(Clock.sinceBoot.components.seconds))
        case "follow":
            try await LockFixture.play(location, systemBus: arguments[2], sessionBus: arguments[3])
        case "memory": try await MemoryFixture.play(location)
        case "flow": try await SecretFlows.play(location, arguments[2], arguments[3])
        case "crash": try CrashFixture.play(hardened: arguments[2] == "hardened")
        default: throw CofferError(.invalidInput, "no such mode")
        }
    }

    static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        try? Descriptor.standardOutput().append(bytes.span)
    }

    /// Stores many tokens, one after another, as fast as it can.
    private static func put(_ location: VaultLocation, prefix: String, count: Int) async throws {
        let session = try await Vault(at: location)
        try await session.unlock()
        say("ready")
        _ = readLine()
        for number in 0..<count {
            let id = try TokenID(service: "\(prefix)-\(number)", account: "agent")
            try await session.tokens.put(Token(copying: "value of \(prefix) \(number)"), for: id)
        }
        say("done")
    }

    /// Opens or creates the vault when it is told to, says its id, and stores a token of its own.
    private static func openOrCreate(_ location: VaultLocation) async throws {
        var options = VaultOptions()
        options.cost = .floor
        say("ready")
        _ = readLine()
        let session = try await Vault.openOrCreate(
            at: location, options: options, passcode: Passcode(copying: "correct horse"))
        say(session.vaultID.description)
        let id = try TokenID(service: "\(ProcessInfo.processInfo.processIdentifier)", account: "agent")
        try await session.tokens.put(Token(copying: "value"), for: id)
        say("done")
    }

    /// Opens or creates the vault with a passcode that is typed on the terminal, and says its id.
    private static func openOnTerminal(_ location: VaultLocation) async throws {
        var options = VaultOptions()
        options.cost = .floor
        options.policy = .digits
        let vault = try await Vault.openOrCreate(at: location, options: options) { isNew in
            try isNew ? .readNewFromTerminal(policy: .digits) : .readFromTerminal()
        }
        say("vault \(vault.vaultID)")
    }

    /// Refreshes the token of `s` and `a`: says so, and goes on when it is told to.
    private static func refresh(_ location: VaultLocation) async throws {
        let session = try await Vault(at: location)
        try await session.unlock()
        say("ready")
        let id = try TokenID(service: "s", account: "a")
        let fresh = try await session.tokens.refresh(id, deadline: .seconds(500)) {
            (_, _) throws(CofferError) in
            say("refreshing")
            _ = readLine()
            return RefreshResponse(try Token(copying: "from the agent"))
        }
        say(fresh?.didRefresh == true ? "refreshed" : "waited")
    }

    /// Adds a session-only file, says its id, and keeps it until it is killed or told to end.
    private static func volatileFile(_ location: VaultLocation) async throws {
        let session = try await Vault(at: location)
        try await session.unlock()
        say("ready")
        let id = try await session.files.add(Array("of the agent".utf8), name: "agent", isVolatile: true)
        let content = try await session.files.withDecryptedBytes(of: id) { $0.copied() }
        say("\(id) \(content.count)")
        _ = readLine()
        extendLifetime(session)
    }

    /// Holds a view copy until it is killed or told to end.
    private static func viewAndWait(_ location: VaultLocation, _ id: FileID) async throws {
        let session = try await Vault(at: location)
        try await session.unlock()
        say("ready")
        try await session.files.withViewCopy(of: id) { path in
            say(path.string)
            _ = readLine()
        }
        say("ended")
        _ = readLine()
    }

    /// A counter that cannot be written: the right passcode must not be tried, either.
    private static func guessReadOnly(_ location: VaultLocation) async throws {
        var options = VaultOptions()
        options.cost = .floor
        _ = try await Vault.create(
            at: location, options: options, passcode: Passcode(copying: "correct horse"))
        let attempts = location.path.appending("vault/attempts").string
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: attempts)
        say("ready")
        let session = try await Vault(at: location)
        for passcode in ["wrong", "correct horse"] {
            do {
                try await session.unlock(with: Passcode(copying: passcode))
                say("unlocked")
            } catch {
                say(error.code.name)
            }
        }
        say(session.isUnlocked ? "open" : "closed")
    }
}
