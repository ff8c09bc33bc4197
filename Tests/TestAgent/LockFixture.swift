import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// Follows lock sources and tells of each event, while the test looks at this process's memory.
enum LockFixture {
    static func play(_ location: VaultLocation, systemBus: String, sessionBus: String) async throws {
        let session = try await Vault(at: location)
        Agent.say("ready")
        let input = try Descriptor.standardInput()
        var sources = LockTriggers()
        sources.systemBus = systemBus
        sources.sessionBus = sessionBus
        sources.desktopSession = "c7"
        sources.deadline = .seconds(120)
        let events = session.events
        await session.observeLockTriggers(sources)
        try await session.unlock(with: Passcode(SecretBytes(SecretInput.line(from: input))))
        for await event in events {
            Agent.say("\(event.kind.rawValue) \(event.reason?.rawValue ?? "-")")
            guard event.kind == .locked else { continue }
            _ = try SecretInput.line(from: input)
            return session.close()
        }
    }
}
