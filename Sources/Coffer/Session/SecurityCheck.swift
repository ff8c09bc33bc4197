import CofferBase

/// One thing that protects, or does not protect, a vault on this host.
public struct SecurityCheck: Sendable, Equatable {
    /// How far it goes.
    public enum Status: String, Sendable {
        /// It holds.
        case ok
        /// It helps, but whoever has the files or the user's account gets around it.
        case advisory
        /// It is not there, or it is damaged.
        case missing
        /// It could not be checked; the message says why.
        case unknown
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

    /// Damage, as opposed to what keeps a check from being made.
    private static let damages: Set<CofferError.Code> = [
        .corrupt, .foreign, .unsupportedVersion, .rolledBack, .absent,
    ]

    /// The outcome of a check that failed with this error.
    static func failed(_ name: String, _ error: CofferError) -> SecurityCheck {
        guard damages.contains(error.code) else { return .notChecked(name, error) }
        let message = error.code == .absent ? "\(error.message) \(Remedy.backup.rawValue)" : error.message
        return SecurityCheck(name, .missing, message)
    }

    /// A check that could not be made because of this error.
    package static func notChecked(_ name: String, _ error: CofferError) -> SecurityCheck {
        SecurityCheck(name, .unknown, "This could not be checked. \(error.message)")
    }
}
