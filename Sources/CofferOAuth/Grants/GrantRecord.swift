package import Coffer
package import CofferBase
import CofferEngine

/// The state of a session at a server, without any secret.
package struct GrantRecord: Sendable, Equatable {
    /// The state.
    package enum State: Sendable, Equatable {
        /// The session is usable.
        case paired
        /// The refresh token is being sent, or was when a process died.
        case refreshing(RefreshIntent)
        /// No complete answer came: the server may have spent the token.
        case uncertain(RefreshIntent)
        /// The server refused the refresh token, which another cause than a revocation can have.
        case lost
        /// The server revoked the session.
        case revoked
        /// The session's policy ended it.
        case expired
        /// The session is being signed out, and this step is next.
        case leaving(step: String)

        /// The note of the refresh token that was or is being sent.
        package var intent: RefreshIntent? {
            switch self {
            case .refreshing(let intent), .uncertain(let intent): intent
            default: nil
            }
        }
    }

    /// The state.
    package var state = State.paired
    /// Whether the session has ended and the data of its account is still to be erased.
    package internal(set) var isErasureDue = false
    /// A random name of this sign-in, which its tokens carry as an attribute.
    package let generation: String
    /// The issuer.
    package let issuer: String
    /// The client's ID at the sign-in; `nil` if unknown.
    package var clientID: String?
    /// The token endpoint at the sign-in; `nil` if unknown.
    package var tokenEndpoint: String?
    /// The hash of the client certificate at the sign-in in hexadecimal digits; `nil` if there was none.
    package var certificateDigest: String?
    /// The time at which this program last sent another token of the same client to be revoked, since when
    /// the server has not renewed the session; `nil` if there is none. A server may end a user's other
    /// sessions with that token (RFC 7009 section 2.1).
    package internal(set) var ownRevocation: ClockStamp?
    /// Whether the server's last answer left the refresh token as it is. Where each answer replaces the
    /// token, a copy of the vault, or the vault before it was put back, can have spent it.
    package var keepsRefreshToken = false
    /// The user's identifier at the issuer, from the id token; `nil` if there is none.
    package var subject: String?
    /// The tokens that are stored.
    package let storage: GrantStorage
    /// The program run that signed in.
    package let programRun: String
    /// The time of the sign-in.
    package let signedIn: ClockStamp
    /// The time of the last successful refresh; `nil` if there was none.
    package var lastRefresh: ClockStamp?
    /// The time of the last use.
    package var lastUse: ClockStamp
    /// The granted scopes.
    package var scopes: [String]
    /// The server that access tokens are for, as the authorization server named it.
    package var instanceURL: String?
    /// The identity URL.
    package var identityURL: String?
    /// The seconds by which the server's clock is ahead of this machine's; `nil` if unknown.
    package var clockSkew: Int64?
    /// Whether a key for DPoP is stored with the state.
    package internal(set) var hasDPoPKey = false
    /// The number of refreshes that were begun. A caller that waited recognizes by it that another one tried.
    package internal(set) var exchanges: Int64 = 0
    /// The message of the last failed refresh; `nil` after a successful one.
    package internal(set) var failure: String?
    /// The size of the tokens in the last answer in bytes.
    package internal(set) var answerSize = 0

    /// The run of this program: random, and the same until it ends.
    package static let currentRun = HexText.encode((try? SecureRandom.bytes(16)) ?? [])

    /// Creates the record of a new sign-in.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - subject: The user's identifier at the issuer.
    ///   - scopes: The granted scopes.
    ///   - storage: The tokens to store.
    ///   - clock: The clock.
    /// - Throws: `internalFailure` if there are no random bytes.
    package init(
        issuer: String, subject: String? = nil, scopes: [String], storage: GrantStorage = .all,
        clock: VaultClock
    ) throws(CofferError) {
        let now = ClockStamp(clock)
        self.init(
            generation: HexText.encode(try SecureRandom.bytes(16)), issuer: issuer, storage: storage,
            programRun: Self.currentRun, signedIn: now, lastUse: now, scopes: scopes)
        self.subject = subject
    }

    init(
        generation: String, issuer: String, storage: GrantStorage, programRun: String, signedIn: ClockStamp,
        lastUse: ClockStamp, scopes: [String]
    ) {
        self.generation = generation
        self.issuer = issuer
        self.storage = storage
        self.programRun = programRun
        self.signedIn = signedIn
        self.lastUse = lastUse
        self.scopes = scopes
    }

    /// The error for a session that is lost, with the server's code.
    static func lost(_ serverCode: String? = nil, byOwnRevocation: Bool = false) -> CofferError {
        let reason =
            byOwnRevocation
            ? "another session of the client was signed out"
            : "an answer was lost or a copy of the vault renewed it"
        return CofferError(
            .sessionLost,
            "A new sign-in is needed: the server no longer accepts the session, probably because \(reason).",
            remedy: .signIn, serverCode: serverCode)
    }

    /// The error for a session that the server revoked, with the server's code.
    static func revoked(_ serverCode: String? = nil) -> CofferError {
        CofferError(
            .tokenRevoked, "A new sign-in is needed: the server revoked the session.", remedy: .signIn,
            serverCode: serverCode)
    }

    /// The error that a session in this state gives its callers; `nil` if the session may be used.
    package var obstacle: CofferError? {
        switch state {
        case .paired, .refreshing, .uncertain: nil
        case .lost: Self.lost(byOwnRevocation: ownRevocation != nil)
        case .revoked: Self.revoked()
        case .expired:
            CofferError(
                .signInNeeded, "A new sign-in is needed: the session's time is over.", remedy: .signIn)
        case .leaving:
            CofferError(
                .signInNeeded, "A new sign-in is needed: the session is being signed out.", remedy: .signIn)
        }
    }
}
