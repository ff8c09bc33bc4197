public import CofferBase

/// Sends one request to a server and receives the response.
///
/// The library uses ``CurlTransport``. Another implementation must keep the same laws, which
/// `OAuthTransportContract` of the library `CofferTesting` checks: HTTPS only, redirects are returned and not
/// followed, nothing is sent again, and bytes that arrived are returned even if the connection then broke.
public protocol OAuthTransport: Sendable {
    /// Sends a request and receives the response.
    ///
    /// - Parameter request: The request, which is sent at most once.
    /// - Returns: The response, whatever its status. ``HTTPResponse/isComplete`` is `false` if the response
    ///   is not whole.
    /// - Throws: `serverUnreachable` if no response came; `timedOut` if none came in time;
    ///   `certificateRefused` if the server is not the expected one; `serverMalformed` if the response is not
    ///   valid HTTP or exceeds a limit; `cancelled` if the task was cancelled before any byte of the body
    ///   came; `invalidInput` if the request is invalid; `unsupported` if the transport cannot send it.
    func exchange(_ request: HTTPRequest) async throws(CofferError) -> HTTPResponse
}
