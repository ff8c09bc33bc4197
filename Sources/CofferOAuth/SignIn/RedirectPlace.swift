package import CofferBase
package import CofferEngine

/// The address at which the loopback listener receives a redirect.
package struct RedirectPlace: Sendable, Equatable {
    /// The path of the redirect URI.
    package let path: String
    /// The path of the page to which the browser moves on. Its address does not contain the code.
    package let donePath: String
    /// The value that the `Host` header must have.
    package let host: String
    /// The redirect URI.
    package let uri: String

    /// Creates the place.
    ///
    /// - Parameters:
    ///   - address: The listener's address.
    ///   - port: The listener's port.
    ///   - path: The path of the redirect URI.
    /// - Throws: `invalidInput` if the path is invalid.
    package init(address: LoopbackAddress, port: UInt16, path: String) throws(CofferError) {
        let rule = RedirectRule(address: address == .ipv6 ? .ipv6 : .ipv4, path: path)
        try rule.check()
        self.path = path
        donePath = path.hasSameBytes(as: "/done") ? "/finished" : "/done"
        host = rule.host(port: port)
        uri = rule.uri(port: port)
    }
}
