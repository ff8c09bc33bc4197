import Coffer
import CofferBase
import CofferOAuth

/// The code of `FirstRequest.md`, between markers, as it stands there.
enum FirstRequestGuide {
    static func open(at location: VaultLocation, passcode: Passcode?) async throws -> OAuth {
        // snippet: open
        let vault = try await Vault.openOrCreate(at: location, passcode: passcode)
        let oauth = try await OAuth(vault)
        // snippet end
        return oauth
    }

    static func profile(_ oauth: OAuth) async throws {
        // snippet: profile
        try await oauth.add(
            OAuthProfile(
                "work", issuer: "https://login.example.org", clientID: "desktop",
                scopes: ["api", "refresh_token"], resourceHosts: ["api.example.org"]))
        // snippet end
    }

    static func secret(_ oauth: OAuth, secret: Token) async throws {
        // snippet: secret
        var profile = try await oauth.profiles.profile("work")
        profile.authentication = .basic
        try await oauth.profiles.update(profile)
        try await oauth.profiles.set(secret, as: .secret, of: "work")
        // snippet end
    }

    static func browser(_ oauth: OAuth, show: @escaping @Sendable (String) -> Void) async throws -> Grant {
        // snippet: browser
        let grant = try await oauth.signIn("work", account: "ada", by: .browser) { prompt in
            if case .openYourself(let url) = prompt { show("Open this address: \(url.text)") }
        }
        // snippet end
        return grant
    }

    static func paste(
        _ oauth: OAuth, show: @escaping @Sendable (String) -> Void,
        read: @escaping @Sendable () async throws(CofferError) -> Token
    ) async throws -> Grant {
        // snippet: paste
        let grant = try await oauth.signIn("work", account: "ada", by: .pastedRedirect(read)) { prompt in
            if case .paste(let url) = prompt { show("Sign in, then paste the last address: \(url.text)") }
        }
        // snippet end
        return grant
    }

    static func device(_ oauth: OAuth, show: @escaping @Sendable (String) -> Void) async throws -> Grant {
        // snippet: device
        let grant = try await oauth.signIn("work", account: "ada", by: .device) { prompt in
            guard case .device(let codes) = prompt else { return }
            show("Open \(codes.verificationURL.text) and enter \(codes.userCode).")
            show(SignInPrompt.deviceWarning)
        }
        // snippet end
        return grant
    }

    static func request(_ grant: Grant) async throws -> HTTPResponse {
        // snippet: request
        let request = try OAuthRequest(.get, HTTPSURL("https://api.example.org/me"))
        let response = try await grant.send(request)
        // snippet end
        return response
    }

    static func token(_ grant: Grant) async throws -> Int {
        // snippet: token
        let url = try HTTPSURL("https://api.example.org/me")
        let count = try await grant.withAccessToken(for: url) { (token, info) throws(CofferError) -> Int in
            token.exposing { bytes in bytes.count }
        }
        // snippet end
        return count
    }

    static func again(_ vault: Vault, _ oauth: OAuth) async throws -> Grant {
        // snippet: again
        let grant = try await oauth.grant("work", account: "ada")
        // snippet end
        return grant
    }

    static func leave(_ grant: Grant, show: (String) -> Void) async throws {
        // snippet: leave
        let receipt = try await grant.logOut(LogoutOptions(stores: .keep))
        if receipt.isRevocationPending {
            show("The server will be told when it can be reached.")
        } else if !receipt.isRevokedAtServer {
            show("To end the session there, too, use the server's own pages.")
        }
        // snippet end
    }
}
