import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// Uses secrets in every way there is, and waits where the test looks at this process's memory.
///
/// Secrets come over standard input straight into guarded memory: line 1 the passcode, line 2 the token.
enum MemoryFixture {
    static func play(_ location: VaultLocation) async throws {
        let session = try await Vault(at: location)
        Agent.say("ready")
        let input = try Descriptor.standardInput()
        var held: Held? = try Held(
            passcode: Passcode(SecretBytes(SecretInput.line(from: input))),
            token: Token(SecretBytes(SecretInput.line(from: input))))
        try await use(held, session)
        Agent.say("holding")
        try wait(input)
        held = nil
        session.lock()
        Agent.say("locked")
        try wait(input)
        session.close()
        Agent.say("closed")
        try wait(input)
        _ = try await session.wipe()
        Agent.say("wiped")
        try wait(input)
        extendLifetime(session)
    }

    private final class Held: Sendable {
        let passcode: Passcode
        let token: Token

        init(passcode: consuming Passcode, token: consuming Token) {
            self.passcode = passcode
            self.token = token
        }
    }

    private static func use(_ held: Held?, _ session: Vault) async throws {
        guard let held else { return }
        try await session.unlock(with: held.passcode)
        for protection in ProtectionClass.allCases {
            let id = try TokenID(service: "api.example.org", account: protection.name)
            try await session.tokens.put(held.token, for: id, class: protection)
            let count = try await session.tokens.withToken(for: id) { token, _ in token.count }
            guard count == held.token.count else { throw CofferError(.internalFailure, "another token") }
        }
        try await session.changePasscode(to: held.passcode, current: held.passcode)
        for info in try await session.files.list() {
            let count = try await session.files.withDecryptedBytes(of: info.id) { $0.count }
            guard count == info.length else { throw CofferError(.internalFailure, "another file") }
            try await session.files.verify(info.id)
        }
    }

    private static func wait(_ input: borrowing Descriptor) throws {
        _ = try SecretInput.line(from: input)
    }
}
