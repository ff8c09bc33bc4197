import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer status` command, which prints the vault's state.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Print the vault's state. Needs no passcode.",
        discussion: """
            waitingTokens were stored while the vault was locked and wait for an unlock. unconfirmedTokens \
            would replace other tokens: see coffer token accept. damagedTokens were stored while locked and \
            are damaged: see coffer token purge-corrupt. fileIndexDamaged: run coffer file reindex to \
            rebuild the index. fileKeysDamaged: without that record no file can be opened; restore it from \
            a backup. coffer doctor reports more. secondsLeft: the time until the keys that coffer unlock \
            cached expire, if no command uses the keys in the meantime. eraseAfter: the number of wrong \
            passcodes in a row that erases the vault, of which attemptsLeft are left; with --json, both are \
            null if wrong ones never erase. requireDiskEncryption: files can be added only while the disk \
            that holds the vault is known to be encrypted. keyRotationUnfinished: run coffer rotate \
            --resume. managed: the keys of the administrator's policy, of which coffer policy \
            show prints the values. policyChanged: the policy is another one than at the last unlock. \
            policyInvalid: nothing can be unlocked until the policy is corrected. recoveryKey: the number \
            of the recovery key, as on its sheet; null if there is none. lastBackup: the time of the last \
            coffer backup create; null if there was none. keyPairs: null if their file cannot be read. \
            certificates: those that key pairs have or await, and the days left. upgradeAvailable: an \
            earlier release wrote these parts of the vault; see coffer upgrade.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let location = try VaultOpener.location(global)
        let status = try await Vault.status(at: location)
        let directory = Environment.workingDirectory?.pushing(location.path) ?? location.path
        var fields: [(String, JSONDocument)] = [
            ("state", .text(status.state.rawValue)), ("directory", .text(directory.string)),
            ("keyring", status.keyring.map { .text($0.rawValue) } ?? .none),
            ("vaultID", status.vaultID.map { .text($0.description) } ?? .none),
            ("passcode", .flag(status.hasPasscode)),
            ("attemptsLeft", status.attemptsLeft.map { .number($0) } ?? .none),
            ("eraseAfter", InitCommand.EraseAfter.document(erases: status.erasesAfterTenFailures)),
            ("requireDiskEncryption", .flag(status.requiresDiskEncryption)),
            ("recoveryKey", status.recoveryKey.map { .text($0.number) } ?? .none),
            ("lastBackup", status.lastBackup.map { .text($0.iso8601) } ?? .none),
            ("inactivityMinutes", status.inactivityMinutes.map { .number($0) } ?? .none),
            ("secondsLeft", status.timeLeft.map { .number($0.wholeSeconds) } ?? .none),
            ("tokens", .number(status.tokens)),
            ("files", .number(status.files)), ("databases", status.databases.map { .number($0) } ?? .none),
            ("keyPairs", status.keyPairs.map { .number($0) } ?? .none),
        ]
        if status.unfinishedFiles > 0 {
            fields.append(("unfinishedFiles", .number(status.unfinishedFiles)))
            fields.append(("unfinishedBytes", .number(Int(status.unfinishedBytes))))
        }
        for (name, ids) in [("missingFiles", status.missingFiles), ("unlistedFiles", status.unlistedFiles)]
        where !ids.isEmpty {
            fields.append((name, .list(ids.map { .text($0.description) })))
        }
        if status.isFileKeysRecordDamaged { fields.append(("fileKeysDamaged", .flag(true))) }
        if status.isRotatingKeys { fields.append(("keyRotationUnfinished", .flag(true))) }
        if !status.availableUpgrades.isEmpty {
            fields.append(("upgradeAvailable", .list(status.availableUpgrades.map { .text($0.rawValue) })))
        }
        if status.isFileIndexDamaged { fields.append(("fileIndexDamaged", .flag(true))) }
        if status.pendingTokens > 0 { fields.append(("waitingTokens", .number(status.pendingTokens))) }
        if status.unconfirmedTokens > 0 {
            fields.append(("unconfirmedTokens", .number(status.unconfirmedTokens)))
        }
        if status.corruptTokens > 0 { fields.append(("damagedTokens", .number(status.corruptTokens))) }
        if !status.certificates.isEmpty {
            fields.append(("certificates", .list(status.certificates.map(\.shortDocument))))
        }
        CertificateStatus.report(status.certificates)
        fields += status.policyFields
        CorruptPendingTokens.report(status.corruptTokens)
        guard !global.json else { return try Output.json(.object(fields)) }
        for (name, value) in fields {
            switch value {
            case .value(.string(let text)): try Output.line("\(name): \(text.printable)")
            case .value(.null): continue
            default: try Output.line("\(name): \(value.encoded())")
            }
        }
        if status.vaultID != nil, status.lastBackup == nil { try Output.line("lastBackup: none") }
        if status.vaultID != nil, status.recoveryKey == nil { try Output.line("recoveryKey: none") }
        if status.hasPasscode, !status.erasesAfterTenFailures {
            try Output.line("eraseAfter: \(InitCommand.EraseAfter.never.rawValue)")
        }
    }
}

extension VaultStatus {
    /// The fields about the administrator's policy; none without a policy.
    fileprivate var policyFields: [(String, JSONDocument)] {
        var fields: [(String, JSONDocument)] = []
        if !policy.isEmpty {
            fields.append(("managed", .list(policy.keys.map { .text($0.rawValue) })))
        }
        if isPolicyChanged { fields.append(("policyChanged", .flag(true))) }
        if let policyFault { fields.append(("policyInvalid", .text(policyFault))) }
        return fields
    }
}

extension Duration {
    /// The duration in seconds, rounded up to a whole number.
    fileprivate var wholeSeconds: Int { Int(components.seconds) + (components.attoseconds > 0 ? 1 : 0) }
}
