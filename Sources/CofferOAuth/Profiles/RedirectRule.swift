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
    /// The path, which begins with a slash and is different for each profile: letters, digits and `-._~`
    /// between slashes.
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
    public func uri(port: UInt16) -> String { "http://" + host(port: port) + path }

    /// Returns the address and the port as the `Host` header and the redirect URI contain them.
    func host(port: UInt16) -> String {
        let host = address == .ipv6 ? "[\(address.rawValue)]" : address.rawValue
        // Browsers leave out the default port.
        return port == 80 ? host : "\(host):\(port)"
    }

    /// Throws `invalidInput` if the path or the port is invalid.
    func check() throws(CofferError) {
        try Self.check(path: path)
        guard port != 0 else { throw CofferError(.invalidInput, "A redirect's port must not be 0.") }
    }

    /// Throws `invalidInput` if the path is invalid. Browsers change other characters and dots before they
    /// send a path.
    static func check(path: String) throws(CofferError) {
        let isAllowed = path.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "/-._~".utf8.contains(byte)
            }
        }
        let segments = path.parts(between: "/", keepsEmpty: true).dropFirst()
        let hasDots = segments.contains { $0.hasSameBytes(as: ".") || $0.hasSameBytes(as: "..") }
        guard path.utf8.first == UInt8(ascii: "/"), isAllowed, !hasDots, path.utf8.count <= 256,
            !segments.dropLast().contains(where: \.isEmpty)
        else {
            throw CofferError(
                .invalidInput,
                "The path of a redirect URI must begin with a slash, must be at most 256 bytes long and must "
                    + "consist of letters, digits and -._~ between slashes.")
        }
    }
}
