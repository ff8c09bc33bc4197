import ArgumentParser
import CofferBase
import CofferEngine

/// A stored file on the command line.
struct FileArgument: ParsableArguments {
    /// The help text for every such argument.
    static let help: ArgumentHelp = "The file: its name, its id or the beginning of its id."

    /// Completes the name or id of a stored file. The shell runs this program, because only this program can
    /// open the vault.
    static let completion = CompletionKind.shellCommand("coffer file names 2>/dev/null")

    @Argument(help: FileArgument.help, completion: FileArgument.completion)
    var file: String

    @Option(help: "The --context that was specified when the file was added.")
    var context: String?

    /// Returns the file as the user specified it. Call this before the vault is opened, so that a malformed
    /// argument costs no passcode.
    func reference() throws(CofferError) -> FileReference { try FileReference(file) }

    /// The context that is bound to the file, byte for byte.
    var boundBytes: [UInt8] { Self.bytes(ofContext: context) }

    static func bytes(ofContext text: String?) -> [UInt8] { text.map { ProgramArguments.bytes($0) } ?? [] }
}
