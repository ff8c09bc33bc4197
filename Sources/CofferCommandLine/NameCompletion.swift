import ArgumentParser
import CofferBase
import CofferEngine

/// The completions of names that only the vault knows. The shell runs a program to complete the word.
///
/// A completion never asks for a passcode, ends at a deadline, and offers nothing if it fails, for example
/// because the vault is locked. It uses the vault that `--home` and `--user` on the command line specify.
package enum NameCompletion {
    /// The time after which the process ends, because the user's shell waits for it.
    private static let deadline: UInt32 = 5

    /// Starts the deadline of a command that completes a word.
    package static func startDeadline() { ProcessDeadline.start(seconds: deadline) }

    /// Returns the options that specify the vault on an unfinished command line.
    package static func options(_ words: [String]) -> GlobalOptions? {
        var found: [String] = []
        for option in ["--home", "--user"] {
            guard let value = value(of: option, words) else { continue }
            found.append("\(option)=\(value)")
        }
        return try? GlobalOptions.parse(found)
    }

    /// Returns the value of an option among the words of a command line. For bash, `=` is a word of its own.
    package static func value(of option: String, _ words: [String]) -> String? {
        for (place, word) in words.enumerated() {
            if word.utf8.hasPrefix(option + "=") {
                return String(decoding: word.utf8.dropFirst(option.utf8.count + 1), as: UTF8.self)
            }
            guard word.hasSameBytes(as: option) else { continue }
            let rest = words[(place + 1)...]
            return rest.first { !$0.hasSameBytes(as: "=") }
        }
        return nil
    }
}

extension [String] {
    /// The different names that shells interpret as one plain word and that are no options, sorted. Shells
    /// expand the words that they receive, and names may come from someone else.
    package var plainWords: [String] {
        // A set of strings would hold one of two names that are equal in Unicode alone.
        let different: Set<[UInt8]> = Set(map { [UInt8]($0.utf8) })
        let hyphen = UInt8(ascii: "-")
        let arguments = different.filter { (bytes: [UInt8]) in !bytes.isEmpty && bytes.first != hyphen }
        let words: [String] = arguments.map { String(decoding: $0, as: UTF8.self) }
        return words.filter(FileReference.isPlainWord).sorted()
    }
}
