import Coffer
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// The code in the documents is compiled and run.
@Suite("Documents: the code in them")
struct GettingStartedTests {
    @Test("The tutorial runs from the first vault to the wipe")
    func tutorial() async throws {
        let scratch = try ScratchDirectory.make()
        let location = VaultLocation(path: scratch.path.appending("home"))
        let passcode = try Passcode(copying: "correct horse 7")
        var options = GettingStarted.options()
        options.cost = .floor
        // Among a thousand other tests, under a sanitizer, this one may wait longer than the example's time.
        options.inactivity = .seconds(86_400)

        let session = try await GettingStarted.create(at: location, options: options, passcode: passcode)
        let id = try TokenID(service: "api.example.org", account: "ada", kind: .refresh)
        let stored = try await GettingStarted.putToken(in: session)
        #expect(stored == .stored(version: 1))
        #expect(
            try await GettingStarted.useToken(id, in: session) == "Bearer the token as the server sent it")
        try await GettingStarted.replaceToken(id, stored, in: session)
        #expect(try await session.tokens.info(for: id)?.version == 2)
        let stale = await #expect(throws: CofferError.self) {
            try await GettingStarted.replaceToken(id, stored, in: session)
        }
        #expect(stale?.code == .conflict && stale?.currentVersion == 2)

        try scratch.write("report.txt", Array("report".utf8))
        let path = scratch.path.appending("report.txt")
        let file = try await GettingStarted.addFile(path, to: session)
        #expect(try await GettingStarted.firstBytes(of: file, in: session) == Array("repo".utf8))
        let seen = try await GettingStarted.view(file, in: session)
        #expect(seen.lastComponent == "report.txt")
        #expect(!FileManager.default.fileExists(atPath: seen.string))

        GettingStarted.lock(session)
        let locked = await #expect(throws: CofferError.self) {
            _ = try await GettingStarted.useToken(id, in: session)
        }
        #expect(locked?.code == .locked)
        let wrong = try Passcode(copying: "wrong horse 7")
        #expect(try await GettingStarted.unlock(session, with: wrong) == "wrong, 9 attempts left")
        #expect(try await GettingStarted.unlock(session, with: passcode) == "open")
        try await GettingStarted.keepAndUse("secret", at: location, passcode: passcode)

        let receipt = try await GettingStarted.wipe(session)
        #expect(receipt.reason == "logged out" && receipt.removed["keys"] == 4)
        #expect(try await GettingStarted.unlock(session, with: passcode) == "erased; make a new vault")
        #expect(try await Vault.status(at: location).state == .wiped)
    }

    @Test("A consumer's test runs with a vault and a clock of its own")
    func consumersTest() async throws { try await GettingStarted.testing() }

    @Test(
        "Each document prints the code that was compiled",
        arguments: [
            "README.md", "Sources/Coffer/Coffer.docc/GettingStarted.md",
            "Sources/Coffer/Coffer.docc/Testing.md",
        ])
    func printed(document: String) throws {
        let files = ["GettingStarted", "TestingGuide"].map { "Tests/CofferTests/Documentation/\($0).swift" }
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

    @Test("The articles mark every block of Swift", arguments: ["GettingStarted", "Testing"])
    func marked(article: String) throws {
        let path = "Sources/Coffer/Coffer.docc/\(article).md"
        #expect(try Snippets.shown(in: path).count == Snippets.blockCount(in: path))
    }
}
