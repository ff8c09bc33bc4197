@testable import CofferOAuth
import Coffer
import CofferBase
import CofferTesting
import SystemPackage
import Testing

@Suite("Signing out")
struct LogoutTests {
    private static let revoke = UseBench.login + "/revoke"

    private func logOut(
        _ bench: UseBench, _ options: LogoutOptions = LogoutOptions(), isOffline: Bool = false
    ) async throws -> LogoutReceipt {
        try await Logout(bench.store, clock: bench.clock.source)
            .run(UseBench.id, options, at: isOffline ? nil : bench.endpoints)
    }

    /// The tokens of the session that are stored, whatever its state.
    private func stored(_ store: GrantStore) async throws -> [String] {
        var found: [String] = []
        for kind in [TokenKind.refresh, .access, .id] {
            if let token = try await store.tokens.get(UseBench.id.tokenID(kind))?.token {
                found.append(text(token) ?? "")
            }
        }
        return found
    }

    @Test("The refresh token is revoked, then the access token, and nothing is left")
    func order() async throws {
        try await UseBench.with { bench in
            let other = try TokenID(service: "mail", account: "ada")
            try await bench.vault.tokens.put("secret", for: other)
            let receipt = try await logOut(bench)
            let requests = bench.server.requests(Self.revoke)
            #expect(requests.map { $0.form("token") } == ["refresh-1", "access-1"])
            #expect(requests.map { $0.form("token_type_hint") } == ["refresh_token", "access_token"])
            #expect(receipt.refreshToken == .revoked)
            #expect(receipt.accessToken == .revoked)
            #expect(receipt.isRevokedAtServer)
            #expect(receipt.endSessionURL == nil)
            #expect(try await bench.vault.tokens.list().map(\.id) == [other])
            let again = try await logOut(bench)
            #expect(again.refreshToken == .absent)
            #expect(bench.server.requests(Self.revoke).count == 2)
        }
    }

    @Test("Without a network, the tokens wait, cannot be used, and are revoked at the next contact")
    func offline() async throws {
        try await UseBench.with { bench in
            bench.server.answer(Self.revoke, .unreachable)
            let receipt = try await logOut(bench)
            #expect(receipt.refreshToken == .pending)
            #expect(receipt.accessToken == .pending)
            #expect(bench.server.requests(Self.revoke).count == 1)
            let use = await useFailure { _ = try await bench.session.current(minimumLife: .zero) }
            #expect(use?.code == .signInNeeded)
            #expect(try await stored(bench.store).isEmpty)
            #expect(try await bench.store.listPendingRevocations() == [UseBench.id])
            let pending = PendingRevocations(bench.store, clock: bench.clock.source)
            #expect(try await pending.retry(UseBench.id, at: bench.endpoints) == 2)
            bench.server.answer(Self.revoke, UseServer.Answer())
            #expect(try await pending.retry(UseBench.id, at: bench.endpoints) == 0)
            #expect(try await bench.vault.tokens.list().isEmpty)
        }
    }

    @Test("What waits is dropped after 30 days, and not before")
    func waiting() async throws {
        try await UseBench.with { bench in
            _ = try await logOut(bench, isOffline: true)
            let pending = PendingRevocations(bench.store, clock: bench.clock.source)
            bench.clock.advance(by: .seconds(30 * 86400 - 1))
            try await bench.vault.unlock()
            #expect(try await pending.retry(UseBench.id, at: nil) == 2)
            bench.clock.advance(by: .seconds(1))
            #expect(try await pending.retry(UseBench.id, at: nil) == 0)
            #expect(try await bench.vault.tokens.list().isEmpty)
        }
    }

    @Test(
        "invalid_token counts as revoked; other answers do not",
        arguments: [
            (400, #"{"error":"invalid_token"}"#, .revoked), (200, "anything", .revoked),
            (400, #"{"error":"unsupported_token_type"}"#, .unsupported), (503, "", .pending),
            (401, #"{"error":"invalid_client"}"#, .pending), (302, "", .pending), (400, "", .pending),
        ] as [(Int, String, LogoutReceipt.Revocation)])
    func answers(_ status: Int, _ body: String, _ fate: LogoutReceipt.Revocation) async throws {
        try await UseBench.with { bench in
            bench.server.answer(Self.revoke, .json(body, status))
            let receipt = try await logOut(bench)
            #expect(receipt.refreshToken == fate)
            #expect(receipt.accessToken == fate)
            let count = try await bench.store.pendingRevocations(UseBench.id).count
            #expect(count == (fate == .pending ? 2 : 0))
            #expect(try await bench.state() == nil)
        }
    }

    @Test("A server without an endpoint for revocation leaves nothing behind here")
    func noEndpoint() async throws {
        try await UseBench.with({ $0.endpoints?.urls[.revocation] = nil }) { bench in
            let receipt = try await logOut(bench)
            #expect(receipt.refreshToken == .unsupported && receipt.accessToken == .unsupported)
            #expect(!receipt.isRevokedAtServer && !receipt.isRevocationPending)
            #expect(try await bench.vault.tokens.list().isEmpty)
        }
    }

    @Test("The URL that ends the user's session names the client and the user, and contains no token")
    func endSession() async throws {
        try await UseBench.with { bench in
            let receipt = try await logOut(bench, LogoutOptions(endSession: true))
            #expect(
                receipt.endSessionURL?.text
                    == UseBench.login + "/logout?client_id=desktop&logout_hint=ada-1")
        }
    }

    @Test("Tokens that were never on the disk are not put there")
    func memory() async throws {
        try await UseBench.with(storage: .refreshOnly) { bench in
            let receipt = try await logOut(bench, isOffline: true)
            #expect(receipt.refreshToken == .pending)
            #expect(receipt.accessToken == .notRevoked)
            let waiting = try await bench.store.pendingRevocations(UseBench.id)
            #expect(waiting.map { text($0.token) } == ["refresh-1"])
        }
    }

    @Test("The passcode goes if that was asked for, and a wrong one stops before anything is removed")
    func passcode() async throws {
        try await TemporaryVault.with(passcode: "2468") { temporary in
            let bench = try await UseBench(temporary.vault, temporary.clock, UseBench.profile())
            try await bench.signIn()
            let wrong = LogoutOptions(passcode: try Passcode(copying: "1357"))
            let error = await useFailure { _ = try await logOut(bench, wrong) }
            #expect(error?.code == .wrongPasscode)
            #expect(try await bench.state() == "leaving")
            #expect(try await stored(bench.store).count == 2)
            #expect(bench.server.requests().isEmpty)
            bench.clock.advance(by: .seconds(60))
            let right = LogoutOptions(passcode: try Passcode(copying: "2468"))
            #expect(try await logOut(bench, right).isPasscodeRemoved)
            #expect(try await bench.state() == nil)
            temporary.vault.lock()
            try await temporary.vault.unlock()
        }
    }

    @Test("A vault that is the account's own goes as a whole, and the receipt says what the server knows")
    func ownVault() async throws {
        for isOffline in [false, true] {
            try await TemporaryVault.with { temporary in
                var options = VaultOptions()
                options.cost = .floor
                let vault = try await Vault.create(
                    at: temporary.location.namespace(of: UseBench.id.account), options: options,
                    passcode: nil, clock: temporary.clock.source)
                defer { vault.close() }
                let bench = try await UseBench(vault, temporary.clock, UseBench.profile())
                try await bench.signIn()
                let receipt = try await logOut(bench, isOffline: isOffline)
                #expect(receipt.isNamespaceWiped)
                #expect(receipt.refreshToken == (isOffline ? .notRevoked : .revoked))
                #expect(receipt.isRevokedAtServer == !isOffline)
                #expect(await useFailure { _ = try await bench.state() }?.code == .wiped)
            }
        }
    }

    @Test("With the account's stores kept, only the session goes")
    func keptStores() async throws {
        try await TemporaryVault.with { temporary in
            var options = VaultOptions()
            options.cost = .floor
            let own = try await Vault.create(
                at: temporary.location.namespace(of: UseBench.id.account), options: options, passcode: nil,
                clock: temporary.clock.source)
            defer { own.close() }
            let bench = try await UseBench(temporary.vault, temporary.clock, UseBench.profile())
            try await bench.signIn()
            let receipt = try await logOut(bench, LogoutOptions(stores: .keep))
            #expect(!receipt.isNamespaceWiped)
            #expect(try await own.tokens.count() == 0)
            try await bench.signIn()
            #expect(try await logOut(bench).isNamespaceWiped)
            #expect(await useFailure { _ = try await own.tokens.count() }?.code == .wiped)
        }
    }

    @Test("A session that is being signed out cannot be used or renewed")
    func leaving() async throws {
        try await UseBench.with { bench in
            try await bench.store.update(UseBench.id) { (record) throws(CofferError) in
                record.state = .leaving(step: LogoutStep(.stores, removesStores: true).text)
            }
            let url = try HTTPSURL(UseBench.api)
            let use = await useFailure { _ = try await bench.client.send(OAuthRequest(.get, url)) }
            #expect(use?.code == .signInNeeded)
            #expect(bench.server.requests().isEmpty)
            let (receipts, failure) = try await Logout(bench.store, clock: bench.clock.source)
                .resume { _ in bench.endpoints }
            #expect(failure == nil && receipts.map(\.refreshToken) == [.revoked])
            #expect(try await bench.vault.tokens.list().isEmpty)
        }
    }

    @Test("Steps are stored and read, and an unknown one begins again")
    func steps() {
        for name in LogoutStep.Name.allCases {
            for removes in [false, true] {
                let step = LogoutStep(name, removesStores: removes)
                #expect(LogoutStep(text: step.text) == step)
            }
        }
        #expect(LogoutStep(text: "") == LogoutStep(.tokens, removesStores: false))
        #expect(LogoutStep(text: "later,stores-go") == LogoutStep(.tokens, removesStores: true))
    }

    // MARK: Crashes

    /// Signs out in a process that dies after `count` changes of the storage, and then in a new one.
    ///
    /// - Returns: Whether the first process died.
    private func crash(
        after count: Int, in path: FilePath, clock: TestClock, isOffline: Bool
    ) async throws -> Bool {
        let location = VaultLocation(path: path)
        var options = VaultOptions()
        options.cost = .floor
        let fuse = LogoutCrashStorage.Fuse()
        let first = try await Vault.create(
            at: location, options: options, passcode: nil, clock: clock.source, interaction: .never,
            decoratingStorage: { LogoutCrashStorage($0, fuse) })
        let bench = try await UseBench(first, clock, UseBench.profile())
        try await bench.signIn()
        if isOffline { bench.server.answer(Self.revoke, .unreachable) }
        fuse.set(count)
        let before = fuse.count
        var isDead = true
        do {
            _ = try await logOut(bench)
            isDead = fuse.count - before == count
        } catch {
            #expect((error as? CofferError)?.code == .inputOutput, "\(count)")
        }
        first.close()

        let second = try await Vault(at: location, clock: clock.source)
        try await second.unlock()
        defer { second.close() }
        let store = GrantStore(second)
        try await checkAfterCrash(store, bench, "\(count)")
        let server = bench.server
        server.answer(Self.revoke, UseServer.Answer())
        let endpoints = try await ServerEndpoints.load(
            UseBench.profile(), from: ProfileStore(second, managed: nil), transport: server,
            clock: clock.source)
        let receipt = try await Logout(store, clock: clock.source).run(UseBench.id, at: endpoints)
        #expect(receipt.refreshToken == .revoked || receipt.refreshToken == .absent, "\(count)")
        #expect(try await second.tokens.list().isEmpty, "\(count)")
        let revoked = Set(server.requests(Self.revoke).map { $0.form("token") ?? "" })
        #expect(revoked == ["refresh-1", "access-1"], "\(count)")
        return isDead
    }

    /// After a crash, the session is as it was, or cannot be used and has lost no token.
    private func checkAfterCrash(
        _ store: GrantStore, _ bench: UseBench, _ comment: Comment
    ) async throws {
        let record = try await store.record(UseBench.id)
        let pending = try await store.pendingRevocations(UseBench.id).map { text($0.token) ?? "" }
        let known = Set(try await stored(store) + pending)
        let asked = bench.server.requests(Self.revoke).map { $0.form("token") ?? "" }
        #expect(known.union(asked).isSuperset(of: ["refresh-1", "access-1"]), comment)
        if record?.state == .paired {
            #expect(try await Set(stored(store)) == ["refresh-1", "access-1"], comment)
        } else if let record {
            #expect(record.state.name == "leaving", comment)
        }
    }

    @Test(
        "A crash after any change of the storage loses no token and no revocation", arguments: [true, false])
    func crashes(isOffline: Bool) async throws {
        try await TemporaryVault.with { temporary in
            let parent = temporary.location.path.removingLastComponent()
            var count = 1
            while count < 64 {
                let path = parent.appending("crash\(count)")
                guard
                    try await crash(
                        after: count, in: path, clock: temporary.clock, isOffline: isOffline)
                else { break }
                count += 1
            }
            // State, tokens, step, rows, and at the end the list of tokens.
            #expect((6..<64).contains(count))
        }
    }
}
