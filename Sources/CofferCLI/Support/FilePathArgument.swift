import CofferBase
import CofferEngine
import SystemPackage

/// Paths of files on the command line.
enum FilePathArgument {
    /// Returns the path of a file. Rejects "-": commands that read or write a standard stream say so in their
    /// help, and other commands would unexpectedly use a file of that name.
    static func path(_ text: String) throws(CofferError) -> FilePath {
        guard !text.hasSameBytes(as: "-") else {
            throw CofferError(
                .invalidInput,
                "- does not stand for a standard stream here. For a file of that name, write ./-.")
        }
        guard !text.isEmpty else { throw CofferError(.invalidInput, "A file name is empty.") }
        return ProgramArguments.path(text)
    }
}
