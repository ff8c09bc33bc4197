package import ArgumentParser
package import CofferBase
import CofferEngine
package import SystemPackage

/// The help texts of the options that every command accepts, either before or after the command's name.
/// Commands that do not use a vault accept these options, too.
///
/// The options are not a group inside ``GlobalOptions`` and ``NoVaultOptions``: in a debug build, the parser
/// checks a group again for each group that contains it, which took up a fifth of a command's running time.
private enum CommonHelp {
    static let json: ArgumentHelp = "Print one JSON document on standard output."
    static let passcodeFd = ArgumentHelp(
        "Read the passcode from the first line of this descriptor.", valueName: "n")
}

/// The options of commands that need no vault. These commands accept `--home` and ignore it.
package struct NoVaultOptions: ParsableArguments {
    @Option(help: .hidden)
    package var home: String?

    @Flag(help: CommonHelp.json)
    package var json = false

    @Option(help: CommonHelp.passcodeFd)
    package var passcodeFd: Int32?

    /// Creates the options of a command without any.
    package init() {}
}

/// The options of commands that use a vault.
package struct GlobalOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The vault directory; default: $COFFER_HOME, $XDG_DATA_HOME/coffer or ~/.local/share/coffer.",
            valueName: "dir"))
    package var home: String?

    @Option(
        help: ArgumentHelp(
            "Use this user's vault inside that vault, which has its own passcode: see coffer users.",
            valueName: "name"))
    package var user: String?

    @Flag(help: CommonHelp.json)
    package var json = false

    @Option(help: CommonHelp.passcodeFd)
    package var passcodeFd: Int32?

    @Flag(help: "Allow the desktop keyring to ask for its password if it is locked: see coffer settings.")
    package var allowPrompt = false

    /// Creates the options of a command without any.
    package init() {}

    /// Returns the vault directory's path.
    package func homePath() throws(CofferError) -> FilePath {
        if let home {
            guard !home.isEmpty else { throw CofferError(.invalidInput, "--home requires a directory.") }
            return ProgramArguments.path(home)
        }
        if let home = Environment.path("COFFER_HOME") { return home }
        // The XDG Base Directory Specification requires that a relative path is ignored.
        if let data = Environment.path("XDG_DATA_HOME"), data.isAbsolute { return data.appending("coffer") }
        guard let user = Environment.path("HOME"), user.isAbsolute else {
            throw CofferError(.invalidInput, "HOME is not set. Specify the vault directory with --home.")
        }
        return user.appending(".local/share/coffer")
    }
}

extension GlobalOptions {
    /// The global options without a value.
    package static let flags = ["--json", "--allow-prompt"]
    /// The global options with a value.
    package static let valued = ["--home", "--user", "--passcode-fd"]

    /// Returns the arguments with global options moved from before the command's name, or from before its
    /// group's, to after it.
    ///
    /// - Parameters:
    ///   - arguments: The arguments without the program's name.
    ///   - root: The command that contains all others.
    /// - Returns: The same arguments in the order that the parser expects.
    package static func hoistGlobalOptions(
        _ arguments: [String], root: any ParsableCommand.Type
    ) -> [String] {
        var rest = arguments[...]
        var groups: [String] = []
        var moved: [String] = []
        var group = root
        while let first = rest.first {
            if flags.contains(first) || valued.contains(where: { first.utf8.hasPrefix($0 + "=") }) {
                moved.append(rest.removeFirst())
            } else if valued.contains(first), rest.count > 1 {
                moved += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else if let next = CommandNames.subcommand(first, of: group),
                !next.configuration.subcommands.isEmpty
            {
                groups.append(rest.removeFirst())
                group = next
            } else {
                break
            }
        }
        let end = rest.firstIndex { $0.hasSameBytes(as: "--") } ?? rest.endIndex
        return groups + Array(rest[..<end]) + moved + Array(rest[end...])
    }

    /// Reports whether errors must be printed as JSON, even if the arguments cannot be parsed.
    package static func wantsJSON(_ arguments: [String]) -> Bool {
        arguments.prefix { !$0.hasSameBytes(as: "--") }.contains { $0.hasSameBytes(as: "--json") }
    }
}
