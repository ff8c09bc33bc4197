import Coffer
import CofferBase
import CofferOAuth
import CofferTesting
import Synchronization
import Testing
import TestSupport

/// Runs the code of the article on the first request, and compares it with the article.
@Suite("Documents: the article on the first request")
struct FirstRequestGuideTests {
    /// What the user was shown last.
    private final class Screen: Sendable {
        private let text = Mutex("")
        var last: String { text.withLock { $0 } }
        func show(_ line: String) { text.withLock { $0 = line } }
    }

    @Test("The article's code runs from the profile to signing out")
    func article() async throws {
        try await SignInBench.with { bench in
            let screen = Screen()
            let show: @Sendable (String) -> Void = { screen.show($0) }
            try await bench.oauth.profiles.remove("work")
            bench.authority.change { $0.claims["aud"] = "desktop" }
            try await FirstRequestGuide.profile(bench.oauth)
            _ = try await FirstRequestGuide.browser(bench.oauth, show: show)
            try await FirstRequestGuide.secret(bench.oauth, secret: Token(copying: "secret"))
            _ = try await FirstRequestGuide.paste(bench.oauth, show: show) {
                () async throws(CofferError) -> Token in
                let url = screen.last.parts(between: " ").last ?? ""
                return try Token(copying: bench.authority.authorize(HTTPSURL(url)))
            }
            _ = try await FirstRequestGuide.device(bench.oauth, show: show)
            #expect(screen.last == SignInPrompt.deviceWarning)
            let grant = try await FirstRequestGuide.again(bench.temporary.vault, bench.oauth)
            #expect(try await FirstRequestGuide.request(grant).status == 200)
            let exchange = try #require(bench.authority.exchanges("/me").last)
            #expect(exchange.header("Authorization") == "Bearer access")
            #expect(try await FirstRequestGuide.token(grant) == "access".utf8.count)
            try await FirstRequestGuide.leave(grant, show: show)
            #expect(try await bench.oauth.grants().isEmpty)
        }
    }

    @Test("The article's code opens a new vault, which has no sessions")
    func open() async throws {
        let scratch = try ScratchDirectory.make()
        let location = try VaultLocation(path: scratch.path(of: "home"))
        let oauth = try await FirstRequestGuide.open(at: location, passcode: nil)
        #expect(try await oauth.grants().isEmpty)
    }

    @Test("The article prints the code that was compiled")
    func printed() throws {
        let article = "Sources/CofferOAuth/CofferOAuth.docc/FirstRequest.md"
        let shown = try Snippets.shown(in: article)
        let source = "Tests/CofferOAuthTests/Documentation/FirstRequestGuide.swift"
        let compiled = try Snippets.compiled(in: [source])
        #expect(try shown.count == 10 && Snippets.blockCount(in: article) == 11)
        for (name, text) in shown {
            let snippet = try #require(compiled[name], "There is no snippet \(name).")
            #expect(text == snippet, "The article shows another \(name).")
        }
    }
}
