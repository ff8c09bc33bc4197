public import CofferBase

/// A host that may receive a profile's tokens: one host, or every host below a name of at least two labels.
///
/// The forms are `api.example.org`, `api.example.org:8443`, `*.example.org` and `[2001:db8::1]:8443`. Without
/// a port, only port 443 matches. A pattern with an asterisk does not match the name itself.
public struct HostPattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern, exactly as it was given.
    public let text: String
    private let host: String
    private let port: UInt16
    private let matchesSubdomains: Bool

    /// Creates a pattern by parsing its text.
    ///
    /// - Parameter text: The pattern.
    /// - Throws: `invalidInput` if the pattern has another form, or if a single label follows the asterisk.
    public init(_ text: String) throws(CofferError) {
        let isWild = text.utf8.starts(with: "*.".utf8)
        let rest = isWild ? String(decoding: text.utf8.dropFirst(2), as: UTF8.self) : text
        let url: HTTPSURL
        do throws(CofferError) {
            url = try HTTPSURL("https://" + rest)
        } catch {
            throw Self.invalid
        }
        // A slash or a question mark would have ended the host.
        guard url.path.isEmpty, url.query == nil else { throw Self.invalid }
        guard !isWild || (HostName.isName(url.host) && url.host.utf8.contains(UInt8(ascii: "."))) else {
            throw CofferError(
                .invalidInput,
                "After an asterisk, a resource host must have at least two labels, as in *.example.org.")
        }
        self.text = text
        host = url.host
        port = url.port
        matchesSubdomains = isWild
    }

    private static var invalid: CofferError {
        CofferError(
            .invalidInput,
            "A resource host must be a host name in lower case or an IP address, optionally after *. and "
                + "before a port, without a scheme and a path.")
    }

    /// Returns whether a URL's host and port match the pattern.
    ///
    /// - Parameter url: The URL.
    /// - Returns: Whether they match, byte by byte.
    public func matches(_ url: HTTPSURL) -> Bool {
        guard url.port == port else { return false }
        guard matchesSubdomains else { return url.host.hasSameBytes(as: host) }
        return url.host.utf8.hasSuffix("." + host) && url.host.utf8.count > host.utf8.count + 1
    }

    /// The pattern's text.
    public var description: String { text }
}
