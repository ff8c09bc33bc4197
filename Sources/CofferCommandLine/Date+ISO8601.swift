package import FoundationEssentials

extension Date {
    /// The date in ISO 8601 format, such as 2027-01-31T12:00:00Z.
    package var iso8601: String { formatted(.iso8601) }
}
