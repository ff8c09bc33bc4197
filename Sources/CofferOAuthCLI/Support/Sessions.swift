import Coffer
import CofferBase
import CofferCommandLine
import CofferOAuth

/// The sessions of the vault that the options specify.
enum Sessions {
    /// Opens and unlocks the vault.
    static func open(_ global: GlobalOptions) async throws(CofferError) -> OAuth {
        try await sessions(of: try await VaultOpener.unlocked(global))
    }

    /// Returns the sessions of a vault. If the end of one erases a user's vault, that is said on standard
    /// error.
    static func sessions(of vault: Vault) async throws(CofferError) -> OAuth {
        let oauth = try await OAuth(vault)
        oauth.reportErasures { account in
            Output.message(
                "coffer: A session was revoked, so the vault of the user \(account.printable) was erased.")
        }
        return oauth
    }

    /// Returns the session of an account; without one, the profile's only session. Throws `absent` if there
    /// is neither a session nor a profile of this name: a session is returned even if its profile is gone, so
    /// that it can be signed out.
    static func grant(
        _ profile: String, account: String?, in oauth: OAuth
    ) async throws(CofferError) -> Grant {
        let account = try await self.account(profile, account, in: oauth)
        do throws(CofferError) {
            return try await oauth.grant(profile, account: account)
        } catch {
            if error.code == .signInNeeded { _ = try await oauth.profiles.profile(profile) }
            throw error
        }
    }

    /// Returns the session that is to be signed out.
    static func leaving(
        _ profile: String, account: String?, in oauth: OAuth
    ) async throws(CofferError) -> Grant {
        do throws(CofferError) {
            return try await grant(profile, account: account, in: oauth)
        } catch {
            // A logout that died after it had removed the session leaves tokens for the server to revoke.
            guard error.code == .signInNeeded else { throw error }
            _ = try? await oauth.resumeLogouts()
            let name = profile + (account.map { "/" + $0 } ?? "")
            throw CofferError(
                .signInNeeded,
                "There is no session \(name.printable) to sign out. Run coffer oauth list to see all "
                    + "sessions.")
        }
    }

    private static func account(
        _ profile: String, _ given: String?, in oauth: OAuth
    ) async throws(CofferError) -> String {
        if let given { return given }
        let accounts = try await oauth.grants().filter { $0.profile.hasSameBytes(as: profile) }
            .map(\.account)
        return try OAuthTokenOptions.account(nil, of: profile, among: accounts)
    }
}
