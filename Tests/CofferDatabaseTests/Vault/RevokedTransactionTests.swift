import TestSupport
import Testing

/// SQLite takes for granted that a page which it uses is in its page cache. When a rollback did not find it
/// there, SQLite freed the page and used it afterwards.
@Suite("The rollback of a transaction whose key was revoked")
struct RevokedTransactionTests {
    @Test(
        "SQLite uses no page that it freed", arguments: ["memory", "delete", "truncate", "wal"],
        ["0", "1", "20", "200"])
    func rollback(_ journal: String, cache: String) throws {
        let scene = try DatabaseFixture()
        // The C library fills memory with this byte when it is freed.
        let run = try CommandRun.run(
            "env",
            [
                "MALLOC_PERTURB_=165", DatabaseAgent.path, "revoke", "gcm1", scene.keyBytes.hex,
                scene.pathText, journal, "0", cache,
            ])
        #expect(run.code == 0 && run.text == "revoked\n", "\(run.code) \(run.text)\(run.errorText)")
    }
}
