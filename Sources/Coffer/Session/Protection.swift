/// One thing that protects, or does not protect, a vault on this host.
public struct Protection: Sendable, Equatable {
    /// How far it goes.
    public enum Status: String, Sendable {
        /// It holds.
        case ok
        /// It helps, but whoever has the files or the user's account gets around it.
        case advisory
        /// It is not there.
        case missing
    }

    /// What is looked at, a stable word.
    public let name: String
    /// How far it goes here.
    public let status: Status
    /// Why, and what to do about it.
    public let message: String

    package init(_ name: String, _ status: Status, _ message: String) {
        self.name = name
        self.status = status
        self.message = message
    }
}
