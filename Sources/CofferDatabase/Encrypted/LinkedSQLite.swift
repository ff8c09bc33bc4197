package import Coffer
import CofferEngineSQLite

/// The SQLite library that this process uses.
package enum LinkedSQLite {
    /// The first release in which content committed to a WAL survives `ROLLBACK TO` a savepoint in which the
    /// cache spilled.
    private static let firstWhole: Int32 = 3_050_002

    /// The library's version number, such as 3040001 for 3.40.1.
    package static var number: Int32 { SQLiteVersion.number }

    /// The library's version, such as 3.40.1.
    package static var version: String { text(of: number) }

    private static func text(of number: Int32) -> String {
        [number / 1_000_000, number / 1000 % 1000, number % 1000].map(String.init).joined(separator: ".")
    }

    /// Returns the checks on the library for a report on the host: one for a version before SQLite 3.50.2,
    /// and none for SQLite 3.50.2 and later.
    ///
    /// - Parameter number: The version number of the library.
    /// - Returns: An array with one check, or an empty array.
    package static func protections(number: Int32 = number) -> [SecurityCheck] {
        guard number < firstWhole else { return [] }
        return [
            SecurityCheck(
                "sqlite", .ok,
                "SQLite \(text(of: number)): before 3.50.2, a crash can lose data committed to a WAL "
                    + "after ROLLBACK TO. Coffer's databases are protected, but plain databases are not.")
        ]
    }
}
