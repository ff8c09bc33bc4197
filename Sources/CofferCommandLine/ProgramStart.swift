package import ArgumentParser
import CofferBase

/// The way in which a program runs the command on its command line.
package enum ProgramStart {
    /// Parses and runs the command, then exits with the code for the command's result.
    ///
    /// - Parameters:
    ///   - root: The program's root command.
    ///   - arguments: The arguments, with the global options after the command's name
    ///     (``GlobalOptions/hoistGlobalOptions(_:root:)``).
    ///   - known: The command, if it was read without the parser.
    package static func run<Root: AsyncParsableCommand>(
        _ root: Root.Type, _ arguments: [String], _ known: sending (any AsyncParsableCommand)? = nil
    ) async -> Never {
        do {
            if var known {
                try await known.run()
            } else {
                try await parse(root, arguments)
            }
        } catch {
            let asJSON = GlobalOptions.wantsJSON(arguments)
            root.exit(withError: Failure.reported(error, asJSON: asJSON, root: root))
        }
        root.exit()
    }

    private static func parse<Root: AsyncParsableCommand>(
        _ root: Root.Type, _ arguments: [String]
    ) async throws {
        try checkNames(arguments, of: root)
        // Completions of names in the vault are asynchronous.
        var command = try await root.asyncParseAsRoot(arguments)
        if var command = command as? any AsyncParsableCommand {
            try await command.run()
        } else {
            try command.run()
        }
    }

    /// Rejects an unknown command with a suggestion. The parser would report an unexpected argument instead,
    /// and would answer a request for its help with the parent command's help.
    private static func checkNames(
        _ arguments: [String], of root: any ParsableCommand.Type
    ) throws(UnknownWord) {
        if arguments.first?.hasSameBytes(as: "help") == true {
            let words = arguments.dropFirst().filter { !$0.utf8.hasPrefix("-") }
            try CommandNames.check(words, of: root, isHelp: true)
        } else {
            try CommandNames.check(arguments, of: root)
        }
    }
}
