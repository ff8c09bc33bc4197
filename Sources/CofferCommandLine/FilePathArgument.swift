package import CofferBase
package import CofferEngine
package import SystemPackage

/// A function that parses file paths on the command line.
package enum FilePathArgument {
    /// Returns the path of a file. Rejects `-`, because commands that can use a standard stream document this
    /// in their help, and other commands would unexpectedly use a file with that name.
    package static func path(_ text: String) throws(CofferError) -> FilePath {
        guard !text.hasSameBytes(as: "-") else {
            throw CofferError(
                .invalidInput,
                "This argument does not accept - for a standard stream. To specify a file named -, write "
                    + "./-.")
        }
        guard !text.isEmpty else { throw CofferError(.invalidInput, "A file name must not be empty.") }
        return ProgramArguments.path(text)
    }

    /// Returns the status of the entry at a path, following links.
    package static func status(of path: FilePath) throws(CofferError) -> FileStatus {
        do throws(CofferError) {
            return try FileStatus.at(path)
        } catch {
            guard error.code == .absent else { throw error }
            throw CofferError(
                .absent, "There is no file or directory \(path).", systemError: error.systemError)
        }
    }
}
