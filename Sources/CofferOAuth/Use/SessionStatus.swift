/// A step of a session's start, for an application that shows it.
public struct SessionStatus: Sendable, Hashable {
    /// The type of a step. The raw value is the step's code.
    public enum Kind: Int, Sendable, Hashable, CaseIterable {
        /// The session can be used: the application can load its data.
        case starting = 1
        /// The session's access token is being renewed.
        case authenticating = 2
        /// The server cannot be reached.
        case offline = 3

        /// The step's name, such as `STARTING`.
        public var name: String {
            switch self {
            case .starting: "STARTING"
            case .authenticating: "AUTHENTICATING"
            case .offline: "OFFLINE"
            }
        }
    }

    /// The type of the step.
    public let kind: Kind
    /// The step's description for people.
    public let description: String
    /// Whether the application cannot start.
    public let isError: Bool

    /// Creates a step, for an app's test doubles.
    ///
    /// - Parameters:
    ///   - kind: The type of the step.
    ///   - description: The step's description for people.
    ///   - isError: Whether the application cannot start.
    public init(_ kind: Kind, _ description: String, isError: Bool = false) {
        self.kind = kind
        self.description = description
        self.isError = isError
    }

    /// The code of the step's type.
    public var code: Int { kind.rawValue }
}
