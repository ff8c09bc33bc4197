import CofferBase

/// The words after a command's name, if they are so simple that they mean the same to every parser: options
/// by their whole name, each at most once, and arguments that resemble no option.
///
/// The parser builds a description of every option before it reads the first word, which took 1.5 of the 15
/// milliseconds of `coffer token get`. Commands that other programs run again and again are therefore read by
/// this type if they can be, and by the parser otherwise, which also reports every mistake.
package struct SimpleWords {
    /// The arguments that are not options, in order.
    package private(set) var arguments: [String] = []
    private var values: [(name: String, value: String?)] = []

    /// Reads the words; returns `nil` if the parser has to read them.
    ///
    /// - Parameters:
    ///   - words: The words after the command's name.
    ///   - flags: The command's own options without a value. ``GlobalOptions`` need not be named.
    ///   - valued: The command's own options with a value.
    package init?(_ words: some Sequence<String>, flags: [String] = [], valued: [String] = []) {
        var valuedOption: String?
        for word in words {
            if let option = valuedOption {
                guard !word.utf8.hasPrefix("-"), keep(option, word) else { return nil }
                valuedOption = nil
            } else if !word.utf8.hasPrefix("-") {
                // The parser knows `help` everywhere.
                guard !word.isEmpty, !word.hasSameBytes(as: "help") else { return nil }
                arguments.append(word)
            } else if let flag = (flags + GlobalOptions.flags).first(where: { $0.hasSameBytes(as: word) }) {
                guard keep(flag, nil) else { return nil }
            } else {
                let options = valued + GlobalOptions.valued
                guard let option = options.first(where: { $0.hasSameBytes(as: word) }) else { return nil }
                valuedOption = option
            }
        }
        guard valuedOption == nil else { return nil }
    }

    /// Keeps an option; returns `false` for one that is there already.
    private mutating func keep(_ name: String, _ value: String?) -> Bool {
        guard !has(name) else { return false }
        values.append((name, value))
        return true
    }

    /// Reports whether the option is there.
    package func has(_ name: String) -> Bool { values.contains { $0.name.hasSameBytes(as: name) } }

    /// Returns the option's value; `nil` if the option is not there.
    package subscript(_ name: String) -> String? {
        values.first { $0.name.hasSameBytes(as: name) }?.value
    }
}

extension GlobalOptions {
    /// Creates the options that are among the words; returns `nil` if the parser would refuse one.
    package init?(_ words: SimpleWords) {
        self.init()
        home = words["--home"]
        user = words["--user"]
        json = words.has("--json")
        allowPrompt = words.has("--allow-prompt")
        passcodeFd = nil
        guard let number = words["--passcode-fd"] else { return }
        guard let descriptor = Int32(number) else { return nil }
        passcodeFd = descriptor
    }
}
