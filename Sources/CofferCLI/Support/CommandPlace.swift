import CofferBase
import CofferCommandLine

/// A place on an unfinished command line whose command another program runs.
struct CommandPlace {
    /// The words that may stand at a place.
    enum Candidates {
        case words([String])
        case profiles
        case accounts(profile: String)
        case files
        /// The names of files in the vault.
        case storedFiles
        /// The words that the other program knows for an argument, which is `--NAME` or `positional@NUMBER`,
        /// of the command with this path.
        case asked(command: [String], argument: String)
    }

    /// The description of the command, or of the group, that the words before name.
    private var command: JSONValue
    private var path: [String] = []
    private var arguments: [String] = []
    /// The option whose value comes next.
    private var option: String?
    private var isHelp = false
    private var isAfterOptions = false

    /// Creates the first place, after the name of the command that `root` describes.
    init(in root: JSONValue) { command = root }

    private var below: [JSONValue] { command["subcommands"]?.array ?? [] }

    private var descriptions: [JSONValue] {
        (command["arguments"]?.array ?? []).filter { $0["shouldDisplay"]?.bool != false }
    }

    /// Moves on by a word that is complete.
    mutating func take(_ word: String) {
        // For bash, the = between an option and its value is a word of its own.
        guard !word.hasSameBytes(as: "=") else { return }
        guard option == nil else {
            option = nil
            return
        }
        if !isAfterOptions, word.utf8.hasPrefix("-") {
            isAfterOptions = word.hasSameBytes(as: "--")
            if takesValue(word) { option = word }
        } else if word.hasSameBytes(as: "help"), !below.isEmpty {
            isHelp = true
        } else if let next = below.first(where: { Self.names(of: $0).contains(word) }) {
            command = next
            path.append(next["commandName"]?.string ?? word)
        } else {
            arguments.append(word)
        }
    }

    /// Returns what may stand here in place of the beginning of a word.
    func candidates(for word: String) -> Candidates {
        if let option { return values(of: option) }
        if !isAfterOptions, word.utf8.hasPrefix("-") { return .words(optionNames) }
        guard below.isEmpty else {
            let shown = below.filter { $0["shouldDisplay"]?.bool != false }
            return .words(shown.compactMap { $0["commandName"]?.string })
        }
        guard !isHelp, let (number, argument) = nextArgument else { return .words([]) }
        if let special = special(argument, "positional@\(number)") { return special }
        // A profile that is added has a new name.
        let isName = argument["valueName"]?.string == "name" && command["commandName"]?.string != "add"
        return isName ? .profiles : .words([])
    }

    /// The number and the description of the argument that comes next.
    private var nextArgument: (Int, JSONValue)? {
        let positional = descriptions.filter { $0["kind"]?.string == "positional" }
        let number = arguments.count
        if positional.indices.contains(number) { return (number, positional[number]) }
        guard let last = positional.last, last["isRepeating"]?.bool == true else { return nil }
        return (positional.count - 1, last)
    }

    /// Returns the candidates for an argument or an option that has no list of words; `nil` if it has one or
    /// nothing is known of it.
    private func special(_ described: JSONValue, _ name: String) -> Candidates? {
        let kind = described["completionKind"]
        if kind?["file"]?.object != nil { return .files }
        // The only command that a shell would run lists these.
        if kind?["shellCommand"]?.object != nil { return .storedFiles }
        if kind?["customAsync"]?.object != nil { return .asked(command: path, argument: name) }
        return nil
    }

    private func values(of option: String) -> Candidates {
        guard let found = descriptions.first(where: { Self.longNames(of: $0).contains(option) }) else {
            return .words([])
        }
        if let special = special(found, option) { return special }
        if option.hasSameBytes(as: "--account"), let profile = arguments.first {
            return .accounts(profile: profile)
        }
        return .words((found["completionKind"]?["list"]?["values"]?.array ?? []).compactMap(\.string))
    }

    /// The options of the command. The shells' scripts themselves offer help and the version.
    private var optionNames: [String] {
        guard below.isEmpty else { return GlobalOptions.flags + GlobalOptions.valued }
        return descriptions.flatMap(Self.longNames).filter { !["--help", "--version"].contains($0) }
    }

    private func takesValue(_ word: String) -> Bool {
        GlobalOptions.valued.contains(word)
            || descriptions.contains {
                $0["kind"]?.string == "option" && Self.longNames(of: $0).contains(word)
            }
    }

    private static func names(of command: JSONValue) -> [String] {
        [command["commandName"]?.string].compactMap { $0 }
            + (command["aliases"]?.array ?? []).compactMap(\.string)
    }

    private static func longNames(of argument: JSONValue) -> [String] {
        (argument["names"]?.array ?? []).filter { $0["kind"]?.string == "long" }
            .compactMap { $0["name"]?.string.map { "--" + $0 } }
    }
}
