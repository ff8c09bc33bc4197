import ArgumentParser
import CofferBase

/// A check of the command names on the command line.
enum CommandNames {
    /// Checks that each word is the name of a command. The error for an unknown word suggests similar
    /// commands.
    ///
    /// - Parameters:
    ///   - words: The words in order. The words that follow a command without subcommands are its arguments
    ///     and are not checked.
    ///   - root: The program's root command.
    ///   - isHelp: Whether every word must be a command's name, as after `coffer help`.
    /// - Throws: `ValidationError` if a word is not the name of a command.
    static func check(
        _ words: some Sequence<String>, of root: any ParsableCommand.Type, isHelp: Bool = false
    ) throws {
        var command = root
        var path = [root._commandName]
        for word in words {
            let below = command.configuration.subcommands
            guard isHelp || !below.isEmpty else { return }
            guard let next = below.first(where: { isName(word, of: $0) }) else {
                let found = suggestions(for: word, below, path, of: root).prefix(maxSuggestions)
                let advice =
                    found.isEmpty
                    ? "Run coffer help for a list." : "Did you mean \(found.joined(separator: " or "))?"
                throw ValidationError("There is no command \(word.printable). \(advice)")
            }
            command = next
            path.append(next._commandName)
        }
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

    /// Returns the commands that the user may have meant. These are the commands at this level whose names
    /// are most similar to `word` or, if there are none, the commands with exactly this name in a group of
    /// commands.
    private static func suggestions(
        for word: String, _ below: [any ParsableCommand.Type], _ path: [String],
        of root: any ParsableCommand.Type
    ) -> [String] {
        guard word.utf8.count <= maxWordLength else { return [] }
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
            group.configuration.subcommands.filter { isName(word, of: $0) }.map {
                [root._commandName, group._commandName, $0._commandName].joined(separator: " ")
            }
        }
    }

    /// Returns the number of bytes to add, remove, change or swap with a neighboring byte to turn `word` into
    /// `name`, or 1 if `word` is a prefix of `name` that has at least two bytes and is shorter than `name`.
    private static func distance(from word: String, to name: String) -> Int {
        let (word, name) = (Array(word.utf8), Array(name.utf8))
        if word.count >= 2, name.starts(with: word) { return min(1, name.count - word.count) }
        var rows = [Array(0...name.count)]
        for (i, byte) in word.enumerated() {
            var row = [i + 1]
            for (j, other) in name.enumerated() {
                var least = min(rows[i][j] + (byte == other ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, byte == name[j - 1], word[i - 1] == other {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[word.count][name.count]
    }
}
