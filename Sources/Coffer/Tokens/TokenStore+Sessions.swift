import CofferBase
import CofferCrypto
import CofferEngine
package import CofferVault
import SystemPackage

/// What can be said of sessions at servers without the library that speaks to servers. It stores them.
extension TokenStore {
    /// The shortest time for which an access token must be valid, as for a caller that names none.
    private static let minimumLife = Duration.seconds(30)

    /// Returns a session's access token if nothing has to be sent or decided before it is used; `nil` if
    /// there is none, or if the library that renews it must be asked: the token is due, the session's state
    /// is not plain, it was signed in with another issuer, client or token endpoint than the profile's, its
    /// profile ends it at a time, or an administrator restricts this machine.
    ///
    /// - Parameters:
    ///   - profile: The name of the session's profile.
    ///   - account: The session's account; `nil` for the empty one or, if that has no such token, for the
    ///     only one that has a session of the profile.
    ///   - clock: The clock.
    /// - Returns: The token.
    /// - Throws: `invalidInput` if the names are too long; `locked`, `wiped` or `corrupt`.
    package func liveAccess(
        profile: String, account: String?, clock: VaultClock = .system
    ) async throws(CofferError) -> GrantAccess? {
        // Everything in one piece of work: each piece can take a thread of its own.
        try await BlockingExecutor.run { [self] _ throws(CofferError) -> GrantAccess? in
            if let account { return try liveAccessNow(profile, account, clock) }
            if let found = try liveAccessNow(profile, "", clock) { return found }
            let accounts = try Self.sessionAccounts(of: profile, in: listingNow())
            guard accounts.count == 1, let only = accounts.first, !only.isEmpty else { return nil }
            return try liveAccessNow(profile, only, clock)
        }
    }

    private func liveAccessNow(
        _ profile: String, _ account: String, _ clock: VaultClock
    ) throws(CofferError) -> GrantAccess? {
        let service = ReservedServices.oauth + profile
        let id = try TokenID(service: service, account: account, kind: .access)
        guard let stored = try known(id), let name = stored.info.attributes[GrantAccess.generation],
            let access = GrantAccess(stored, of: name), !access.isDue(clock, minimumLife: Self.minimumLife)
        else { return nil }
        let row = try TokenID(
            service: service + ReservedServices.grantSuffix, account: account, kind: .other)
        guard let state = try known(row).flatMap({ Self.plainState($0) }),
            state["state"]?.string?.hasSameBytes(as: "paired") == true,
            state["generation"]?.string?.hasSameBytes(as: name) == true,
            let settings = try settings(of: profile),
            settings["policy"]?.string?.hasSameBytes(as: "untilRevoked") == true,
            Self.isSession(state, of: settings), !Self.isRestricted()
        else { return nil }
        return access
    }

    /// Returns whether a session belongs to the profile: a profile of this name can have been removed and
    /// added again for another server, which must not receive the session's tokens.
    private static func isSession(_ state: JSONValue, of settings: JSONValue) -> Bool {
        guard let issuer = state["issuer"]?.string, let own = settings["issuer"]?.string,
            issuer.hasSameBytes(as: own)
        else { return false }
        // Sessions of earlier releases name neither their client nor its endpoint.
        if let client = state["clientID"] {
            guard let name = client.string, let own = settings["clientID"]?.string, name.hasSameBytes(as: own)
            else { return false }
        }
        guard let endpoint = state["tokenEndpoint"] else { return true }
        // With a client certificate, a server can have another endpoint for the same.
        let endpoints = settings["endpoints"]
        let pinned = ["urls", "mutualTLSAliases"].map { endpoints?[$0]?["token_endpoint"]?.string }
        return pinned.contains { url in
            guard let url, let name = endpoint.string else { return false }
            return name.hasSameBytes(as: url)
        }
    }

    /// Returns the accounts that have a session of a profile, also one that has ended.
    ///
    /// - Throws: `locked`, `wiped` or `corrupt`.
    package func sessionAccounts(of profile: String) async throws(CofferError) -> [String] {
        Self.sessionAccounts(of: profile, in: try await listing())
    }

    private static func sessionAccounts(of profile: String, in listing: TokenListing) -> [String] {
        let service = ReservedServices.oauth + profile + ReservedServices.grantSuffix
        return listing.tokens.map(\.id)
            .filter { $0.kind == .other && $0.service.hasSameBytes(as: service) }.map(\.account)
    }

    /// Returns whether a session's access tokens are bound to its key, so that each request with one needs a
    /// proof (RFC 9449). A session whose state cannot be read counts as one without a key.
    ///
    /// - Throws: `invalidInput` if the names are too long; `locked`, `wiped` or `corrupt`.
    package func isBoundToKey(profile: String, account: String) async throws(CofferError) -> Bool {
        let id = try TokenID(
            service: ReservedServices.oauth + profile + ReservedServices.grantSuffix, account: account,
            kind: .other)
        guard let row = try await get(id), Self.isOfKnownSender(row) else { return false }
        return Self.plainState(row)?["hasDPoPKey"]?.bool == true
    }

    /// Returns the sessions that know their server's time, and by how many seconds the server's clock is
    /// ahead of this machine's.
    ///
    /// - Throws: `locked`, `wiped` or `corrupt`.
    package func sessionClockSkews() async throws(CofferError) -> [(name: String, seconds: Int64)] {
        let (prefix, suffix) = (ReservedServices.oauth, ReservedServices.grantSuffix)
        var found: [(name: String, seconds: Int64)] = []
        for id in try await listing().tokens.map(\.id)
        where id.kind == .other && id.service.utf8.hasPrefix(prefix) && id.service.utf8.hasSuffix(suffix) {
            guard let row = try await get(id), Self.isOfKnownSender(row),
                let seconds = Self.plainState(row)?["clockSkew"]?.integer
            else { continue }
            let profile = id.service.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count)
            let account = id.account.isEmpty ? "" : "/" + id.account
            found.append((String(decoding: profile, as: UTF8.self) + account, seconds))
        }
        return found
    }

    /// Returns the names of the profiles of servers.
    ///
    /// - Throws: `locked`, `wiped` or `corrupt`.
    package func profileNames() async throws(CofferError) -> [String] {
        let prefix = ReservedServices.oauthProfile
        return try await listing().tokens.map(\.id)
            .filter { $0.kind == .other && $0.account.isEmpty && $0.service.utf8.hasPrefix(prefix) }
            .map { String(decoding: $0.service.utf8.dropFirst(prefix.utf8.count), as: UTF8.self) }
    }

    /// Returns the stored form of a profile; `nil` if there is none or if it cannot be read.
    ///
    /// - Throws: `invalidInput` if the name is too long; `locked`, `wiped` or `corrupt`.
    package func profileSettings(_ profile: String) async throws(CofferError) -> JSONValue? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in try settings(of: profile) }
    }

    private func settings(of profile: String) throws(CofferError) -> JSONValue? {
        let id = try TokenID(
            service: ReservedServices.oauthProfile + profile, account: "", kind: .other)
        guard let stored = try known(id) else { return nil }
        return try? JSONValue(parsing: stored.token.copyBytes())
    }

    /// Returns a stored value; `nil` if there is none or if its sender is unknown. Blocks.
    private func known(_ id: TokenID) throws(CofferError) -> StoredToken? {
        guard let stored = try getNow(id), Self.isOfKnownSender(stored) else { return nil }
        return stored
    }

    private static func isOfKnownSender(_ stored: StoredToken) -> Bool {
        stored.info.version != nil && !stored.info.isStoredWhileLocked
    }

    /// Returns the record in a session's row if the row has only this one. Beside it may stand a private key,
    /// which is not copied.
    private static func plainState(_ stored: StoredToken) -> JSONValue? {
        stored.token.exposing { plainState($0) }
    }

    private static func plainState(_ row: Span<UInt8>) -> JSONValue? {
        let start = 7
        guard row.count >= start, row[0] == 1, row[1] == 1, row[2] == 0 else { return nil }
        let count = Int(row.bigEndian(UInt32.self, at: 3))
        guard count <= row.count - start else { return nil }
        return try? JSONValue(parsing: row.extracting(start..<start + count).copied())
    }

    /// Whether an administrator restricts the servers of this machine, or whether that is unknown.
    private static func isRestricted() -> Bool {
        do throws(CofferError) {
            let root = try Descriptor.open("/", [.read, .directory])
            return try root.status(of: "etc/coffer/oauth.json") != nil
        } catch {
            return true
        }
    }
}
