public import CofferBase

/// The meaning of an answer from a revocation endpoint (RFC 7009).
public enum RevocationAnswer: Sendable, Hashable {
    /// The token is revoked, or the server does not know it, which comes to the same.
    case done
    /// The server does not revoke tokens of this type: a repetition does not help.
    case unsupportedTokenType
    /// The server did not judge the request: try again, not before the given time if there is one.
    case uncertain(retryAfter: Duration?)
    /// The server refused the request; `nil` if it sent no error.
    case refused(TokenErrorResponse?)

    /// Judges an answer. The result depends on the argument only.
    ///
    /// Status 200 is done whatever the body says (RFC 7009 section 2.2). `invalid_token` counts as done with
    /// status 400 only: with 401 it can refer to the client's own credentials.
    ///
    /// - Parameter answer: The answer from the pinned revocation endpoint.
    /// - Returns: The verdict.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func judge(_ answer: HTTPResponse) throws(CofferError) -> RevocationAnswer {
        if answer.status == 200 || answer.status == 204 { return .done }
        guard answer.isWhole, answer.isRefusal || answer.isRedirect else {
            return .uncertain(retryAfter: answer.retryAfter)
        }
        guard answer.isRefusal, let error = try answer.json().flatMap({ TokenErrorResponse($0) }) else {
            return .refused(nil)
        }
        if error.isOne(of: ["unsupported_token_type"]) { return .unsupportedTokenType }
        if answer.status == 400, error.isOne(of: ["invalid_token"]) { return .done }
        return .refused(error)
    }
}
