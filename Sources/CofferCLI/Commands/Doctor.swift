import ArgumentParser
import Coffer
import CofferBase

/// `coffer doctor`
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Say what protects this host and this vault, and what to do where it does not.",
        discussion: """
            ok: it holds. advisory: it helps, but whoever has the files or the account gets around it. \
            missing: it is not there. Needs no passcode.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let checks = try await checks()
        if global.json { return try Output.json(.object([("checks", .list(checks.map(\.document)))])) }
        for check in checks {
            let status = check.status.rawValue
            try Output.line(status + String(repeating: " ", count: 10 - status.count) + check.name)
            try Output.line(String(repeating: " ", count: 10) + check.message)
        }
    }

    /// What does not keep the host from being looked at: no vault, or a keyring that does not give its key.
    private static let spared: Set<CofferError.Code> = [
        .notInitialised, .wiped, .keyringUnavailable, .noSessionBus, .noSecretService, .noDefaultCollection,
        .keyringLocked, .noPrompter, .promptDismissed, .timedOut, .interrupted,
    ]

    private func checks() async throws(CofferError) -> [Protection] {
        let session: Session
        do throws(CofferError) {
            session = try await Opening.session(global)
        } catch {
            guard Self.spared.contains(error.code) else { throw error }
            Output.message("coffer: \(error.message)")
            return Session.hostProtections()
        }
        return try await session.protections()
    }
}

extension Protection {
    fileprivate var document: JSONDocument {
        .object([("name", .text(name)), ("status", .text(status.rawValue)), ("message", .text(message))])
    }
}
