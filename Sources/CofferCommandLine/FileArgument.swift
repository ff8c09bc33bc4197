package import ArgumentParser
package import CofferBase
import CofferEngine

/// An argument that specifies a stored file.
package struct FileArgument: ParsableArguments {
    /// The help text for every argument that specifies a stored file.
    package static let help: ArgumentHelp = "The file's name, its id or the beginning of its id."

    /// The completion for the name or id of a stored file. The shell runs this program to complete the word,
    /// because no other program can open the vault.
    package static let completion = CompletionKind.shellCommand("coffer file names 2>/dev/null")

    @Argument(help: FileArgument.help, completion: FileArgument.completion)
    package var file: String

    @Option(help: "The --context that was specified when the file was added.")
    package var context: String?

    /// Creates the argument without a file.
    package init() {}

    /// Returns the stored file as the user specified it. Call this method before the vault is opened, so that
    /// the user does not enter a passcode only to learn that the argument is malformed.
    package func reference() throws(CofferError) -> FileReference { try FileReference(file) }

    /// The bytes of the context that is bound to the file.
    package var boundBytes: [UInt8] { Self.bytes(ofContext: context) }

    /// Returns the bytes of a context as the user typed it; none without a context.
    package static func bytes(ofContext text: String?) -> [UInt8] {
        text.map { ProgramArguments.bytes($0) } ?? []
    }
}
