package import CofferBase
package import CofferCrypto

/// The server's endpoint that renews tokens, with the client's authentication.
package protocol TokenEndpoint: Sendable {
    /// Sends a refresh token once, on a connection of its own, with a new assertion and a new proof.
    ///
    /// - Parameters:
    ///   - refreshToken: The token.
    ///   - attempt: The number of times that this token has been sent, including this one.
    /// - Returns: The meaning of the answer.
    /// - Throws: `certificateRefused`, `hostRefused`, `invalidInput`, `locked`, `wiped`, `absent`, `corrupt`
    ///   or `unsupported` if the request was not sent. Every other error leaves unknown whether the server
    ///   received it.
    func refresh(
        _ refreshToken: borrowing SecretBytes, attempt: Int
    ) async throws(CofferError) -> RefreshVerdict

    /// The number of seconds by which the server's clock is ahead of this machine's, as its last answer said;
    /// `nil` if it is unknown.
    var clockSkew: Int64? { get }
}

extension TokenEndpoint {
    package var clockSkew: Int64? { nil }
}
