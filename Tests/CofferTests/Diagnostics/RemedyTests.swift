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
}
