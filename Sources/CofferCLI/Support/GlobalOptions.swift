import ArgumentParser
import Coffer
import CofferBase
import CofferEngine
import SystemPackage

/// What every command takes, before or after its name, whether it needs a home or not.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Print one JSON document on standard output.")
    var json = false

    @Option(help: ArgumentHelp("Read the passcode from the first line of this descriptor.", valueName: "n"))
    var passcodeFd: Int32?
}

/// What commands take that need no home: one that is given is passed over.
struct NoVaultOptions: ParsableArguments {
    @Option(help: .hidden)
    var home: String?

    @OptionGroup var common: CommonOptions

    var json: Bool { common.json }
    var passcodeFd: Int32? { common.passcodeFd }
}

/// What commands take that use a home.
struct GlobalOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The home; else $COFFER_HOME, else $XDG_DATA_HOME/coffer, else ~/.local/share/coffer.",
            valueName: "dir"))
    var home: String?

    @OptionGroup var common: CommonOptions

    var json: Bool { common.json }
    var passcodeFd: Int32? { common.passcodeFd }

    @Flag(help: "Let the desktop's keyring ask for its password when it is locked.")
    var allowPrompt = false

    /// Whether the keyring may ask the user.
    var interaction: PromptPolicy { allowPrompt ? .allowed : .never }

    /// Where the home is.
    func homePath() throws(CofferError) -> FilePath {
        if let home {
            guard !home.isEmpty else { throw CofferError(.invalidInput, "--home takes a directory.") }
            return ProgramArguments.path(home)
        }
        if let home = Environment.path("COFFER_HOME") { return home }
        // A relative path there is to be ignored (XDG Base Directory Specification).
        if let data = Environment.path("XDG_DATA_HOME"), data.isAbsolute { return data.appending("coffer") }
        guard let user = Environment.path("HOME"), user.isAbsolute else {
            throw CofferError(.invalidInput, "There is no HOME: say where the home is with --home.")
        }
        return user.appending(".local/share/coffer")
    }
}

extension GlobalOptions {
    /// The same arguments with global options that stand before the command's name moved behind it.
    static func hoistGlobalOptions(_ arguments: [String]) -> [String] {
        var rest = arguments[...]
        var moved: [String] = []
        while let first = rest.first {
            if ["--json", "--allow-prompt"].contains(first) || first.utf8.hasPrefix("--home=")
                || first.utf8.hasPrefix("--passcode-fd=")
            {
                moved.append(rest.removeFirst())
            } else if ["--home", "--passcode-fd"].contains(first), rest.count > 1 {
                moved += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else {
                break
            }
        }
        let end = rest.firstIndex { $0.hasSameBytes(as: "--") } ?? rest.endIndex
        return Array(rest[..<end]) + moved + Array(rest[end...])
    }

    /// Whether errors are wanted as JSON, also when the arguments do not parse.
    static func wantsJSON(_ arguments: [String]) -> Bool {
        arguments.prefix { !$0.hasSameBytes(as: "--") }.contains { $0.hasSameBytes(as: "--json") }
    }
}
