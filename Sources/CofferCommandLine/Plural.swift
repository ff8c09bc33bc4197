/// Functions that format counted nouns in messages.
package enum Plural {
    /// Returns the number followed by the noun, which is in the plural unless the number is one.
    package static func of(_ count: Int, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
}
