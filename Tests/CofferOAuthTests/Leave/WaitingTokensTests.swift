@testable import Coffer
@testable import CofferOAuth
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import Testing
import TestSupport

@Suite("Tokens that wait to be revoked")
struct WaitingTokensTests {
    private static let revoke = UseBench.login + "/revoke"
    private static let other = "https://other.example.org"

    /// A profile of the same name for another server, with the same endpoints, so that every request shows.
    private static func otherServer(_ bench: UseBench) async throws -> ServerEndpoints {
        let pinned = try UseBench.profile().endpoints
        var profile = try OAuthProfile(
            "work", issuer: other, clientID: "desktop", resourceHosts: ["api.example.org"])
        profile.endpoints = pinned
        return try await ServerEndpoints.load(
            profile, from: ProfileStore(bench.vault, managed: nil), transport: bench.server,
            clock: bench.clock.source)
    }

    @Test("A session's tokens never go to another issuer than their own, not even after a new sign-in")
    func otherIssuer() async throws {
        try await UseBench.with { bench in
            let endpoints = try await Self.otherServer(bench)
            let options = LogoutOptions(endSession: true)
            let receipt = try await Logout(bench.store, clock: bench.clock.source)
                .run(UseBench.id, options, at: endpoints)
            #expect(receipt.refreshToken == .pending && receipt.accessToken == .pending)
            #expect(!receipt.isRevokedAtServer && receipt.endSessionURL == nil)
            // A session of the other server, with the same name.
            let record = try GrantRecord(issuer: Self.other, scopes: ["api"], clock: bench.clock.source)
            try await bench.store.storeNew(
                tokens(UseBench.renewal), record: record, dpopKey: nil, for: UseBench.id, storage: .all,
                clock: bench.clock.source)
            let pending = PendingRevocations(bench.store, clock: bench.clock.source)
            #expect(try await pending.retry(UseBench.id, at: endpoints) == 2)
            #expect(bench.server.requests().isEmpty)
            #expect(try await pending.retry(UseBench.id, at: bench.endpoints) == 0)
            let sent = bench.server.requests(Self.revoke).map { $0.form("token") }
            #expect(sent == ["refresh-1", "access-1"])
        }
    }

    @Test("Nor to endpoints that were entered after the sign-in for the same issuer")
    func otherEndpoint() async throws {
        try await UseBench.with { bench in
            try await bench.store.update(UseBench.id) { (record) throws(CofferError) in
                record.tokenEndpoint = UseBench.tokenURL
            }
            let profiles = ProfileStore(bench.vault, managed: nil)
            func server(_ token: String?) async throws -> ServerEndpoints {
                var profile = try UseBench.profile()
                profile.endpoints?.urls[.token] = try token.map { (url) in try HTTPSURL(url) }
                return try await ServerEndpoints.load(
                    profile, from: profiles, transport: bench.server, clock: bench.clock.source)
            }
            let changed = try await server(UseBench.login + "/other")
            let receipt = try await Logout(bench.store, clock: bench.clock.source)
                .run(UseBench.id, at: changed)
            #expect(receipt.refreshToken == .pending && receipt.accessToken == .pending)
            let pending = PendingRevocations(bench.store, clock: bench.clock.source)
            #expect(try await pending.retry(UseBench.id, at: changed) == 2)
            #expect(try await pending.retry(UseBench.id, at: server(nil)) == 2)
            #expect(bench.server.requests().isEmpty)
            #expect(try await pending.retry(UseBench.id, at: bench.endpoints) == 0)
            #expect(bench.server.requests(Self.revoke).count == 2)
        }
    }

    /// The form of version 1, without issuers.
    private func older(_ texts: String..., added: Duration = .seconds(7)) throws -> Token {
        var bytes: [UInt8] = [1, UInt8(texts.count)]
        for text in texts {
            bytes += [TokenKind.refresh.rawValue] + added.components.seconds.bigEndianBytes
            bytes += UInt32(text.utf8.count).bigEndianBytes + [UInt8](text.utf8)
        }
        return try Token(copying: bytes)
    }

    @Test("A list without issuers takes that of the session that is stored, and no later one's")
    func olderList() async throws {
        try await UseBench.with { bench in
            let (store, row) = (bench.store, try UseBench.id.revokeRow)
            try await store.tokens.putReserved(
                try older("old"), for: row, class: .whenUnlockedThisDeviceOnly)
            #expect(try await store.pendingRevocations(UseBench.id).map(\.issuer) == [UseBench.login])
            let record = try GrantRecord(issuer: Self.other, scopes: ["api"], clock: bench.clock.source)
            try await store.storeNew(
                tokens(UseBench.renewal), record: record, dpopKey: nil, for: UseBench.id, storage: .all,
                clock: bench.clock.source)
            let issuers = try await store.pendingRevocations(UseBench.id).map(\.issuer)
            #expect(issuers == [UseBench.login, UseBench.login, UseBench.login])
            try await store.remove(UseBench.id)
            try await store.tokens.remove(row)
            // Without a session, nobody knows the issuer, and a later session does not change that.
            try await store.tokens.putReserved(
                try older("old", added: bench.clock.source.wallClock()), for: row,
                class: .whenUnlockedThisDeviceOnly)
            try await bench.signIn()
            #expect(try await store.pendingRevocations(UseBench.id).map(\.issuer) == [nil])
            let pending = PendingRevocations(store, clock: bench.clock.source)
            #expect(try await pending.retry(UseBench.id, at: bench.endpoints) == 1)
            #expect(bench.server.requests().isEmpty)
        }
    }

    @Test("A list is read as it was written, and a damaged or newer one is refused")
    func list() throws {
        let entries = [
            PendingRevocation(
                .refresh, try Token(copying: "a"), issuer: "https://é", tokenEndpoint: "https://é/t",
                added: .seconds(1)),
            PendingRevocation(.access, try Token(copying: "b"), issuer: nil, added: .seconds(2)),
        ]
        let stored = try PendingRevocation.encoded(entries)
        let read = try PendingRevocation.decoded(stored, issuerOfOlder: "https://older")
        #expect(read.map(\.issuer) == ["https://é", nil] && read.map(\.kind) == [.refresh, .access])
        #expect(read.map(\.tokenEndpoint) == ["https://é/t", nil])
        #expect(read.map { text($0.token) } == ["a", "b"] && read.map(\.added) == entries.map(\.added))
        let whole = stored.exposing { $0.copied() }
        for count in 2..<whole.count {
            let part = try Token(copying: Array(whole[..<count]))
            let error = failure { _ = try PendingRevocation.decoded(part, issuerOfOlder: nil) }
            #expect(error == .corrupt, "\(count)")
        }
        let head: [UInt8] = [2, 1, TokenKind.access.rawValue] + Int64(5).bigEndianBytes
        let second = head + UInt32(1).bigEndianBytes + UInt32(1).bigEndianBytes + Array("ia".utf8)
        let earlier = try PendingRevocation.decoded(Token(copying: second), issuerOfOlder: "https://older")
        #expect(earlier.map(\.issuer) == ["i"] && earlier.map(\.tokenEndpoint) == [nil])
        #expect(earlier.map { text($0.token) } == ["a"])
        let newer = try Token(copying: [4, 0])
        let error = failure { _ = try PendingRevocation.decoded(newer, issuerOfOlder: nil) }
        #expect(error == .unsupportedVersion)
    }

    @Test("However long the tokens are that wait, a session can be signed out: the oldest ones make room")
    func longTokens() async throws {
        try await UseBench.with { bench in
            let names = (0..<12).flatMap { [("refresh", $0), ("access", $0)] }
            for (kind, number) in names {
                let name = "\(kind)-\(number)-"
                let filler = String(repeating: "x", count: WireText.maxTokenByteCount - name.utf8.count)
                let entry = PendingRevocation(
                    kind == "refresh" ? .refresh : .access, try Token(copying: name + filler),
                    issuer: UseBench.login, added: bench.clock.source.wallClock())
                try await bench.store.addPendingRevocations([entry], of: UseBench.id)
            }
            let receipt = try await Logout(bench.store, clock: bench.clock.source).run(UseBench.id, at: nil)
            #expect(receipt.refreshToken == .pending && receipt.accessToken == .pending)
            #expect(try await bench.state() == nil)
            let waiting = try await bench.store.pendingRevocations(UseBench.id).map {
                String((text($0.token) ?? "").prefix(10))
            }
            #expect(waiting.suffix(3) == ["access-11-", "refresh-1", "access-1"])
            #expect(waiting.count > 12 && !waiting.contains("refresh-0-"))
        }
    }

    @Test("Before the endpoints are known, tokens wait")
    func undiscovered() async throws {
        try await UseBench.with({ $0.endpoints = nil }) { bench in
            let receipt = try await Logout(bench.store, clock: bench.clock.source)
                .run(UseBench.id, at: bench.endpoints)
            #expect(receipt.refreshToken == .pending)
            #expect(try await bench.store.pendingRevocations(UseBench.id).count == 2)
        }
    }

    @Test("After an answer that judges nothing, no further token is sent")
    func uncertain() async throws {
        try await UseBench.with { bench in
            bench.server.answer(Self.revoke, .json("", 503))
            let receipt = try await Logout(bench.store, clock: bench.clock.source)
                .run(UseBench.id, at: bench.endpoints)
            #expect(receipt.refreshToken == .pending && receipt.accessToken == .pending)
            #expect(bench.server.requests(Self.revoke).count == 1)
            let pending = PendingRevocations(bench.store, clock: bench.clock.source)
            #expect(try await pending.retry(UseBench.id, at: bench.endpoints) == 2)
            #expect(bench.server.requests(Self.revoke).count == 2)
        }
    }

    @Test("A damaged token does not keep the session from being signed out")
    func damaged() async throws {
        try await UseBench.with { bench in
            let core = bench.vault.core
            let file = TokenFile(device: core.device)
            let vault = try core.home.openVault()
            var contents = try file.read(in: vault).contents
            let name = try bench.vault.tokens.name(of: UseBench.id.tokenID(.access))
            try #require(contents.envelopes[name] != nil)
            contents.envelopes[name]?[110] ^= 1
            try file.write(contents, in: vault)
            let receipt = try await Logout(bench.store, clock: bench.clock.source)
                .run(UseBench.id, at: bench.endpoints)
            #expect(receipt.refreshToken == .revoked && receipt.accessToken == .notRevoked)
            #expect(try await bench.state() == nil)
            #expect(try await bench.vault.tokens.listing().corrupt.isEmpty)
        }
    }

    @Test("What waits is said, and whether a profile for its server is there")
    func said() async throws {
        try await SignInBench.with { (bench) async throws in
            try await bench.signIn()
            #expect(try await bench.oauth.waitingTokens().isEmpty)
            _ = try await Logout(bench.grants, clock: bench.temporary.clock.source)
                .run(SignInBench.id, LogoutOptions(stores: .keep), at: nil)
            let first = try await bench.oauth.waitingTokens()
            #expect(first.map(\.count) == [2] && first.map(\.hasServer) == [true])
            #expect(first.map(\.profile) == ["work"] && first.map(\.account) == ["ada"])
            _ = try await bench.oauth.profiles.remove("work")
            #expect(try await bench.oauth.waitingTokens().map(\.hasServer) == [false])
            try await bench.oauth.resumeLogouts()
            #expect(try await bench.oauth.waitingTokens().map(\.count) == [2])
            // Added again, the profile has no endpoints yet; they are asked for.
            try await bench.oauth.add(
                OAuthProfile(
                    "work", issuer: TestAuthority.issuer, clientID: TestAuthority.clientID,
                    resourceHosts: ["api.example.org"]))
            try await bench.oauth.resumeLogouts()
            #expect(bench.authority.exchanges("/revoke").map { $0.field("token") } == ["refresh", "access"])
            #expect(try await bench.oauth.waitingTokens().isEmpty)
        }
    }
}
