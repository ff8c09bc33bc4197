import Coffer
import CofferBase
import CofferCrypto

/// A sign-in at a server, up to the server's answer with tokens. Nothing is stored.
struct SignInFlow: Sendable {
    /// The server's tokens, which are not verified, and the request that they answer.
    struct Answer: Sendable {
        let tokens: TokenResponse
        /// The request; `nil` for a sign-in on another device.
        let request: AuthorizationRequest?
        /// The time before the request for the tokens was sent.
        let sent: ClockStamp
    }

    /// The actions that tests replace.
    struct Actions: Sendable {
        /// Opens a URL in the user's browser.
        let openBrowser: @Sendable (HTTPSURL) async throws(CofferError) -> Void
        /// Waits.
        let pause: @Sendable (Duration) async throws(CofferError) -> Void
    }

    let endpoints: ServerEndpoints
    let actions: Actions
    let clock: VaultClock
    let prompt: @Sendable (SignInPrompt) async -> Void

    /// The ports that this machine's programs are not registered with: nothing listens on the port of a
    /// redirect that the user pastes.
    private static let freePorts: ClosedRange<UInt16> = 49152...65535

    private var profile: OAuthProfile { endpoints.profile }

    /// The scopes to ask for. A session that is only in memory needs no refresh token.
    var scopes: [String] {
        guard profile.storage == .memory else { return profile.scopes }
        return profile.scopes.filter { scope in
            !scope.hasSameBytes(as: "refresh_token") && !scope.hasSameBytes(as: "offline_access")
        }
    }

    /// Whether the server must answer with an id token.
    var asksForIDToken: Bool { scopes.contains { $0.hasSameBytes(as: "openid") } }

    /// Signs in.
    func run(_ way: SignInWay) async throws(CofferError) -> Answer {
        switch way {
        case .browser: try await signInByBrowser()
        case .pastedRedirect(let read): try await signInByPaste(read)
        case .device: try await signInByDevice()
        }
    }

    private func request(redirectURI: String) throws(CofferError) -> AuthorizationRequest {
        var extra: [(name: String, value: String)] = []
        // The server issues tokens for the code only to the holder of the key (RFC 9449 section 10).
        if let proof = endpoints.proof { extra.append((name: "dpop_jkt", value: try proof.thumbprint())) }
        return try AuthorizationRequest.make(
            AuthorizationRequest.Contents(
                issuer: profile.issuer.text,
                requiresIssuer: profile.endpoints?.requiresIssuerInRedirect ?? false,
                clientID: profile.clientID, redirectURI: redirectURI, scopes: scopes, extra: extra))
    }

    private func redeem(
        _ redirect: AuthorizationRedirect, _ request: AuthorizationRequest
    ) async throws(CofferError) -> Answer {
        let sent = ClockStamp(clock)
        return Answer(
            tokens: try await endpoints.redeem(redirect, for: request), request: request, sent: sent)
    }

    // MARK: Browser

    private func signInByBrowser() async throws(CofferError) -> Answer {
        let rule = profile.redirect
        let listener = try LoopbackListener.start(
            path: rule.path, port: rule.port ?? 0, usesIPv6: rule.address == .ipv6)
        defer { listener.close() }
        let request = try request(redirectURI: listener.redirectURI)
        let url = try await endpoints.authorizationURL(for: request)
        await prompt(.browser(url))
        // Starting a browser can take seconds in which it already brings the answer.
        let waiting = Task { () async -> Result<AuthorizationRedirect, CofferError> in
            do throws(CofferError) {
                return .success(try await listener.redirect(for: request))
            } catch {
                return .failure(error)
            }
        }
        let outcome = await withTaskCancellationHandler {
            await open(url)
            return await waiting.value
        } onCancel: {
            waiting.cancel()
        }
        return try await redeem(try outcome.get(), request)
    }

    /// Opens the browser. If that fails, the user can still open the URL.
    private func open(_ url: HTTPSURL) async {
        do throws(CofferError) {
            try await actions.openBrowser(url)
        } catch {
            // A cancelled sign-in has ended.
            guard error.code != .cancelled else { return }
            await prompt(.openYourself(url))
        }
    }

    private func signInByPaste(
        _ read: @Sendable () async throws(CofferError) -> Token
    ) async throws(CofferError) -> Answer {
        let port = profile.redirect.port ?? UInt16.random(in: Self.freePorts)
        let request = try request(redirectURI: profile.redirect.uri(port: port))
        await prompt(.paste(try await endpoints.authorizationURL(for: request)))
        let pasted = try SecretBox(copying: try await read())
        return try await redeem(try PastedRedirect.parse(pasted.bytes, for: request), request)
    }

    // MARK: Device

    private func signInByDevice() async throws(CofferError) -> Answer {
        let codes = try await endpoints.startDevice(scopes: scopes)
        var schedule = DeviceGrant(
            interval: .seconds(codes.interval), expiresIn: .seconds(codes.lifetime), now: clock.bootTime())
        await prompt(.device(codes))
        while true {
            switch try schedule.step(now: clock.bootTime()) {
            case .wait(let end): try await actions.pause(max(end - clock.bootTime(), .zero))
            case .ask:
                let sent = ClockStamp(clock)
                let verdict = try await poll(codes.deviceCode)
                try schedule.receive(
                    Self.answer(verdict), now: clock.bootTime(), retryAfter: Self.wait(verdict))
                if case .granted(let tokens) = verdict {
                    return Answer(tokens: tokens, request: nil, sent: sent)
                }
            case .approved: throw CofferError(.internalFailure, "The device sign-in has no tokens.")
            }
        }
    }

    private func poll(_ code: Token) async throws(CofferError) -> DevicePollVerdict {
        do throws(CofferError) {
            return try await endpoints.poll(code)
        } catch {
            switch error.code {
            case .serverUnreachable, .timedOut: return .uncertain(retryAfter: error.retryAfter)
            default: throw error
            }
        }
    }

    /// Returns the time for which the server asked the client to wait.
    private static func wait(_ verdict: DevicePollVerdict) -> Duration? {
        guard case .uncertain(let wait) = verdict else { return nil }
        return wait
    }

    private static func answer(_ verdict: DevicePollVerdict) -> DeviceGrant.Answer {
        switch verdict {
        case .granted: .approved
        case .pending: .pending
        case .slowDown: .slowDown
        case .denied: .denied
        case .expired: .expired
        case .uncertain: .unreachable
        case .refused(let error): .refused(error?.error ?? "")
        }
    }
}
