package import ArgumentParser
import CofferBase

/// A check of the command names on the command line.
package enum CommandNames {
    /// Checks that each word up to a command without subcommands, or to an option, names a command. The error
    /// for an unknown word suggests commands; the one for an option that resembles a global one suggests that
    /// one.
    ///
    /// - Parameters:
    ///   - words: The words in order. The words that follow a command without subcommands are its arguments
    ///     and are not checked.
    ///   - root: The program's root command.
    ///   - isHelp: Whether every word must be a name, as after `coffer help`.
    /// - Throws: ``UnknownWord``.
    package static func check(
        _ words: some Sequence<String>, of root: any ParsableCommand.Type, isHelp: Bool = false
    ) throws(UnknownWord) {
        var command = root
        var path = [root._commandName]
        for word in words {
            let below = command.configuration.subcommands
            guard isHelp || !below.isEmpty else { return }
            guard !word.utf8.hasPrefix("-") else { return try checkOption(word, path) }
            guard let next = subcommand(word, of: command) else {
                throw unknown(word, below, path, of: root)
            }
            command = next
            path.append(next._commandName)
        }
    }

    /// Returns the command of this name or alias in a group.
    package static func subcommand(
        _ word: String, of group: any ParsableCommand.Type
    ) -> (any ParsableCommand.Type)? {
        group.configuration.subcommands.first { isName(word, of: $0) }
    }

    /// Checks an option in place of a command's name. The parser reports an option that resembles none of the
    /// global ones.
    private static func checkOption(_ word: String, _ path: [String]) throws(UnknownWord) {
        let name = String(decoding: word.utf8.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
        guard (4...maxWordLength).contains(name.utf8.count) else { return }
        let distances = options.map { distance(from: name, to: $0) }
        guard let nearest = distances.min(), (1...2).contains(nearest),
            let place = distances.firstIndex(of: nearest)
        else { return }
        throw UnknownWord(
            message: "Unknown option '\(name.printable)'. Did you mean '\(options[place])'?",
            group: path.joined(separator: " "))
    }

    /// The options that may stand before a command's name.
    private static let options = GlobalOptions.flags + GlobalOptions.valued + ["--help", "--version"]

    private static func unknown(
        _ word: String, _ below: [any ParsableCommand.Type], _ path: [String],
        of root: any ParsableCommand.Type
    ) -> UnknownWord {
        let found = suggestions(for: word, below, path, of: root).prefix(maxSuggestions)
        let name = path.joined(separator: " ")
        let list = path.count == 1 ? "\(name) help" : "\(name) --help"
        let advice =
            found.isEmpty ? "Run \(list) for a list." : "Did you mean \(found.joined(separator: " or "))?"
        let problem = path.count == 1 ? "There is no command" : "\(name) has no command"
        // Only after `coffer help` can the last name be that of a command without subcommands.
        let group = below.isEmpty ? path.dropLast().joined(separator: " ") : name
        return UnknownWord(message: "\(problem) \(word.printable). \(advice)", group: group)
    }

    private static let maxSuggestions = 3
    /// The maximum length, in bytes, of a word that is compared with command names.
    private static let maxWordLength = 32

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        [command._commandName] + command.configuration.aliases
    }

    private static func isName(_ word: String, of command: any ParsableCommand.Type) -> Bool {
        names(of: command).contains { $0.hasSameBytes(as: word) }
    }

    /// Returns the commands that the user may have meant: those that do what the word says, otherwise those
    /// with the nearest names at this level, otherwise those with this name in a group of commands.
    private static func suggestions(
        for word: String, _ below: [any ParsableCommand.Type], _ path: [String],
        of root: any ParsableCommand.Type
    ) -> [String] {
        guard word.utf8.count <= maxWordLength else { return [] }
        let meant = meanings(of: word, below, isRoot: path.count == 1)
        guard meant.isEmpty else { return meant.map { (path + [$0]).joined(separator: " ") } }
        let distances = below.map { command in
            names(of: command).map { distance(from: word, to: $0) }.min() ?? .max
        }
        let nearest = distances.min() ?? .max
        // Half of a short word is another word.
        if nearest <= min(2, word.utf8.count / 2) {
            return zip(below, distances).filter { $1 == nearest }.map {
                (path + [$0.0._commandName]).joined(separator: " ")
            }
        }
        return root.configuration.subcommands.flatMap { group in
            names(word, in: group).map {
                [root._commandName, group._commandName, $0].joined(separator: " ")
            }
        }
    }

    /// Returns the names of the group's commands that have this name or alias.
    private static func names(_ word: String, in group: any ParsableCommand.Type) -> [String] {
        let forwarded = (group as? any ForwardedCommand.Type)?.subcommandNames ?? []
        return group.configuration.subcommands.filter { isName(word, of: $0) }.map { $0._commandName }
            + forwarded.filter { $0.hasSameBytes(as: word) }
    }

    /// Returns what the word may mean at this level: several commands of the program, one of a group.
    private static func meanings(
        of word: String, _ below: [any ParsableCommand.Type], isRoot: Bool
    ) -> [String] {
        let isThere = { (command: String) in
            let name = command.parts(between: " ").first ?? command
            return below.contains { $0._commandName.hasSameBytes(as: name) }
        }
        // Each program has only some of the commands that a word may mean.
        guard !isRoot else { return CommandMeanings.commands(for: word).filter(isThere) }
        return CommandMeanings.commandsInGroup(for: word).first(where: isThere).map { [$0] } ?? []
    }

    /// Returns the number of bytes to add, remove, change or swap with a neighbour to turn `word` into
    /// `name`, or 1 if `word` is a shorter prefix of at least two bytes.
    private static func distance(from word: String, to name: String) -> Int {
        let (length, full) = (word.utf8.count, name.utf8.count)
        if length >= 2, name.utf8.starts(with: word.utf8) { return min(1, full - length) }
        return EditDistance.between(word, name)
    }
}
