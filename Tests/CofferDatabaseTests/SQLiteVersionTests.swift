import CofferEngineSQLite
import Foundation
import Testing

@Test("The system's SQLite is new enough for the encrypting file system")
func sqliteVersion() {
    #expect(SQLiteVersion.number >= 3_032_000)
}

/// Scripts/sqlite-versions runs tests with other releases of SQLite, and says which one each run must have.
@Test(
    "SQLite is the release that was asked for",
    .enabled(if: ProcessInfo.processInfo.environment["COFFER_EXPECT_SQLITE"] != nil))
func expectedSQLiteVersion() {
    let expected = ProcessInfo.processInfo.environment["COFFER_EXPECT_SQLITE"] ?? ""
    #expect("\(SQLiteVersion.number)" == expected)
}
