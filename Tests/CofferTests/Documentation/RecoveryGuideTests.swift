import Coffer
import CofferEngine
import Testing

/// Runs the code of the article on recovery.
@Suite("Documents: recovery")
struct RecoveryGuideTests {
    /// The sheets that were shown.
    private final class Sheets {
        var texts: [String] = []

        func show(_ text: consuming SecretBytes) throws {
            texts.append(text.exposing { String(decoding: $0.copied(), as: UTF8.self) })
        }

        func key() throws -> RecoveryKey { try RecoveryKey(SecretBytes.copying(#require(texts.last))) }
    }

    @Test("A sheet that was read back brings the vault back, and the next sheet does again")
    func guide() async throws {
        let home = try TestHome()
        let vault = try await home.create("correct horse")
        let sheets = Sheets()
        let passcode = try Passcode(copying: "correct horse")
        try await RecoveryGuide.make(in: vault, passcode, show: sheets.show) { try RecoveryKey.generate() }
        #expect(try await vault.recoveryKeyStatus() == nil, "a key that was not read back counts")
        try await RecoveryGuide.make(in: vault, passcode, show: sheets.show, readBack: sheets.key)
        vault.close()
        for new in ["battery staple", "third passcode"] {
            let (opened, _) = try await RecoveryGuide.recover(
                home.location, sheets.key(), Passcode(copying: new), show: sheets.show)
            opened.close()
            #expect(try await home.unlocked(new).isUnlocked)
        }
        #expect(Set(sheets.texts).count == 4)
    }
}
