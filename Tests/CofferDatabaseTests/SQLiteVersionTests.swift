import Coffer
import CofferDatabase
import CofferEngineSQLite
import Foundation
import Testing

@Test("The system's SQLite is new enough for the encrypting file system")
func sqliteVersion() {
    #expect(SQLiteVersion.number >= 3_032_000)
}

@Test("SQLite before 3.50.2 is named with what it loses, later ones are not")
func sqliteBeforeItsMend() throws {
    for number: Int32 in [3_039_000, 3_040_001, 3_046_001, 3_050_001] {
        let protections = LinkedSQLite.protections(number: number)
        let found = try #require(protections.first)
        #expect(protections.count == 1 && found.name == "sqlite" && found.message.contains("3.50.2"))
    }
    #expect(LinkedSQLite.protections(number: 3_040_001).first?.message.hasPrefix("SQLite 3.40.1: ") == true)
    for number: Int32 in [3_050_002, 3_050_004, 3_051_000, 4_000_000] {
        #expect(LinkedSQLite.protections(number: number).isEmpty)
    }
}

/// Scripts/sqlite-versions runs tests with other releases of SQLite, and says which one each run must have.
@Test(
    "SQLite is the release that was asked for",
    .enabled(if: ProcessInfo.processInfo.environment["COFFER_EXPECT_SQLITE"] != nil))
func expectedSQLiteVersion() {
    let expected = ProcessInfo.processInfo.environment["COFFER_EXPECT_SQLITE"] ?? ""
    #expect("\(SQLiteVersion.number)" == expected)
}
