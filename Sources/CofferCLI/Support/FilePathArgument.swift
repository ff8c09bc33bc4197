import CofferBase
import CofferEngine
import SystemPackage

/// Files that are named on the command line.
enum FilePathArgument {
    /// The path of a file. "-" is none: commands that read or write a standard stream say so in their help,
    /// and for the others a file of that name would be a surprise.
    static func path(_ text: String) throws(CofferError) -> FilePath {
        guard !text.hasSameBytes(as: "-") else {
            throw CofferError(
                .invalidInput,
                "- stands for no standard stream here: name a file; one that is called so is ./-.")
        }
        guard !text.isEmpty else { throw CofferError(.invalidInput, "The name of a file is empty.") }
        return ProgramArguments.path(text)
    }
}
