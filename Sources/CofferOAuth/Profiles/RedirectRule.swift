import CofferBase

/// The address on this machine to which the browser returns after a sign-in.
public struct RedirectRule: Sendable, Hashable {
    /// An address of this machine. The name `localhost` is not among them, because it can be made to mean
    /// another machine.
    public enum Loopback: String, Sendable, Hashable, CaseIterable {
        /// The address 127.0.0.1.
        case ipv4 = "127.0.0.1"
        /// The address ::1.
        case ipv6 = "::1"
    }

    /// The address.
    public var address: Loopback
    /// The port that is registered with the server; `nil` if the server accepts any port.
    public var port: UInt16?
    /// The path, which begins with a slash and is different for each profile.
    public var path: String

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - port: The registered port; `nil` for any free port.
    ///   - path: The path, which begins with a slash.
    public init(address: Loopback = .ipv4, port: UInt16? = nil, path: String) {
        self.address = address
        self.port = port
        self.path = path
    }

    /// Returns the redirect URI for a port on which a listener waits.
    ///
    /// - Parameter port: The port.
    /// - Returns: The URI, which begins with `http://` because it never leaves this machine.
    public func uri(port: UInt16) -> String {
        let host = address == .ipv6 ? "[\(address.rawValue)]" : address.rawValue
        return "http://\(host):\(port)\(path)"
    }

    /// Throws `invalidInput` if the path or the port is invalid.
    func check() throws(CofferError) {
        let url = try? HTTPSURL("https://127.0.0.1" + path)
        guard let url, path.utf8.first == UInt8(ascii: "/"), url.query == nil, path.utf8.count <= 256,
            port != 0
        else {
            throw CofferError(
                .invalidInput,
                "A redirect's path must begin with a slash, must have no query and must be at most 256 bytes "
                    + "long, and its port must not be 0.")
        }
    }
}
