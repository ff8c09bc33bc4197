public import Coffer
import CofferBase
public import FoundationEssentials

/// An access token with fewer rights than the session's own: narrower scopes, or one resource only (RFC 8693,
/// RFC 8707).
///
/// The token is in memory only. It ends with the access token that it was derived from, with the vault's next
/// lock, when the session ends, and when the last reference to it is released.
public final class DerivedToken: Sendable {
    /// The resource that the token is for; `nil` if it is for all of the profile's resource hosts.
    public let resource: HTTPSURL?
    /// The token's scopes.
    public let scopes: [String]
    /// The date on which the token expires.
    public let expires: Date
    private let hosts: [HostPattern]
    private let pool: DerivedTokenPool
    private let number: Int

    init(
        resource: HTTPSURL?, scopes: [String], expires: Date, hosts: [HostPattern], pool: DerivedTokenPool,
        number: Int
    ) {
        self.resource = resource
        self.scopes = scopes
        self.expires = expires
        self.hosts = hosts
        self.pool = pool
        self.number = number
    }

    deinit { pool.drop(number) }

    /// Returns whether the token may be sent to a URL: its host is one of the profile's resource hosts, and
    /// if the token is for a resource, the URL is the resource or below it.
    ///
    /// - Parameter url: The URL.
    /// - Returns: Whether the token may be sent there.
    public func allows(_ url: HTTPSURL) -> Bool {
        guard hosts.contains(where: { $0.matches(url) }) else { return false }
        guard let resource else { return true }
        guard resource.origin.hasSameBytes(as: url.origin) else { return false }
        let own = resource.path
        guard !own.hasSameBytes(as: url.path), !own.isEmpty else { return true }
        return url.path.utf8.hasPrefix(own.utf8.last == UInt8(ascii: "/") ? own : own + "/")
    }

    /// Calls `body` with the token.
    ///
    /// - Parameters:
    ///   - url: The URL that the token is for.
    ///   - body: A closure that receives the token. It may throw errors of any type.
    /// - Returns: The result of `body`.
    /// - Throws: `hostRefused` if the token is not for the URL; `absent` if it has expired or was dropped;
    ///   the error that `body` throws.
    public func withToken<Result, Failure: Error>(
        for url: HTTPSURL, _ body: (_ token: Token) throws(Failure) -> Result
    ) throws -> Result {
        guard allows(url) else {
            throw CofferError(.hostRefused, "The derived token is not for the host or the path of this URL.")
        }
        guard let token = pool.token(number) else {
            throw CofferError(
                .absent, "The derived token has expired, or the vault was locked since. Derive another one.")
        }
        return try body(token)
    }
}
