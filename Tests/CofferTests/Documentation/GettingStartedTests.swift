import Coffer
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// The code in the documents is compiled and run.
@Suite("Documents: the code in them")
struct GettingStartedTests {
    /// The articles with code.
    private static let articles = [
        "GettingStarted", "Tokens", "Files", "Recipes", "RemoteCommands", "Testing",
    ]

    @Test("The tutorial runs from the first vault to the wipe")
    func tutorial() async throws {
        let scratch = try ScratchDirectory.make()
        let location = VaultLocation(path: scratch.path.appending("home"))
        let passcode = try Passcode(copying: "correct horse 7")
        var options = GettingStarted.options()
        options.cost = .floor
        // Among a thousand other tests, under a sanitizer, this one may wait longer than the example's time.
        options.inactivity = .seconds(86_400)

        let vault = try await GettingStarted.create(at: location, options: options, passcode: passcode)
        #expect(try await GettingStarted.setToken("key", in: vault) == "key")
        let login = GettingStarted.Login(user: "ada", password: "secret")
        let loginID = try TokenID(service: "mail.example.org", account: "ada")
        #expect(try await GettingStarted.putLogin(login, for: loginID, in: vault) == login)
        let id = try TokenID(service: "api.example.org", account: "ada", kind: .refresh)
        let stored = try await GettingStarted.putToken(in: vault)
        #expect(stored == .stored(version: 1))
        #expect(
            try await GettingStarted.useToken(id, in: vault) == "Bearer the token as the server sent it")
        try await GettingStarted.replaceToken(id, stored, in: vault)
        #expect(try await vault.tokens.info(for: id)?.version == 2)
        let stale = await #expect(throws: CofferError.self) {
            try await GettingStarted.replaceToken(id, stored, in: vault)
        }
        #expect(stale?.code == .conflict && stale?.currentVersion == 2)
        let fresh = try await GettingStarted.refreshToken(id, in: vault) { _ in try Token(copying: "fresh") }
        #expect(fresh?.didRefresh == true && fresh?.info.version == 3)
        #expect(try await GettingStarted.copyToken(id, in: vault) == Array("fresh".utf8))

        let path = scratch.path.pushing(GettingStarted.path())
        try scratch.write("report.pdf", Array("report".utf8))
        let file = try await GettingStarted.addFile(path, to: vault)
        let note = try await GettingStarted.addBytes(to: vault)
        #expect(try await GettingStarted.firstBytes(of: note, in: vault) == Array("call".utf8))
        #expect(try await GettingStarted.firstBytes(of: file, in: vault) == Array("repo".utf8))
        #expect(try await GettingStarted.countBytes(of: file, in: vault) == 6)
        let seen = try await GettingStarted.view(file, in: vault)
        #expect(seen.lastComponent == "report.pdf")
        #expect(!FileManager.default.fileExists(atPath: seen.string))

        GettingStarted.lock(vault)
        let locked = await #expect(throws: CofferError.self) {
            _ = try await GettingStarted.useToken(id, in: vault)
        }
        #expect(locked?.code == .locked)
        let wrong = try Passcode(copying: "wrong horse 7")
        #expect(try await GettingStarted.unlock(vault, with: wrong) == "wrong, 9 attempts left")
        #expect(try await GettingStarted.unlock(vault, with: passcode) == "open")
        try await GettingStarted.keepAndUse("secret", at: location, passcode: passcode)

        let receipt = try await GettingStarted.wipe(vault)
        #expect(receipt.reason == "logged out" && receipt.removed["keys"] == 4)
        #expect(try await GettingStarted.unlock(vault, with: passcode) == "erased; make a new vault")
        #expect(try await Vault.status(at: location).state == .wiped)
    }

    @Test("A token gets an expiry date, tokens are listed, and a file is found by its name")
    func lists() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let id = try TokenID(service: "api.example.org", account: "ada")
        #expect(try await GettingStarted.expire("key", for: id, in: vault) == false)
        try await GettingStarted.listTokens(in: vault)
        #expect(try await GettingStarted.findFile(in: vault) == nil)
        let report = try await vault.files.add(Array("report".utf8), name: "report.pdf")
        _ = try await GettingStarted.addBytes(to: vault)
        #expect(try await GettingStarted.findFile(in: vault) == report)
    }

    @Test("An app creates its vault at the first start, and opens it from then on")
    func openOrCreate() async throws {
        let scratch = try ScratchDirectory.make()
        let location = VaultLocation(path: scratch.path.appending("home"))
        let passcode = try Passcode(copying: "correct horse 7")
        var options = GettingStarted.options()
        options.cost = .floor
        options.inactivity = .seconds(86_400)
        let first = try await GettingStarted.openOrCreate(at: location, options: options, passcode: passcode)
        let next = try await GettingStarted.openOrCreate(at: location, options: options, passcode: passcode)
        #expect(first.vaultID == next.vaultID && next.isUnlocked)
    }

    @Test("A consumer's test runs with a vault and a clock of its own")
    func consumersTest() async throws { try await GettingStarted.testing() }

    @Test(
        "Each document prints the code that was compiled",
        arguments: ["README.md"] + articles.map { "Sources/Coffer/Coffer.docc/\($0).md" })
    func printed(document: String) throws {
        let files = [
            "GettingStarted", "TokenGuide", "FileGuide", "RecipeGuide", "RemoteCommandGuide", "TestingGuide",
            "ClientTestGuide",
        ].map { "Tests/CofferTests/Documentation/\($0).swift" }
        let snippets = try Snippets.compiled(in: files)
        let blocks = try Snippets.shown(in: document)
        #expect(!blocks.isEmpty, "\(document) shows no compiled code.")
        for (name, code) in blocks {
            let compiled = try #require(snippets[name], "There is no snippet \(name).")
            // In the documents functions stand alone; here they are members.
            let plain = compiled.map { $0.replacing(/^static func/, with: "func") }
            #expect(code == plain, "\(document) shows another \(name).")
        }
    }

    @Test("The articles mark every block of Swift", arguments: articles)
    func marked(article: String) throws {
        let path = "Sources/Coffer/Coffer.docc/\(article).md"
        #expect(try Snippets.shown(in: path).count == Snippets.blockCount(in: path))
    }

    @Test("The article on the security model names sections that SECURITY.md has")
    func sections() throws {
        let article = try text(of: "Sources/Coffer/Coffer.docc/SecurityModel.md")
        let headings = try text(of: "SECURITY.md").split(separator: "\n").compactMap { line in
            line.wholeMatch(of: /#+ ([0-9.]*[0-9])\.? .*/).map { String($0.1) }
        }
        let named = article.matches(of: /section ([0-9.]*[0-9])/).map { String($0.1) }
        #expect(named.count >= 10)
        for section in named {
            #expect(headings.contains(section), "SECURITY.md has no section \(section).")
        }
    }

    private func text(of path: String) throws -> String {
        try String(contentsOfFile: PackageRoot.path + path, encoding: .utf8)
    }
}
