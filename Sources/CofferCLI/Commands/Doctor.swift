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

    /// What was found.
    private struct Report {
        var checks: [Protection]
        var sources: [LockSourceStatus] = []
        var classes: [ProtectionClass: [Guarantee]] = [:]
    }

    func run() async throws {
        let report = try await report()
        guard !global.json else { return try Output.json(Self.document(report)) }
        for check in report.checks {
            try Self.line(check.status.rawValue, check.name, check.message)
        }
        for source in report.sources {
            let status = source.isListening ? "ok" : "missing"
            try Self.line(status, "lock source \(source.source.rawValue)", source.message)
        }
        for (protection, guarantees) in report.classes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            try Output.line("class \(protection.name)")
            for guarantee in guarantees {
                let title = "\(guarantee.promise.rawValue): \(guarantee.strength.rawValue)"
                try Output.line(String(repeating: " ", count: 10) + "\(title). \(guarantee.reason)")
            }
        }
    }

    /// What does not keep the host from being looked at: no vault, or a keyring that does not give its key.
    private static let spared: Set<CofferError.Code> = [
        .notInitialised, .wiped, .keyringUnavailable, .noSessionBus, .noSecretService, .noDefaultCollection,
        .keyringLocked, .noPrompter, .promptDismissed, .timedOut, .interrupted,
    ]

    private static func line(_ status: String, _ name: String, _ message: String) throws(CofferError) {
        try Output.line(status + String(repeating: " ", count: 10 - status.count) + name)
        try Output.line(String(repeating: " ", count: 10) + message)
    }

    private static func document(_ report: Report) -> JSONDocument {
        let classes = report.classes.sorted { $0.key.rawValue < $1.key.rawValue }
        return .object([
            ("checks", .list(report.checks.map(\.document))),
            ("lockSources", .list(report.sources.map(\.document))),
            (
                "classes",
                .list(
                    classes.map { protection, guarantees in
                        .object([
                            ("class", .text(protection.name)),
                            ("guarantees", .list(guarantees.map(\.document))),
                        ])
                    })
            ),
        ])
    }

    private func report() async throws(CofferError) -> Report {
        let session: Session
        do throws(CofferError) {
            session = try await Opening.session(global)
        } catch {
            guard Self.spared.contains(error.code) else { throw error }
            Output.message("coffer: \(error.message)")
            return Report(checks: Session.hostProtections())
        }
        let sources = try await session.lockSources()
        return Report(
            checks: try await session.protections(), sources: sources,
            classes: try await session.guarantees(heard: sources))
    }
}

extension LockSourceStatus {
    fileprivate var document: JSONDocument {
        .object([
            ("source", .text(source.rawValue)), ("listening", .flag(isListening)),
            ("message", .text(message)),
        ])
    }
}

extension Guarantee {
    fileprivate var document: JSONDocument {
        .object([
            ("promise", .text(promise.rawValue)), ("strength", .text(strength.rawValue)),
            ("reason", .text(reason)), ("remedy", remedy.map { .text($0) } ?? .none),
        ])
    }
}

extension Protection {
    fileprivate var document: JSONDocument {
        .object([("name", .text(name)), ("status", .text(status.rawValue)), ("message", .text(message))])
    }
}
