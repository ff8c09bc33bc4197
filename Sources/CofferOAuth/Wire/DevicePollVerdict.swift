public import CofferBase

/// The meaning of an answer to a poll of the device grant (RFC 8628 section 3.5).
public enum DevicePollVerdict: Sendable {
    /// The user agreed. The tokens are not verified.
    case granted(TokenResponse)
    /// The user has not answered: poll again after the interval.
    case pending
    /// Poll again after an interval that is ``DeviceAuthorization/slowDownStep`` seconds longer from now on.
    case slowDown
    /// The user refused.
    case denied
    /// The codes have expired: start again.
    case expired
    /// The server did not answer the question: poll again after the interval, and not before the given time.
    case uncertain(retryAfter: Duration?)
    /// The server refused the request; `nil` if it sent no error.
    case refused(TokenErrorResponse?)

    /// Judges an answer. The result depends on the argument only.
    ///
    /// - Parameter answer: The answer from the pinned token endpoint.
    /// - Returns: The verdict.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func judge(_ answer: HTTPResponse) throws(CofferError) -> DevicePollVerdict {
        switch try RefreshVerdict.judge(answer, revocationCodes: []) {
        case .success(let tokens): return .granted(tokens)
        case .uncertain(let wait):
            let error = try answer.json().flatMap { TokenErrorResponse($0) }
            // `slow_down` is the only temporary code with a meaning of its own here; some send it with 429.
            let hasVerdict = answer.isRefusal || answer.isSuccess || answer.status == 429
            let isSlowDown = answer.isWhole && hasVerdict && error?.isOne(of: ["slow_down"]) == true
            return isSlowDown ? .slowDown : .uncertain(retryAfter: wait)
        case .revokedCandidate(let error): return .refused(error)
        case .refused(let error):
            guard let error else { return .refused(nil) }
            if error.isOne(of: ["authorization_pending"]) { return .pending }
            if error.isOne(of: ["access_denied"]) { return .denied }
            if error.isOne(of: ["expired_token"]) { return .expired }
            return .refused(error)
        }
    }
}
