import CofferBase
import CofferCommandLine
import CofferEngine

/// The program that runs the commands that open databases. Only it links GRDB and SQLite, and with them
/// Foundation, whose loading takes longer than everything else that this program does.
enum DatabaseProgram {
    static let name = "coffer-database"

    /// The commands that the program runs.
    static let commands = ["database", "soup", "backup", "reclass"]

    private static let maxByteCount = 1 << 16
    private static let deadline = Duration.seconds(10)

    /// Reports whether the arguments, with the command's name first, are for the program: one of its
    /// commands, help for one, or the completion of a word that it knows.
    static func isFor(_ arguments: [String]) -> Bool {
        guard let first = arguments.first else { return false }
        if isName(first) { return true }
        guard arguments.count > 1, isName(arguments[1]) else { return false }
        if first.hasSameBytes(as: "help") { return true }
        // Scripts that an earlier release wrote name the command's arguments.
        return first.hasSameBytes(as: "---completion") && arguments.count > 2
            && !arguments[2].hasSameBytes(as: "--")
    }

    private static func isName(_ word: String) -> Bool {
        commands.contains { word.hasSameBytes(as: $0) }
    }

    /// Replaces this process with the program. It inherits the descriptors, so it can read a passcode.
    static func become(_ words: [String]) throws(CofferError) {
        try CurrentExecutable.become(sibling: name, words.map { ProgramArguments.bytes($0) })
    }

    /// Returns the words with which the program is run as another process.
    static func command(_ words: [String]) throws(CofferError) -> [[UInt8]] {
        [try CurrentExecutable.path(ofSibling: name)] + words.map { ProgramArguments.bytes($0) }
    }

    /// Returns the program's report on the SQLite library that it loads; `nil` if the program is not
    /// installed.
    ///
    /// - Throws: The error that prevented running the program; `corrupt` for an answer that is no report.
    static func sqlite() throws(CofferError) -> JSONValue? {
        let none = [UInt8]()
        let outcome: Subprocess.Outcome
        do throws(CofferError) {
            outcome = try Subprocess.run(
                try command(["linked-sqlite"]), input: none.span, limit: maxByteCount, deadline: deadline)
        } catch {
            guard ChildProcess.exitCode(ofFailedStart: error) == ChildProcess.notFoundCode else {
                throw error
            }
            return nil
        }
        guard outcome.code == 0 else {
            throw CofferError(.corrupt, "The program \(name) ended with \(outcome.code).")
        }
        let output = outcome.takeOutput()
        guard let report = try? JSONValue(parsing: output.span.copied()), report["version"]?.string != nil
        else {
            throw CofferError(.corrupt, "The answer of the program \(name) is not a report on SQLite.")
        }
        return report
    }
}
