public import CofferBase
import GRDB

extension SoupStore {
    /// Removes the entries that a policy does not keep, in one transaction.
    ///
    /// Inserting an entry counts as a view, as does every call to ``markViewed(_:in:)``; replacing an entry
    /// does not. An entry last viewed exactly as long ago as the policy's maximum age is kept.
    ///
    /// - Parameters:
    ///   - policy: The policy that determines which entries are kept.
    ///   - soup: The name of the soup.
    /// - Returns: The numbers of removed and remaining entries.
    /// - Throws: `absent` if the soup does not exist; `invalidInput` if the policy's maximum age or a count
    ///   is negative, or if the minimum count exceeds the maximum count.
    @discardableResult
    public func retain(
        _ policy: RetentionPolicy, in soup: String
    ) async throws(CofferError) -> RetentionReport {
        guard policy.maximumAge >= .zero, policy.minimumCount >= 0,
            policy.minimumCount <= policy.maximumCount
        else {
            throw CofferError(.invalidInput, "A retention policy requires age ≥ 0 and 0 ≤ minimum ≤ maximum.")
        }
        let (difference, overflow) = now.subtractingReportingOverflow(policy.maximumAge.wholeMilliseconds)
        let oldest = overflow ? Int64.min : difference
        return try await write { db in
            let table = try SoupCatalog.require(soup, db).table
            func count(_ filter: String, _ arguments: StatementArguments = []) throws -> Int {
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM \(table) \(filter)", arguments: arguments) ?? 0
            }
            let total = try count("")
            let isOld = "WHERE \(SoupField.lastViewed) < ?"
            var purged = try count(isOld, [oldest])
            if total - purged < policy.minimumCount { purged = 0 }
            if purged > 0 { try db.execute(sql: "DELETE FROM \(table) \(isOld)", arguments: [oldest]) }
            let trimmed = max(0, total - purged - policy.maximumCount)
            try db.execute(
                sql: """
                    DELETE FROM \(table) WHERE \(SoupField.entryID) IN (
                        SELECT \(SoupField.entryID) FROM \(table)
                        ORDER BY \(SoupField.lastViewed), \(SoupField.entryID) LIMIT ?)
                    """, arguments: [trimmed])
            return RetentionReport(
                purged: purged, trimmed: trimmed, remaining: total - purged - trimmed)
        }
    }
}
