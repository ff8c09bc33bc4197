import Coffer
import CofferBase

/// The parts that an ``OAuth`` and its ``Grant``s share.
struct OAuthContext: Sendable {
    let vault: Vault
    let profiles: ProfileStore
    let grants: GrantStore
    let managed: ManagedConfiguration?
    let transport: any OAuthTransport
    let clock: VaultClock
    let keys = ServerKeys()
    let nonces = KeyProofNonces()
    let pools = DerivedTokenPools()
    let events = OAuthEventSource()
    let actions: SignInFlow.Actions
    let onRevocation: RevocationPolicy
    let onLost: RevocationPolicy
    let onExpiry: RevocationPolicy

    /// The responses to the end of a session.
    var sessionEnd: SessionEnd {
        SessionEnd(
            store: grants, onRevocation: onRevocation, onLost: onLost, onExpiry: onExpiry, events: events)
    }

    /// The policies that end a session beside the profile's. A server has none of its own in its documents:
    /// it ends a session by refusing its refresh token.
    var policies: [GrantPolicy] { managed?.policies ?? [] }

    /// Returns a profile that the administrator still allows.
    func profile(_ name: String) async throws(CofferError) -> OAuthProfile {
        let profile = try await profiles.profile(name)
        try managed?.check(profile)
        return profile
    }

    /// Returns a profile with pinned endpoints. Those of a profile that was never discovered are asked for.
    func pinnedProfile(_ name: String) async throws(CofferError) -> OAuthProfile {
        let profile = try await profile(name)
        guard profile.endpoints?.urls[.token] == nil else { return profile }
        return try await discovered(profile, acceptsEndpoints: false)
    }

    /// Returns a profile with the endpoints that its server announces now, and stores it.
    ///
    /// - Throws: `refused` if they differ from accepted ones and `acceptsEndpoints` is not set; the errors of
    ///   ``Discovery/metadata(of:)`` and ``ProfileStore/update(_:acceptsEndpoints:)``.
    func discovered(
        _ profile: OAuthProfile, acceptsEndpoints: Bool
    ) async throws(CofferError) -> OAuthProfile {
        var profile = profile
        let entered = profile.endpoints ?? PinnedEndpoints()
        let discovery = Discovery(transport, security: try await profiles.security(of: profile))
        let metadata = try await discovery.metadata(of: profile.issuer)
        try profile.adopt(metadata)
        // Before the first discovery, additions to what somebody entered are no change.
        let isFirst = entered.urls[.token] == nil
        let isKept =
            entered.urls.allSatisfy { profile.endpoints?.urls[$0.key] == $0.value }
            && entered.mutualTLSAliases.allSatisfy { profile.endpoints?.mutualTLSAliases[$0.key] == $0.value }
        try await profiles.update(profile, acceptsEndpoints: acceptsEndpoints || isFirst && isKept)
        return profile
    }

    /// Returns a profile's server, with the key to which a session's tokens are bound.
    ///
    /// - Throws: `issuerMismatch` if the session belongs to another server; `signInNeeded` if it belongs to
    ///   another client or another endpoint of the server: a server refuses such a session's token as it
    ///   refuses a revoked one.
    func endpoints(of record: GrantRecord, _ id: GrantID) async throws(CofferError) -> ServerEndpoints {
        let profile = try await profile(id.profile)
        guard record.issuer.hasSameBytes(as: profile.issuer.text) else {
            throw CofferError(
                .issuerMismatch, "The session belongs to another server than the profile \(profile.name).",
                remedy: .signIn)
        }
        var proof: KeyProof?
        if record.hasDPoPKey {
            guard let key = try await grants.dpopKey(id) else { throw GrantStore.signInNeeded }
            proof = try KeyProof.restoring(try key.guardedCopy(), nonces: nonces)
        }
        let server = try await endpoints(profile, proof: proof, skew: record.clockSkew)
        if let change = try record.change(to: server) {
            throw CofferError(
                .signInNeeded,
                "A new sign-in is needed, or the change must be undone: the \(change) of the profile "
                    + "\(profile.name) was changed after the sign-in. Nothing was sent.", remedy: .signIn)
        }
        return server
    }

    /// Returns a profile's server for requests that need no key.
    func server(of name: String) async throws(CofferError) -> ServerEndpoints {
        try await endpoints(try await profile(name), proof: nil)
    }

    /// Returns a profile's server for requests that need no key. The endpoints of a profile that was never
    /// discovered are asked for.
    func pinnedServer(of name: String) async throws(CofferError) -> ServerEndpoints {
        try await endpoints(try await pinnedProfile(name), proof: nil)
    }

    /// Returns the endpoints of a profile.
    func endpoints(
        _ profile: OAuthProfile, proof: KeyProof?, skew: Int64? = nil
    ) async throws(CofferError) -> ServerEndpoints {
        try await ServerEndpoints.load(
            profile, from: profiles, transport: transport, clock: clock, proof: proof, keys: keys,
            time: ServerTime(skew: skew))
    }
}
