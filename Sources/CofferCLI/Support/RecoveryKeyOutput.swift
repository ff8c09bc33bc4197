import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// The options for a new recovery key's sheet.
struct RecoverySheetOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write the sheet to this new file; default: -, standard output.", valueName: "file|-"),
        completion: .file())
    var sheet = "-"

    @Flag(
        name: .customLong("unchecked"),
        help: "Do not ask for the key on the sheet to be typed back before the key counts.")
    var skipsCheck = false

    /// The sheet's output as the options specify it.
    var output: RecoverySheetOutput { RecoverySheetOutput(name: sheet, skipsCheck: skipsCheck) }
}

/// Where the sheet of a new recovery key goes, and whether the user must read it back.
struct RecoverySheetOutput {
    /// The name of the file; - for standard output.
    var name = "-"
    var skipsCheck = false

    var isFile: Bool { !name.hasSameBytes(as: "-") }

    /// Shows a recovery key that does not count yet, and has the user type it back on a terminal, which
    /// proves that the sheet can be read.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - sheet: The sheet.
    ///   - asJSON: Whether to print a JSON document instead of a sheet on standard output.
    /// - Throws: The error of the output; `notAuthentic` if another key was typed; `invalidInput` after too
    ///   many mistakes.
    func show(_ key: RecoveryKey, on sheet: RecoverySheet, asJSON: Bool) throws(CofferError) {
        if asJSON, !isFile {
            try key.text().exposing { (text) throws(CofferError) in
                try Output.secret(
                    "recoveryKey", text, asJSON: true,
                    with: [("number", .text(sheet.number)), ("vaultID", .text(sheet.vaultID.description))])
            }
        } else {
            let text = try sheet.text(key, date: Date().iso8601)
            if isFile {
                try PrivateOutputFile.create(
                    text, at: FilePathArgument.path(name), outside: sheet.location)
            } else {
                try text.exposing { (bytes) throws(CofferError) in try Output.bytes(bytes) }
            }
        }
        guard !skipsCheck, !asJSON, try Descriptor.standardInput().isTerminal else { return }
        Output.message("coffer: Type the recovery key from the sheet. It does not count before that.")
        guard try RecoveryKey.readFromTerminal().isEqual(to: key) else {
            throw CofferError(
                .notAuthentic,
                "The typed key is not the one on the sheet. Nothing was changed, and the sheet is void.")
        }
    }
}

/// The option for an existing recovery key.
struct RecoveryKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the recovery key from the first line of this descriptor.", valueName: "n"))
    var recoveryFd: Int32?

    /// Reads the recovery key from the descriptor or, group by group, from the terminal.
    func key() throws(CofferError) -> RecoveryKey {
        if let recoveryFd {
            return try RecoveryKey(
                SecretBytes(PasscodeInput.line(of: recoveryFd, droppingReturn: true)))
        }
        guard try Descriptor.standardInput().isTerminal else {
            throw CofferError(
                .invalidInput,
                "The recovery key is required, but there is no terminal on which to ask for it. Specify it "
                    + "with --recovery-fd.")
        }
        return try RecoveryKey.readFromTerminal()
    }
}
