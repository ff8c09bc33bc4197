import Coffer
package import FoundationEssentials

extension Grant {
    /// Returns the time until which the stored access token is valid; `nil` if there is none, or if it cannot
    /// be read.
    ///
    /// - Parameter record: The session's record.
    /// - Returns: The time.
    package func accessTokenExpiry(of record: GrantRecord) async -> Date? {
        guard let access = try? await context.grants.accessToken(id, of: record) else { return nil }
        return access.info.expires
    }
}
