import CofferBase
public import CofferCrypto
import CofferEngine

/// The way to a server: directly, or through a proxy that forwards the encrypted connection (CONNECT).
public enum TransportProxy: Sendable {
    /// The connection is direct, whatever the environment says.
    case none
    /// The proxy is the one that the environment names: `https_proxy` or `all_proxy`, unless `no_proxy` lists
    /// the host.
    case environment
    /// The proxy is this one.
    case server(Server)

    /// A proxy.
    public struct Server: Sendable {
        /// The proxy's host name or address.
        public let host: String
        /// The proxy's port.
        public let port: UInt16
        /// The user name; `nil` if the proxy requires none.
        public let user: String?
        let password: SecretBox?

        /// Creates a proxy without a password.
        ///
        /// - Parameters:
        ///   - host: The host name or address.
        ///   - port: The port.
        public init(host: String, port: UInt16) {
            (self.host, self.port) = (host, port)
            user = nil
            password = nil
        }

        /// Creates a proxy with a user name and a password, which are sent without encryption.
        ///
        /// - Parameters:
        ///   - host: The host name or address.
        ///   - port: The port.
        ///   - user: The user name, without a colon and without control characters.
        ///   - password: The password, without control characters. Both arrive byte for byte: a percent sign
        ///     is not the beginning of an encoded character.
        public init(host: String, port: UInt16, user: String, password: consuming SecretBytes) {
            (self.host, self.port) = (host, port)
            self.user = user
            self.password = SecretBox(password)
        }

        var url: String {
            let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
            return isIPv6 ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
        }

        func check() throws(CofferError) {
            let isHost =
                !host.utf8.isEmpty
                && host.utf8.allSatisfy { byte in
                    HTTPHead.isDigit(byte) || ".-:_".utf8.contains(byte)
                        || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) && byte < 0x80
                }
            let isUser = (user ?? "").utf8.allSatisfy { Self.isText($0) && $0 != UInt8(ascii: ":") }
            guard isHost, isUser, port > 0 else {
                throw CofferError(.invalidInput, "The proxy's host, port or user name is not allowed.")
            }
            let isPassword = try password.exposing { (bytes) throws(CofferError) -> Bool in
                bytes.indices.allSatisfy { Self.isText(bytes[$0]) }
            }
            guard isPassword else {
                throw CofferError(.invalidInput, "The proxy's password contains a control character.")
            }
        }

        private static func isText(_ byte: UInt8) -> Bool { byte > 0x1F && byte != 0x7F }
    }

    func check() throws(CofferError) { if case .server(let server) = self { try server.check() } }

    /// Returns the proxy's URL for a server; `nil` for none.
    ///
    /// - Throws: `unsupported` if the environment names a proxy that is not an HTTP proxy.
    func url(for target: HTTPSURL) throws(CofferError) -> String? {
        guard !Self.isLoopback(target.host) else { return nil }
        switch self {
        case .none: return nil
        case .server(let server): return server.url
        case .environment: return try Self.environmentURL(for: target.host)
        }
    }

    private static func environmentURL(for host: String) throws(CofferError) -> String? {
        let names = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        guard let text = names.lazy.compactMap(Environment.value).first else { return nil }
        let exceptions = Environment.value("no_proxy") ?? Environment.value("NO_PROXY") ?? ""
        guard !isListed(host, in: exceptions) else { return nil }
        guard text.utf8.starts(with: "http://".utf8) || !hasScheme(text) else {
            throw CofferError(
                .unsupported, "The proxy in the environment is not an HTTP proxy, which is required.")
        }
        return text
    }

    private static func hasScheme(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: "://".utf8) }
    }

    /// Whether a list of hosts, such as `no_proxy`, contains a host or a domain above it.
    static func isListed(_ host: String, in list: String) -> Bool {
        let folded = host.foldedASCII
        let entries = list.utf8.split { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
        return entries.contains { entry in
            let bytes = entry.first == UInt8(ascii: ".") ? entry.dropFirst() : entry
            let name = String(decoding: bytes, as: UTF8.self).foldedASCII
            if name.utf8.isEmpty { return false }
            return name.hasSameBytes(as: "*") || folded.hasSameBytes(as: name)
                || folded.utf8.hasSuffix("." + name)
        }
    }

    /// Whether a host is this machine by its name or its address.
    static func isLoopback(_ host: String) -> Bool {
        let folded = host.foldedASCII
        let isAddress = folded.utf8.allSatisfy { HTTPHead.isDigit($0) || $0 == UInt8(ascii: ".") }
        return folded.hasSameBytes(as: "localhost") || folded.utf8.hasSuffix(".localhost")
            || folded.hasSameBytes(as: "::1") || isAddress && folded.utf8.hasPrefix("127.")
    }
}
