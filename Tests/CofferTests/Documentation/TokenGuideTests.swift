import Coffer
import SystemPackage
import Testing
import TestSupport

/// Runs the client of the article on tokens.
@Suite("Documents: the client of the article on tokens")
struct TokenGuideTests {
    @Test("The client stores its token once, uses it, renews it and removes it")
    func client() async throws {
        let home = try TestHome()
        let scratch = try ScratchDirectory.make()
        try scratch.write("token", Array("old".utf8))
        let path = scratch.path.appending("token")
        let client = try await APIClient(home.create(), account: "ada")
        #expect(try await client.authorization() == nil)

        try await client.signIn(fromDescriptor: FileDescriptor.open(path, .readOnly).rawValue)
        #expect(try await client.authorization() == "Bearer old")
        let again = await #expect(throws: CofferError.self) {
            try await client.signIn(fromDescriptor: FileDescriptor.open(path, .readOnly).rawValue)
        }
        #expect(again?.code == .conflict)

        let didRenew = try await client.renew { _ in try Token(copying: "new") }
        #expect(didRenew)
        #expect(try await client.authorization() == "Bearer new")
        #expect(try await client.signOut())
        #expect(try await client.authorization() == nil)
        let isRenewed = try await client.renew { _ in try Token(copying: "newer") }
        #expect(!isRenewed)
    }
}
