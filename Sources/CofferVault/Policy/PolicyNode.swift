/// A value in a policy document with the line on which it stands.
package struct PolicyNode: Sendable, Equatable {
    /// A value as the document has it.
    package indirect enum Content: Sendable, Equatable {
        case flag(Bool)
        case number(Int64)
        case text(String)
        case list([PolicyNode])
        case dictionary([Member])
        /// A JSON null, or a number with a fraction or an exponent, or one of more than 64 bits.
        case other
    }

    /// An entry of a dictionary.
    package struct Member: Sendable, Equatable {
        package let key: String
        package let line: Int
        package let value: PolicyNode
    }

    package let line: Int
    package let content: Content

    /// The word for the type of the value, for messages.
    package var typeName: String {
        switch content {
        case .flag: "a Boolean"
        case .number: "an integer"
        case .text: "a string"
        case .list: "an array"
        case .dictionary: "a dictionary"
        case .other: "null or a number that is not an integer"
        }
    }
}
