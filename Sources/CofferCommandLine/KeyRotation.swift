import ArgumentParser
package import Coffer
package import CofferBase

/// The replacement of a vault's class keys by a command, and its report.
package enum KeyRotation {
    /// Returns the passcode from the option or the terminal; `nil` if none is set.
    package static func passcode(
        _ global: GlobalOptions, of vault: Vault
    ) async throws(CofferError) -> Passcode? {
        guard try await vault.status().hasPasscode else { return nil }
        return try await VaultOpener.currentPasscode(global, of: vault)
    }

    /// Replaces the keys of `classes`, `nil` for all, and the passcode if a new one is given.
    package static func rotate(
        _ vault: Vault, _ classes: [ProtectionClass]?, _ passcode: Passcode?, to newPasscode: Passcode?
    ) async throws(CofferError) -> RotationReport {
        var report = RotationReport()
        try await VaultOpener.waitingForDelay { () async throws(CofferError) in
            report = try await vault.rotateKeys(of: classes, passcode: passcode, newPasscode: newPasscode)
        }
        let hasBackup = try await vault.status().lastBackup != nil
        if hasBackup, report.isComplete, report.classes.contains(where: { !$0.isExportable }) {
            Output.message(
                "coffer: Earlier backups do not restore items in ThisDeviceOnly classes any more, because "
                    + "their keys are replaced. Make a new one with coffer backup create.")
        }
        return report
    }

    /// Prints a report; exits with an error code if items that could not be read keep the old keys alive.
    package static func show(_ report: RotationReport, asJSON: Bool) throws {
        if asJSON {
            let databases = JSONDocument.list(report.databases.map { .text($0) })
            try Output.json(.object(fields(report) + [("databasesAnOldCopyOpens", databases)]))
        } else {
            try Output.line(line(report))
        }
        if !report.databases.isEmpty {
            Output.message(
                "coffer: An older copy of the vault still opens these databases, also their later content: "
                    + report.databases.map(\.printable).joined(separator: ", ")
                    + ". coffer rotate --databases replaces their keys.")
        }
        try requireComplete(report)
    }

    /// The line that says what was rewrapped.
    package static func line(_ report: RotationReport) -> String {
        let pairs = report.keyPairs > 0 ? ", \(Plural.of(report.keyPairs, "key pair"))" : ""
        let counts = "\(Plural.of(report.tokens, "token"))\(pairs) and \(Plural.of(report.files, "file"))"
        return "Keys of \(counts) rewrapped" + (report.isComplete ? ", old keys destroyed" : "")
    }

    /// The members of the JSON document, except those that concern databases.
    package static func fields(_ report: RotationReport) -> [(String, JSONDocument)] {
        [
            ("complete", .flag(report.isComplete)),
            ("classes", .list(report.classes.map { .text($0.name) })),
            ("tokens", .number(report.tokens)), ("pendingTokens", .number(report.pendingTokens)),
            ("files", .number(report.files)), ("keyPairs", .number(report.keyPairs)),
            ("unreadableTokens", .number(report.unreadableTokens)),
            ("unreadableKeyPairs", .number(report.unreadableKeyPairs)),
            ("unreadableFiles", .list(report.unreadableFiles.map { .text($0.description) })),
        ]
    }

    /// Exits with an error code, and a message, if items that could not be read keep the old keys alive.
    package static func requireComplete(_ report: RotationReport) throws {
        guard !report.isComplete else { return }
        let ids = report.unreadableFiles.map(\.description).joined(separator: ", ")
        Output.message(
            "coffer: \(Plural.of(report.unreadableTokens, "token")) and "
                + "\(Plural.of(report.unreadableKeyPairs, "key pair")) could not be read"
                + (ids.isEmpty ? "" : ", nor these files: \(ids)")
                + ". The old keys are kept. Restore or remove these items, then run coffer rotate --resume.")
        throw ExitCode(CofferError.Code.corrupt.exitCode)
    }
}
