public import CofferBase

/// The result of one check of a vault's protection on this host.
public struct SecurityCheck: Sendable, Equatable {
    /// The outcome of a check.
    public enum Status: String, Sendable {
        /// The protection works.
        case ok
        /// The protection helps, but an attacker with the files or the user's account can circumvent it.
        case advisory
        /// The protection is missing or damaged.
        case missing
        /// The check could not be performed; ``SecurityCheck/message`` states the reason.
        case unknown
    }

    /// The check's stable name.
    public let name: String
    /// The check's outcome on this host.
    public let status: Status
    /// A message that explains the status.
    public let message: String
    /// A step that improves the status, for the application to describe to its user; `nil` if none is known.
    public let remedy: CofferError.Remedy?

    package init(
        _ name: String, _ status: Status, _ message: String, remedy: CofferError.Remedy? = nil
    ) {
        self.name = name
        self.status = status
        self.message = message
        self.remedy = remedy
    }

    /// The errors that indicate damage; other errors only prevent a check.
    private static let damages: Set<CofferError.Code> = [
        .corrupt, .foreign, .unsupportedVersion, .rolledBack, .absent,
    ]

    /// Returns the result for a check that failed with this error.
    static func failed(_ name: String, _ error: CofferError) -> SecurityCheck {
        guard damages.contains(error.code) else { return .notChecked(name, error) }
        let remedy: CofferError.Remedy? = error.remedy ?? (error.code == .absent ? .restoreVault : nil)
        return SecurityCheck(name, .missing, error.message, remedy: remedy)
    }

    /// Returns the result for a check that this error prevented.
    package static func notChecked(_ name: String, _ error: CofferError) -> SecurityCheck {
        SecurityCheck(
            name, .unknown,
            "The check could not be completed. \(error.message)", remedy: error.remedy)
    }
}
