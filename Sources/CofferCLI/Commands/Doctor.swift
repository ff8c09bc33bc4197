import ArgumentParser
import Coffer
import CofferBase
import CofferDatabase

/// The `coffer doctor` command, which reports how this host and this vault are protected.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Report how this host and this vault are protected, and how to close gaps.",
        discussion: """
            ok: the protection works. advisory: it helps, but an attacker with the files or the account can \
            get around it. missing: it is absent or damaged. unknown: it could not be checked. Needs no \
            passcode.

            Exits with 0 whatever it finds, with one exception: if a vault exists and something other than \
            its keyring prevents opening it, the command checks only the host and exits with that error's \
            code.
            """)

    @OptionGroup var global: GlobalOptions

    /// The findings to print.
    private struct Report {
        var checks: [SecurityCheck]
        var sources: [LockTriggerStatus] = []
        var classes: [ProtectionClass: [ClassAssurance]] = [:]
        var strength: PasscodeStrength?
        /// The error that prevented opening the vault, unless `ignoredCodes` contains the error's code. If
        /// the vault could not be opened, only the host was checked.
        var failure: CofferError?
    }

    func run() async throws {
        let report = await report()
        if global.json { try Output.json(Self.document(report)) } else { try Self.show(report) }
        if let failure = report.failure { throw ExitCode(failure.code.exitCode) }
    }

    private static func show(_ report: Report) throws(CofferError) {
        for check in report.checks {
            try line(check.status.rawValue, check.name, advice(check.message, check.remedy))
        }
        if let strength = report.strength { try printStrength(strength) }
        for source in report.sources {
            let status = source.isListening ? "ok" : "missing"
            try line(status, "lock source \(source.source.rawValue)", source.message)
        }
        for (protection, assurances) in report.classes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            try Output.line("class \(protection.name)")
            for assurance in assurances {
                let title = "\(assurance.promise.rawValue): \(assurance.strength.rawValue)"
                let text = advice(assurance.reason, assurance.remedy)
                try Output.line(String(repeating: " ", count: 10) + "\(title). \(text)")
            }
        }
    }

    /// Returns a finding, followed by the sentences for its remedy.
    private static func advice(_ finding: String, _ remedy: CofferError.Remedy?) -> String {
        finding + (remedy.map { " " + $0.sentence } ?? "")
    }

    /// The codes of errors that do not affect the exit code: either there is no vault, or its keyring does
    /// not return the key.
    private static let ignoredCodes: Set<CofferError.Code> = [
        .notInitialised, .wiped, .keyringUnavailable, .noSessionBus, .noSecretService, .noDefaultCollection,
        .keyringLocked, .noPrompter, .promptDismissed, .timedOut, .interrupted,
    ]

    private static func line(_ status: String, _ name: String, _ message: String) throws(CofferError) {
        try Output.line(status + String(repeating: " ", count: 10 - status.count) + name)
        try Output.line(String(repeating: " ", count: 10) + message)
    }

    private static func printStrength(_ strength: PasscodeStrength) throws(CofferError) {
        let milliseconds = Int((strength.secondsPerGuess * 1000).rounded(.up))
        try line(
            "advisory", "guessing",
            "An attacker with a copy of all files needs \(milliseconds) ms for each guess on one core of "
                + "this machine, as just measured, and can make any number of guesses. The policy requires "
                + "\(strength.requirement). Time to try all passcodes:")
        for estimate in strength.estimates {
            try Output.line(
                String(repeating: " ", count: 10) + "\(estimate.passcodes): \(estimate.time)")
        }
        try Output.line(
            String(repeating: " ", count: 10)
                + "Divide by the number of cores. A word, a name or a date is guessed immediately.")
    }

    private static func document(_ report: Report) -> JSONDocument {
        let classes = report.classes.sorted { $0.key.rawValue < $1.key.rawValue }
        let failure = report.failure.map { [("error", Failure.document($0))] } ?? []
        return .object(
            [
                ("checks", .list(report.checks.map(\.document))),
                ("guessing", report.strength?.document ?? .none),
                ("lockSources", .list(report.sources.map(\.document))),
                (
                    "classes",
                    .list(
                        classes.map { protection, assurances in
                            .object([
                                ("class", .text(protection.name)),
                                ("guarantees", .list(assurances.map(\.document))),
                            ])
                        })
                ),
            ] + failure)
    }

    private func report() async -> Report {
        var report = Report(checks: [])
        do throws(CofferError) {
            let vault = try await VaultOpener.vault(global)
            report.checks = try await vault.securityChecks() + LinkedSQLite.protections()
            await inspect(vault, &report)
        } catch {
            Output.message("coffer: \(error.advice)")
            report.checks = Vault.hostSecurityChecks() + LinkedSQLite.protections()
            report.failure = Self.ignoredCodes.contains(error.code) ? nil : error
        }
        return report
    }

    /// Collects the remaining parts of the report. If a part cannot be collected, reports it as a check that
    /// could not be made.
    private func inspect(_ vault: Vault, _ report: inout Report) async {
        do throws(CofferError) {
            report.sources = try await vault.lockTriggers()
        } catch {
            report.checks.append(.notChecked("lock-sources", error))
        }
        do throws(CofferError) {
            report.classes = try await vault.assurances(triggers: report.sources)
        } catch {
            report.checks.append(.notChecked("classes", error))
        }
        do throws(CofferError) {
            report.strength = try await vault.passcodeStrength()
        } catch {
            report.checks.append(.notChecked("guessing", error))
        }
    }
}

extension PasscodeStrength {
    fileprivate var document: JSONDocument {
        .object([
            ("secondsPerGuess", .decimal(secondsPerGuess)), ("requirement", .text(requirement)),
            (
                "estimates",
                .list(
                    estimates.map { estimate in
                        .object([
                            ("passcodes", .text(estimate.passcodes)), ("count", .decimal(estimate.count)),
                            ("seconds", .decimal(estimate.seconds)),
                        ])
                    })
            ),
        ])
    }
}

extension PasscodeStrength.Estimate {
    /// The estimated time, expressed in the largest unit in which it is at least 1.
    fileprivate var time: String {
        let units = [("year", 31_557_600.0), ("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0)]
        for (name, length) in units where seconds >= length {
            let count = (seconds / length).rounded()
            guard count < 1e6 else { return "millions of years" }
            return "\(Int(count)) \(name)\(count == 1 ? "" : "s")"
        }
        let count = max(1, Int(seconds.rounded()))
        return "\(count) second\(count == 1 ? "" : "s")"
    }
}

extension LockTriggerStatus {
    fileprivate var document: JSONDocument {
        .object([
            ("source", .text(source.rawValue)), ("listening", .flag(isListening)),
            ("message", .text(message)),
        ])
    }
}

extension ClassAssurance {
    fileprivate var document: JSONDocument {
        .object(
            [
                ("promise", .text(promise.rawValue)), ("strength", .text(strength.rawValue)),
                ("reason", .text(reason)),
            ] + JSONDocument.members(of: remedy))
    }
}

extension SecurityCheck {
    fileprivate var document: JSONDocument {
        .object(
            [("name", .text(name)), ("status", .text(status.rawValue)), ("message", .text(message))]
                + JSONDocument.members(of: remedy))
    }
}
