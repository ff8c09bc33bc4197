public import CofferBase

/// An absolute `https` URL in the one form that every program reads the same way.
///
/// The scheme and the host are in lower case; the host is a DNS name, a dotted IPv4 address or an IPv6
/// address in brackets. The URL has no user info, no fragment, no dot segments and no character that programs
/// interpret differently. Two URLs are equal if their bytes are.
public struct HTTPSURL: Sendable, Hashable {
    /// The maximum length of a URL that is parsed, in bytes.
    public static let maxByteCount = 8192

    /// The URL, exactly as it was given.
    public let text: String
    /// The host, without the brackets of an IPv6 address.
    public let host: String
    /// The port; 443 if the URL contains none.
    public let port: UInt16
    /// The path, which is empty or begins with a slash.
    public let path: String
    /// The query without its question mark; `nil` if the URL has none.
    public let query: String?

    /// Creates a URL by parsing its text.
    ///
    /// - Parameter text: The URL.
    /// - Throws: `invalidInput`, with the reason but without the URL, which may contain a secret.
    public init(_ text: String) throws(CofferError) {
        var reader = try HTTPSURLReader(text)
        let (host, port) = try reader.authority()
        self.host = host
        self.port = port
        path = try reader.path()
        query = try reader.query()
        self.text = text
    }

    /// Whether ``host`` is an IPv6 address.
    var isIPv6: Bool { host.utf8.contains(UInt8(ascii: ":")) }

    /// The scheme, the host and the port, without a default port: for example `https://example.org:8443`.
    public var origin: String {
        let host = isIPv6 ? "[\(host)]" : host
        return port == 443 ? "https://\(host)" : "https://\(host):\(port)"
    }

    /// Returns the URL with additional query parameters, which are percent-encoded.
    ///
    /// - Parameter parameters: The names and values, in order.
    /// - Returns: The URL with the parameters after those that it already has.
    public func appending(query parameters: [(name: String, value: String)]) -> HTTPSURL {
        guard !parameters.isEmpty else { return self }
        let added = parameters.map { (name, value) in
            FormEncoding.percentEncoded(name) + "=" + FormEncoding.percentEncoded(value)
        }.joined(separator: "&")
        let base = query == nil ? text : String(text.dropLast((query ?? "").utf8.count + 1))
        let all = query.map { $0.isEmpty ? added : $0 + "&" + added } ?? added
        return HTTPSURL(text: base + "?" + all, host: host, port: port, path: path, query: all)
    }

    private init(text: String, host: String, port: UInt16, path: String, query: String?) {
        self.text = text
        self.host = host
        self.port = port
        self.path = path
        self.query = query
    }

    /// Returns the URL of the same server with another path and no query.
    func replacingPath(with path: String) throws(CofferError) -> HTTPSURL {
        try HTTPSURL(authority + path)
    }

    /// The part of the text before the path.
    private var authority: String {
        let tail = path.utf8.count + (query.map { $0.utf8.count + 1 } ?? 0)
        return String(decoding: text.utf8.dropLast(tail), as: UTF8.self)
    }
}

extension HTTPSURL: CustomStringConvertible {
    /// The URL without its query, which may contain a secret.
    public var description: String { authority + path }
}

/// The parser of an `https` URL.
private struct HTTPSURLReader {
    private var rest: Substring.UTF8View

    fileprivate init(_ text: String) throws(CofferError) {
        guard text.utf8.count <= HTTPSURL.maxByteCount else {
            throw Self.invalid("it must be at most \(HTTPSURL.maxByteCount) bytes long")
        }
        guard text.utf8.allSatisfy(Self.isAllowed) else {
            throw Self.invalid("it contains a character that a URL must not contain")
        }
        guard text.utf8.starts(with: "https://".utf8) else {
            throw Self.invalid("it must begin with https:// in lower case")
        }
        rest = Substring(text).utf8.dropFirst("https://".utf8.count)
    }

    fileprivate static func invalid(_ reason: String) -> CofferError {
        CofferError(.invalidInput, "The URL is invalid: \(reason).")
    }

    /// Whether RFC 3986 allows the byte in a URL. `#` is among the allowed ones, for a message of its own.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        guard (0x21...0x7E).contains(byte) else { return false }
        return !"\"<>\\^`{|}".utf8.contains(byte)
    }

    /// Reads the host and the port.
    fileprivate mutating func authority() throws(CofferError) -> (host: String, port: UInt16) {
        guard !rest.contains(UInt8(ascii: "#")) else { throw Self.invalid("it must not have a fragment") }
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = rest[..<end]
        rest = rest[end...]
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw Self.invalid("it must not contain a user name or a password")
        }
        let hostEnd: Substring.UTF8View.Index
        let host: String
        if authority.first == UInt8(ascii: "[") {
            guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else {
                throw Self.invalid("the bracket before its IPv6 address is not closed")
            }
            host = String(decoding: authority[..<close].dropFirst(), as: UTF8.self)
            guard HostName.isIPv6Address(host) else { throw Self.invalid("its IPv6 address is invalid") }
            hostEnd = authority.index(after: close)
        } else {
            hostEnd = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
            host = String(decoding: authority[..<hostEnd], as: UTF8.self)
            guard HostName.isName(host) || HostName.isIPv4Address(host) else {
                throw Self.invalid("its host must be a DNS name in lower case or an IP address")
            }
        }
        return (host, try port(authority[hostEnd...]))
    }

    private func port(_ text: Substring.UTF8View) throws(CofferError) -> UInt16 {
        guard let colon = text.first else { return 443 }
        guard colon == UInt8(ascii: ":"),
            let port = HostName.port(String(decoding: text.dropFirst(), as: UTF8.self))
        else { throw Self.invalid("its port must be a number from 1 to 65535") }
        return port
    }

    fileprivate mutating func path() throws(CofferError) -> String {
        let end = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let path = rest[..<end]
        rest = rest[end...]
        guard !path.contains(UInt8(ascii: "[")), !path.contains(UInt8(ascii: "]")) else {
            throw Self.invalid("its path contains a bracket")
        }
        let decoded = try Self.decoded(path)
        guard decoded.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw Self.invalid("its path contains an encoded control character")
        }
        // Some servers decode %2F and take a backslash for a slash before they look for dots.
        let segments = decoded.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        guard !segments.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else {
            throw Self.invalid("its path contains a dot segment")
        }
        return String(decoding: path, as: UTF8.self)
    }

    fileprivate mutating func query() throws(CofferError) -> String? {
        guard rest.first != nil else { return nil }
        let query = rest.dropFirst()
        _ = try Self.decoded(query)
        return String(decoding: query, as: UTF8.self)
    }

    private static func decoded(_ text: Substring.UTF8View) throws(CofferError) -> [UInt8] {
        guard let bytes = FormEncoding.percentDecoded(text, plusIsSpace: false) else {
            throw invalid("a percent sign must be followed by two hexadecimal digits")
        }
        return bytes
    }
}
