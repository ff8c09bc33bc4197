/// Counted things in messages.
enum Plural {
    /// The number and the noun, in the plural unless there is one.
    static func of(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
