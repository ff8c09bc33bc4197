@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import Synchronization

/// Everything that a sign-in needs: a vault, a server, a user with a browser.
struct SignInBench {
    static let id = GrantID(profile: "work", account: "ada")
    static let secret = "p ss+%é"
    /// A private key that exists only for these tests.
    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWJN205BDdJXk15oA
        VdET7z70CUZipa7nb+8xP7EdQs+hRANCAASVaiaMzkbjQb1nVAfkozM1kDvEnsLS
        bYe/I5TSesIGjGHD5N+RruJfw10mOCT4+1+pmsG2UJkEkmqN0jUCb/4m
        -----END PRIVATE KEY-----
        """

    /// What the user saw, and the times for which the client waited.
    final class Log: Sendable {
        private let state = Mutex<(prompts: [SignInPrompt], pauses: [Duration])>(([], []))

        var prompts: [SignInPrompt] { state.withLock { $0.prompts } }
        var pauses: [Duration] { state.withLock { $0.pauses } }

        func note(_ prompt: SignInPrompt) { state.withLock { $0.prompts.append(prompt) } }
        func note(_ pause: Duration) { state.withLock { $0.pauses.append(pause) } }

        /// The URL that the user was shown last.
        var url: HTTPSURL? {
            switch prompts.last {
            case .browser(let url), .openYourself(let url), .paste(let url): url
            default: nil
            }
        }
    }

    let oauth: OAuth
    let authority: TestAuthority
    let temporary: TemporaryVault
    let log: Log

    var grants: GrantStore { GrantStore(temporary.vault) }

    /// Creates the bench with a profile, and passes it to `body`.
    static func with(
        _ authentication: ClientAuthentication = .none, scopes: [String] = ["api", "openid"],
        storage: GrantStorage = .all, keyProof: KeyProofUse = .whenOffered, revokedCodes: [String] = [],
        hasBrowser: Bool = true, managed: ManagedConfiguration? = nil, policy: GrantPolicy = .untilRevoked,
        _ body: (SignInBench) async throws -> Void
    ) async throws {
        try await TemporaryVault.with { temporary in
            let authority = try TestAuthority(temporary.clock)
            let (clock, log) = (temporary.clock, Log())
            let actions = SignInFlow.Actions(
                openBrowser: { (url: HTTPSURL) async throws(CofferError) -> Void in
                    guard hasBrowser else { throw CofferError(.unsupported, "There is no browser.") }
                    try await visit(url, authority)
                },
                pause: { (time: Duration) async throws(CofferError) -> Void in
                    log.note(time)
                    clock.advance(by: time)
                })
            let oauth = OAuth(
                temporary.vault, managed: managed, transport: authority, clock: clock.source,
                actions: actions)
            var profile = try OAuthProfile(
                "work", issuer: TestAuthority.issuer, clientID: TestAuthority.clientID, scopes: scopes,
                authentication: authentication, resourceHosts: ["api.example.org"])
            profile.storage = storage
            profile.policy = policy
            profile.keyProof = keyProof
            profile.quirks.revokedCodes = revokedCodes
            try await oauth.add(profile)
            try await oauth.profiles.set(Token(copying: secret), as: .secret, of: "work")
            try await oauth.profiles.set(Token(copying: key), as: .key, of: "work")
            try await oauth.profiles.set(Token(copying: "chain"), as: .certificate, of: "work")
            try await body(
                SignInBench(oauth: oauth, authority: authority, temporary: temporary, log: log))
        }
    }

    /// Signs in at the server and goes where it leads, as a browser does.
    private static func visit(_ url: HTTPSURL, _ authority: TestAuthority) async throws(CofferError) {
        let target = try authority.authorize(url)
        let rest = target.utf8.dropFirst("http://".utf8.count)
        let host = String(decoding: rest.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
        let path = String(decoding: rest.dropFirst(host.utf8.count), as: UTF8.self)
        let port = UInt16(host.parts(between: ":").last ?? "") ?? 0
        for page in [path, "/done"] {
            do {
                let connection = try LoopbackConnection.connecting(
                    to: .ipv4, port: port, deadline: SignInRun.deadline)
                let head = "GET \(page) HTTP/1.1\r\nHost: \(host)\r\n\r\n"
                _ = try await SignInRun.ask(connection, Array(head.utf8))
            } catch {
                // After a refused redirect, the listener is closed.
                guard page.hasSameBytes(as: "/done") else {
                    throw CofferError(.inputOutput, "The browser could not go to \(host): \(error)")
                }
            }
        }
    }

    /// The way of a user who pastes the last page's address.
    var paste: SignInWay {
        .pastedRedirect { [self] () async throws(CofferError) -> Token in
            guard let url = log.url else { throw CofferError(.absent, "The user was shown no URL.") }
            return try Token(copying: authority.authorize(url))
        }
    }

    @discardableResult
    func signIn(by way: SignInWay? = nil) async throws(CofferError) -> Grant {
        try await oauth.signIn("work", account: "ada", by: way ?? paste) { log.note($0) }
    }

    /// The code of the error with which a sign-in ends; `nil` if it succeeds.
    func failure(by way: SignInWay? = nil) async -> CofferError? {
        do throws(CofferError) {
            try await signIn(by: way)
            return nil
        } catch {
            return error
        }
    }

    /// Whether the vault contains anything of a session.
    func hasSession() async throws -> Bool {
        let rows = try await temporary.vault.tokens.listing().tokens.map(\.id.service)
        return rows.contains { $0.utf8.starts(with: "oauth:".utf8) }
    }
}
