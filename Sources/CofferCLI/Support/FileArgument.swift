import ArgumentParser
import CofferBase
import CofferEngine

/// A stored file on the command line.
struct FileArgument: ParsableArguments {
    /// The explanation of every such argument.
    static let help: ArgumentHelp = "The file: its name, its id or the beginning of its id."

    /// Completes a stored file. The shell runs the program, because only that can open the vault.
    static let completion = CompletionKind.shellCommand("coffer file names 2>/dev/null")

    @Argument(help: FileArgument.help, completion: FileArgument.completion)
    var file: String

    @Option(help: "The --context that was specified when the file was added.")
    var context: String?

    /// The file as it was specified. Check it before the vault is opened.
    func reference() throws(CofferError) -> FileReference { try FileReference(file) }

    /// The context that is bound into the file, byte for byte.
    var boundBytes: [UInt8] { Self.bytes(ofContext: context) }

    static func bytes(ofContext text: String?) -> [UInt8] { text.map { ProgramArguments.bytes($0) } ?? [] }
}
