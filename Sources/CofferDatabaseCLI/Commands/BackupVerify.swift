import ArgumentParser
import CofferBackup
import CofferBase
import CofferCommandLine

/// The `coffer backup verify` command, which checks a backup.
struct BackupVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check that a backup is complete and undamaged.",
        discussion: """
            Reads the whole backup and stores nothing. No vault is needed. An incomplete or damaged backup, \
            and a file that is no backup, end the command with 7.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var backup: BackupArgument

    func run() async throws {
        let contents = try await backup.contents()
        guard !global.json else { return try Output.json(.object(contents.members)) }
        try Output.line(
            "The backup of \(contents.created.iso8601) is complete. \(contents.summary)")
    }
}

/// The `coffer backup list` command, which lists what a backup contains.
struct BackupList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the entries of a backup.",
        discussion: """
            Checks the whole backup like coffer backup verify, and prints the size and the path of every \
            entry in its archive. No vault is needed.
            """, aliases: ["ls"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var backup: BackupArgument

    func run() async throws {
        let contents = try await backup.contents()
        guard !global.json else {
            let entries = contents.entries.map {
                JSONDocument.object([("path", .text($0.path)), ("size", .value(.integer($0.size)))])
            }
            return try Output.json(.object(contents.members + [("entries", .list(entries))]))
        }
        for entry in contents.entries { try Output.line("\(entry.size)\t\(entry.path)") }
    }
}
