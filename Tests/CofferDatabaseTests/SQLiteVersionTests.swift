import CofferEngineSQLite
import Testing

@Test("The system's SQLite is new enough for the encrypting file system")
func sqliteVersion() {
    #expect(SQLiteVersion.number >= 3_032_000)
}
