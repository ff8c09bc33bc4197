public import Coffer
public import CofferBase
import CofferCrypto

extension OAuth {
    /// Continues what an earlier run of the program could not finish: erases the data of sessions that ended,
    /// signs out the sessions whose signing out was interrupted, and revokes tokens whose server could not be
    /// reached.
    ///
    /// Call this method when the program starts and when the network comes back.
    ///
    /// - Returns: The receipts of the sessions that were signed out. ``waitingTokens()`` says which tokens
    ///   still wait.
    /// - Throws: `locked`, `wiped`, `busy`, `corrupt`, `timedOut`, `noSpace` or `readOnly`, the first of the
    ///   errors after everything was tried.
    @discardableResult
    public nonisolated func resumeLogouts() async throws(CofferError) -> [LogoutReceipt] {
        let (receipts, failure) = try await resumeLogoutsCollecting()
        if let failure { throw failure }
        return receipts
    }

    /// Does what ``resumeLogouts()`` does, and returns the first error together with the receipts.
    ///
    /// - Throws: `locked`, `wiped` or `corrupt` if the sessions cannot be listed.
    package nonisolated func resumeLogoutsCollecting() async throws(CofferError) -> (
        receipts: [LogoutReceipt], failure: CofferError?
    ) {
        let context = context
        var failure: CofferError?
        for id in try await context.grants.list() {
            do throws(CofferError) {
                try await context.sessionEnd.resume(id)
            } catch {
                failure = failure ?? error
            }
        }
        let resumed = try await Logout(context.grants, clock: context.clock, events: context.events)
            .resume { profile in try? await context.server(of: profile) }
        failure = failure ?? resumed.failure
        let pending = PendingRevocations(context.grants, clock: context.clock)
        // A server is asked for its endpoints at most once.
        var servers: [GrantID: ServerEndpoints?] = [:]
        for id in try await context.grants.listPendingRevocations() {
            let profile = GrantID(profile: id.profile, account: "")
            do throws(CofferError) {
                if servers[profile] == nil {
                    servers[profile] = .some(try? await context.pinnedServer(of: id.profile))
                }
                try await pending.retry(id, at: servers[profile] ?? nil)
            } catch {
                failure = failure ?? error
            }
        }
        return (resumed.receipts, failure)
    }

    /// Returns the tokens that wait to be revoked. Nothing is sent.
    ///
    /// - Returns: An element for each session to which such tokens belonged.
    /// - Throws: `locked`, `wiped` or `corrupt`.
    public nonisolated func waitingTokens() async throws(CofferError) -> [WaitingTokens] {
        let context = context
        var all: [WaitingTokens] = []
        for id in try await context.grants.listPendingRevocations() {
            do throws(CofferError) {
                let entries = try await context.grants.pendingRevocations(id)
                guard !entries.isEmpty else { continue }
                let profile = try? await context.profiles.profile(id.profile)
                let isKnown = entries.allSatisfy { entry in
                    profile.map { Self.mayReceive(entry, $0) } ?? false
                }
                all.append(WaitingTokens(id, count: entries.count, hasServer: isKnown))
            } catch {
                // A list that cannot be read does not hide the others.
                guard error.code == .corrupt || error.code == .unsupportedVersion else { throw error }
                all.append(WaitingTokens(id, count: nil, hasServer: false))
            }
        }
        return all
    }

    /// Returns whether a profile's server may receive a token, as far as it is known before its discovery.
    private static func mayReceive(_ entry: PendingRevocation, _ profile: OAuthProfile) -> Bool {
        let pinned = profile.endpoints ?? PinnedEndpoints()
        let urls: [String?] = [pinned.urls[.token], pinned.mutualTLSAliases[.token]].compactMap { $0?.text }
        let known = urls.isEmpty ? [entry.tokenEndpoint] : urls
        return known.contains { entry.isFrom(profile.issuer.text, tokenEndpoint: $0) }
    }

    /// Returns a source of revocations that asks the servers whether the sessions are still active (RFC
    /// 7662), for the vault's `followRevocations`.
    ///
    /// - Returns: The source. Sessions whose profile has no endpoint for it are not asked about.
    public nonisolated func revocationSource() -> OAuthRevocationSource {
        let context = context
        return OAuthRevocationSource(context.grants, clock: context.clock, events: context.events) {
            () async throws(CofferError) -> [OAuthRevocationSource.Session] in
            var sessions: [OAuthRevocationSource.Session] = []
            for id in try await context.grants.list() {
                // A session that cannot be read does not keep the others from being asked about.
                guard let record = try? await context.grants.record(id),
                    let endpoints = try? await context.endpoints(of: record, id)
                else { continue }
                sessions.append(OAuthRevocationSource.Session(id, endpoints: endpoints))
            }
            return sessions
        }
    }

    /// Verifies a server's message that it has ended a user's sessions (OpenID Connect Back-Channel Logout
    /// 1.0), and returns the revocations to handle.
    ///
    /// - Parameters:
    ///   - token: The message, a signed JSON Web Token in its compact form.
    ///   - name: The name of the profile whose client received it.
    /// - Returns: The revocations of the sessions that the message ends.
    /// - Throws: `notAuthentic`, `refused` or `invalidInput` if the message is not as required;
    ///   `issuerMismatch` if another issuer sent it; `unsupported` if the profile has no URL of keys;
    ///   `serverUnreachable` and other errors of the server; `locked`, `wiped` or `corrupt`.
    public nonisolated func revocations(
        byLogoutToken token: Token, for name: String
    ) async throws(CofferError) -> [Revocation] {
        let endpoints = try await context.server(of: name)
        let verified = try await endpoints.verified(token, types: LogoutToken.types)
        let message = try LogoutToken(verified.claims, endpoints.profile, now: endpoints.now)
        return try await message.revocations(in: context.grants, of: endpoints.profile)
    }
}
