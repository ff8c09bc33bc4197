import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer doctor` command, which reports how this host and this vault are protected.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Report how this host and this vault are protected, and how to close gaps.",
        discussion: """
            ok: the protection works. advisory: the protection helps, but an attacker with the files or the \
            account can get around it. missing: the protection is absent or damaged. unknown: the \
            protection could not be checked. absent: a class does not promise the protection. Needs no \
            passcode.

            Exits with 0 whatever it finds, with one exception: if a vault exists and something other than \
            its keyring prevents opening it, the command checks only the host and exits with that error's \
            code, such as 7 for a damaged vault. A script that looks for findings reads the field status of \
            each check from --json.
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(
        help: """
            Print one line for each finding that is not ok, without the classes, and the number of findings. \
            With --json, the document is complete.
            """)
    var summary = false

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
        if global.json { try Output.json(Self.document(report)) } else { try show(report) }
        if let failure = report.failure { throw ExitCode(failure.code.exitCode) }
    }

    private func show(_ report: Report) throws(CofferError) {
        var text = DoctorText()
        if !summary {
            text.add(report.checks)
            if let strength = report.strength { text.add(strength) }
            text.add(report.sources)
            text.add(report.classes)
        }
        let lines = summary ? DoctorText.summary(report.checks, report.sources) : text.lines
        for line in lines { try Output.line(line) }
    }

    /// The codes of errors that do not affect the exit code: either there is no vault, or its keyring does
    /// not return the key.
    private static let ignoredCodes: Set<CofferError.Code> = [
        .notInitialised, .wiped, .keyringUnavailable, .noSessionBus, .noSecretService, .noDefaultCollection,
        .keyringLocked, .noPrompter, .promptDismissed, .timedOut, .interrupted,
    ]

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
            report.checks = try await vault.securityChecks() + DatabaseProgram.checks()
            await inspect(vault, &report)
        } catch {
            Output.message("coffer: \(error.advice)")
            report.checks = Vault.hostSecurityChecks() + DatabaseProgram.checks()
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
        report.checks += await OAuthClocks.checks(global)
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
