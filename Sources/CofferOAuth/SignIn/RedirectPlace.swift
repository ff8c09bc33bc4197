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
    package var uri: String { "http://" + host + path }

    /// Creates the place.
    ///
    /// - Parameters:
    ///   - address: The listener's address.
    ///   - port: The listener's port.
    ///   - path: The path of the redirect URI.
    /// - Throws: `invalidInput` if the path is invalid.
    package init(address: LoopbackAddress, port: UInt16, path: String) throws(CofferError) {
        try Self.check(path)
        self.path = path
        donePath = path.hasSameBytes(as: "/done") ? "/finished" : "/done"
        // Browsers leave out the default port.
        host = port == 80 ? address.literal : "\(address.literal):\(port)"
    }

    /// Checks the path of a redirect URI. Browsers change other characters and dots before they send a path.
    package static func check(_ path: String) throws(CofferError) {
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
                "The path of a redirect URI must begin with a slash and consist of letters, digits and "
                    + "-._~ between slashes.")
        }
    }
}
