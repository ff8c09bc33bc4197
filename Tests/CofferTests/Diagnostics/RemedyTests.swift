import CofferBase
import Testing

@Suite("Remedies of errors")
struct RemedyTests {
    @Test("Every remedy has a name of its own and equals only itself")
    func names() {
        let all = CofferError.Remedy.allCases
        #expect(Set(all.map(\.name)).count == all.count && Set(all).count == all.count)
        #expect(all.contains(.restoreOrWipeVault) && CofferError.Remedy.listFiles.name == "listFiles")
    }

    @Test("An error has the remedy that it was made with, and its description has none")
    func errors() {
        let error = CofferError(.absent, "It is gone.", remedy: .listFiles, systemError: 2)
        #expect(error.remedy == .listFiles && error.systemError == 2)
        #expect(error.description == "absent: It is gone.")
        #expect(CofferError(.absent, "It is gone.").remedy == nil)
    }

    @Test(
        "A server's code is kept as it was written, without what could confuse a terminal, and cut",
        arguments: [
            ("invalid_client", "invalid_client"), ("a\u{1B}[31m\nb\u{7F}", "a[31mb"), ("é\u{202E}x", "x"),
            (String(repeating: "x", count: 200), String(repeating: "x", count: 64)), ("", ""),
        ])
    func serverCode(_ sent: String, _ kept: String) {
        #expect(CofferError(.serverRefused, "The server refused.", serverCode: sent).serverCode == kept)
        #expect(CofferError(.serverRefused, "The server refused.").serverCode == nil)
    }
}
