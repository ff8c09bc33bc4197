import ArgumentParser
import Coffer
import CofferBase

/// `coffer status`
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Print the state of the vault. Needs no passcode.",
        discussion: """
            waitingTokens were stored while the vault was locked and wait for an unlock. unconfirmedTokens \
            would replace others: see coffer token accept. damagedTokens were stored while locked and are \
            damaged: see coffer token purge-corrupt. fileIndexDamaged: run coffer file reindex to rebuild \
            the index. fileKeysDamaged: without that record no file can be opened; restore it from a backup. \
            coffer doctor reports more.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let status = try await Vault.status(at: VaultOpener.location(global))
        var fields: [(String, JSONDocument)] = [
            ("state", .text(status.state.rawValue)),
            ("keyring", status.keyring.map { .text($0.rawValue) } ?? .none),
            ("vaultID", status.vaultID.map { .text($0.description) } ?? .none),
            ("passcode", .flag(status.hasPasscode)),
            ("attemptsLeft", status.attemptsLeft.map { .number($0) } ?? .none),
            ("inactivityMinutes", status.inactivityMinutes.map { .number($0) } ?? .none),
            ("tokens", .number(status.tokens)),
            ("files", .number(status.files)),
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
        if status.isFileIndexDamaged { fields.append(("fileIndexDamaged", .flag(true))) }
        if status.pendingTokens > 0 { fields.append(("waitingTokens", .number(status.pendingTokens))) }
        if status.unconfirmedTokens > 0 {
            fields.append(("unconfirmedTokens", .number(status.unconfirmedTokens)))
        }
        if status.corruptTokens > 0 { fields.append(("damagedTokens", .number(status.corruptTokens))) }
        CorruptPendingTokens.report(status.corruptTokens)
        guard !global.json else { return try Output.json(.object(fields)) }
        for (name, value) in fields {
            switch value {
            case .value(.string(let text)): try Output.line("\(name): \(text)")
            case .value(.null): continue
            default: try Output.line("\(name): \(value.encoded())")
            }
        }
    }
}
