import CofferBase

/// The result of checking one thing that protects a vault on this host.
public struct SecurityCheck: Sendable, Equatable {
    /// The result of a check.
    public enum Status: String, Sendable {
        /// The protection works.
        case ok
        /// The protection helps, but an attacker with the files or the user's account can circumvent it.
        case advisory
        /// The protection is missing or damaged.
        case missing
        /// The check could not be made; the message contains the reason.
        case unknown
    }

    /// A stable name of the check.
    public let name: String
    /// The result on this host.
    public let status: Status
    /// The reason, and what to do about it.
    public let message: String

    package init(_ name: String, _ status: Status, _ message: String) {
        self.name = name
        self.status = status
        self.message = message
    }

    /// Errors that mean damage, as opposed to errors that prevent a check.
    private static let damages: Set<CofferError.Code> = [
        .corrupt, .foreign, .unsupportedVersion, .rolledBack, .absent,
    ]

    /// The result of a check that failed with this error.
    static func failed(_ name: String, _ error: CofferError) -> SecurityCheck {
        guard damages.contains(error.code) else { return .notChecked(name, error) }
        let message = error.code == .absent ? "\(error.message) \(Remedy.backup.rawValue)" : error.message
        return SecurityCheck(name, .missing, message)
    }

    /// The result of a check that this error prevented.
    package static func notChecked(_ name: String, _ error: CofferError) -> SecurityCheck {
        SecurityCheck(name, .unknown, "This could not be checked. \(error.message)")
    }
}
