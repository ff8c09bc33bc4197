import Coffer
import CofferBase
import CofferCrypto

/// A sign-in from the profile to the stored session.
struct SignInSession: Sendable {
    let context: OAuthContext
    let id: GrantID
    let prompt: @Sendable (SignInPrompt) async -> Void

    /// Signs in, checks the server's answer, and stores it.
    func run(_ way: SignInWay) async throws(CofferError) -> Grant {
        // The new state would replace the note that an earlier session's data is still to be erased.
        try await context.sessionEnd.resume(id)
        let profile = try await context.pinnedProfile(id.profile)
        // Before the user is asked for anything.
        _ = try await ClientIdentity.load(for: profile, from: context.profiles)
        let endpoints = try await context.endpoints(profile, proof: try proof(for: profile))
        let flow = SignInFlow(
            endpoints: endpoints, actions: context.actions, clock: context.clock, prompt: prompt)
        let hasOthers = try await !context.grants.list().isEmpty
        let answer = try await flow.run(way)
        do throws(CofferError) {
            try await keep(answer, flow)
        } catch {
            await revoke(answer.tokens, at: endpoints, hasOthers: hasOthers)
            throw error
        }
        context.events.post(.paired, id)
        // The tokens of an earlier session of the account.
        _ = try? await PendingRevocations(context.grants, clock: context.clock).retry(id, at: endpoints)
        return Grant(context: context, id: id)
    }

    /// Returns a new key if the tokens are to be bound to one.
    private func proof(for profile: OAuthProfile) throws(CofferError) -> KeyProof? {
        switch profile.keyProof {
        case .never: nil
        case .whenOffered:
            try profile.endpoints?.offersKeyProof == true
                ? KeyProof.generate(nonces: context.nonces) : nil
        case .always: try KeyProof.generate(nonces: context.nonces)
        }
    }

    /// Checks an answer and stores it.
    private func keep(_ answer: SignInFlow.Answer, _ flow: SignInFlow) async throws(CofferError) {
        let profile = flow.endpoints.profile
        let tokens = answer.tokens
        let accessToken = try tokens.usableAccessToken()
        var key: SecretBytes? = nil
        if try isBound(tokens, flow.endpoints), let proof = flow.endpoints.proof {
            key = try proof.copyKey()
        }
        try profile.check(instance: tokens.instanceURL)
        let subject = try await subject(of: answer, accessToken, flow)
        guard !Task.isCancelled else { throw CofferError(.cancelled, "The sign-in was cancelled.") }
        var record = try GrantRecord(
            issuer: profile.issuer.text, subject: subject, scopes: tokens.scopes ?? flow.scopes,
            storage: profile.storage, clock: context.clock)
        record.instanceURL = tokens.instanceURL
        record.identityURL = tokens.identityURL
        record.clockSkew = flow.endpoints.time.skew
        try record.note(flow.endpoints)
        do throws(CofferError) {
            try await context.grants.storeNew(
                tokens, record: record, dpopKey: key, for: id, storage: profile.storage,
                assumedLife: profile.assumedLife, sent: answer.sent, clock: context.clock)
        } catch {
            guard await !isStored(record) else { return }
            // Without a refresh token, what was stored of the session is of no use.
            if (try? await hasGeneration(of: record)) == true { try? await context.grants.remove(id) }
            throw error
        }
    }

    private func hasGeneration(of record: GrantRecord) async throws(CofferError) -> Bool {
        let stored = try await context.grants.record(id)
        return stored?.generation.hasSameBytes(as: record.generation) == true
    }

    /// Returns whether a session is stored with its refresh token, although storing it failed. Then it stays:
    /// an access token that is missing is renewed with the first use.
    private func isStored(_ record: GrantRecord) async -> Bool {
        guard record.storage != .memory, (try? await hasGeneration(of: record)) == true,
            let token = try? await context.grants.refreshToken(id)
        else { return false }
        return token.info.version != nil
    }

    /// Returns whether the access token is bound to the key.
    private func isBound(
        _ tokens: TokenResponse, _ endpoints: ServerEndpoints
    ) throws(CofferError) -> Bool {
        let isBound = tokens.tokenType == .dpop
        guard !isBound || endpoints.proof != nil else {
            throw CofferError(
                .serverMalformed, "The server bound the access token to a key that was not offered.")
        }
        guard isBound || endpoints.profile.keyProof != .always else {
            throw CofferError(
                .serverMalformed,
                "The server did not bind the access token to a key, which the profile requires.")
        }
        return isBound
    }

    /// Checks the id token, and returns the user's identifier; `nil` without an id token.
    private func subject(
        of answer: SignInFlow.Answer, _ accessToken: Token, _ flow: SignInFlow
    ) async throws(CofferError) -> String? {
        guard let idToken = answer.tokens.idToken else {
            let granted = answer.tokens.scopes ?? flow.scopes
            guard !flow.asksForIDToken || !granted.contains(where: { $0.hasSameBytes(as: "openid") }) else {
                throw CofferError(
                    .serverMalformed,
                    "The server's answer contains no id token, for which the scope openid asks. If the "
                        + "server sends none for this way to sign in, remove that scope from the profile.")
            }
            return nil
        }
        let token = try await flow.endpoints.checkedIDToken(
            idToken, accessToken: accessToken, request: flow.asksForIDToken ? answer.request : nil)
        return token.claims["sub"]?.string
    }

    /// Revokes tokens that are not kept, as far as the server can be reached, even if the task is cancelled.
    /// If there are other sessions and they cannot be told, the tokens are left to expire.
    private func revoke(
        _ tokens: TokenResponse, at endpoints: ServerEndpoints, hasOthers: Bool
    ) async {
        guard endpoints.has(.revocation) else { return }
        await Task {
            let profile = endpoints.profile
            do throws(CofferError) {
                try await context.grants.noteOwnRevocation(
                    issuer: profile.issuer.text, clientID: profile.clientID, clock: context.clock)
            } catch {
                guard error.code == .wiped || !hasOthers else { return }
            }
            if let token = tokens.refreshToken { _ = try? await endpoints.revoke(token, hint: .refresh) }
            if let token = tokens.accessToken { _ = try? await endpoints.revoke(token, hint: .access) }
        }.value
    }
}
