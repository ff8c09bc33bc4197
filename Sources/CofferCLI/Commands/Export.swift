import ArgumentParser
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// `coffer export`
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the tokens that may leave this device to a file, sealed under a passphrase.",
        discussion: """
            Those are the tokens of the classes whenUnlocked and afterFirstUnlock; every other one stays, \
            and is counted. The passphrase has at least 12 bytes and guards the file against whoever gets \
            it, for ever: take a long one, of chance. An existing file is not replaced. Files of the vault \
            are not in it: see coffer file export. Damaged tokens are left out, and the command ends with 7.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var passphrase: ExportPassphrase

    @Argument(help: "The new file.")
    var file: String

    func run() async throws {
        let path = try FilePathArgument.path(file)
        // The passcode comes first where both are lines of standard input.
        let session = try await VaultOpener.unlocked(global)
        let secret = try passphrase.new()
        let report = try await session.tokens.export(to: path, passphrase: secret)
        if global.json {
            try Output.json(
                .object([
                    ("exported", .number(report.exported)),
                    ("thisDeviceOnly", .number(report.thisDeviceOnly)),
                    ("damaged", .number(report.damaged.count)),
                ]))
        } else {
            try Output.line(
                "Exported \(Plural.of(report.exported, "token")); \(report.thisDeviceOnly) may not leave "
                    + "this device."
            )
        }
        guard let damaged = report.damaged.first else { return }
        Output.message(
            "coffer: \(Plural.of(report.damaged.count, "stored token")) cannot be read and missing from the "
                + "file: "
                + "see coffer token list.")
        throw ExitCode(damaged.code.exitCode)
    }
}

/// Where the passphrase of an export comes from.
struct ExportPassphrase: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the export's passphrase from the first line of this descriptor.", valueName: "n"))
    var passphraseFd: Int32?

    /// The one of an export that is there.
    func current() throws(CofferError) -> Passcode {
        try Passcode(
            PasscodeInput.readRequired(
                passphraseFd, prompt: "Passphrase of the export: ", option: "--passphrase-fd"))
    }

    /// A new one, typed twice where it is typed.
    func new() throws(CofferError) -> Passcode {
        let first = try current()
        guard passphraseFd == nil else { return first }
        let second = try Passcode(PasscodeInput.readRequired(nil, prompt: "Confirm passphrase: "))
        guard first.isEqual(to: second) else {
            throw CofferError(.invalidInput, "The two passphrases are not the same.")
        }
        return first
    }
}
