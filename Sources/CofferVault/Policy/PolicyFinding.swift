/// A finding about a policy document.
public struct PolicyFinding: Sendable, Hashable {
    /// The kind of finding.
    public enum Kind: String, Sendable, CaseIterable {
        /// The document is invalid: nothing in it counts.
        case error
        /// The value counts, but should be written in another way.
        case warning
        /// The key is not known to this release and has no effect.
        case unknownKey
    }

    /// The kind of finding.
    public let kind: Kind
    /// The line, counted from 1.
    public let line: Int
    /// The key; `nil` if the finding concerns the whole document.
    public let key: String?
    /// One or more sentences that describe the finding.
    public let message: String
    /// The known key that resembles an unknown one most; `nil` if none does.
    public let suggestion: String?

    init(_ kind: Kind, _ line: Int, _ key: String?, _ message: String, suggestion: String? = nil) {
        self.kind = kind
        self.line = line
        self.key = key
        self.message = message
        self.suggestion = suggestion
    }

    /// The line, the key and the message.
    public var description: String { "line \(line): \(key.map { "\($0): " } ?? "")\(message)" }
}

extension PolicyFinding: CustomStringConvertible {}
