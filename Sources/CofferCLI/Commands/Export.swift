import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer export` command, which writes the tokens that may leave this device to an encrypted file.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the tokens that may leave this device to a file, encrypted with a passphrase.",
        discussion: """
            Exports the tokens in the classes whenUnlocked and afterFirstUnlock. All other tokens stay on \
            this device, and the command prints their number. The passphrase must be at least 12 bytes \
            long. It is the only protection against anyone who ever obtains the file, so choose a long \
            random one. The command does not replace an existing file. The vault's files are not included: \
            see coffer file export. Damaged tokens are left out, and the command ends with 7.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var passphrase: ExportPassphrase

    @Argument(help: "The file to create.")
    var file: String

    func run() async throws {
        let path = try FilePathArgument.path(file)
        // Read the passcode first: if both secrets are lines of standard input, it precedes the passphrase.
        let vault = try await VaultOpener.unlocked(global)
        let secret = try passphrase.new()
        let report = try await vault.tokens.export(to: path, passphrase: secret)
        if global.json {
            try Output.json(
                .object([
                    ("exported", .number(report.exported)),
                    ("thisDeviceOnly", .number(report.thisDeviceOnly)),
                    ("damaged", .number(report.corrupt.count)),
                ]))
        } else {
            try Output.line(
                "Exported \(Plural.of(report.exported, "token")); \(report.thisDeviceOnly) others may "
                    + "not leave this device."
            )
        }
        guard let corrupt = report.corrupt.first else { return }
        Output.message(
            "coffer: The file omits \(Plural.of(report.corrupt.count, "stored token")) that could not be "
                + "read. For details, run coffer token list.")
        throw ExitCode(corrupt.code.exitCode)
    }
}

/// The options for an export's passphrase.
struct ExportPassphrase: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the export's passphrase from the first line of this descriptor.", valueName: "n"))
    var passphraseFd: Int32?

    /// Reads the passphrase of an existing export.
    func current() throws(CofferError) -> Passcode {
        try Passcode(
            PasscodeInput.readRequired(
                passphraseFd, prompt: "Export passphrase: ", name: "export's passphrase",
                option: "--passphrase-fd"))
    }

    /// Reads a new passphrase, which the user types twice on a terminal.
    func new() throws(CofferError) -> Passcode {
        guard passphraseFd == nil, try Descriptor.standardInput().isTerminal else { return try current() }
        return try TypedTwice.read(
            "New export passphrase: ", confirmation: "Confirm passphrase: ", noun: "passphrases"
        ) { _ in }
    }
}
