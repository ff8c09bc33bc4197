/// The error for an argument that is no command or option of the group of commands in which it stands.
package struct UnknownWord: Error {
    /// The problem, and a suggestion.
    package let message: String
    /// The group's full name, such as `coffer token`.
    package let group: String

    /// The message and the group's usage, in the parser's form.
    package var text: String {
        "Error: \(message)\nUsage: \(group) <subcommand>\n  See '\(group) --help' for more information."
    }
}
