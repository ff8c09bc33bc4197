import CofferBase

/// A server at which people can sign in, with the label by which they know it.
public struct LoginServer: Sendable, Hashable {
    /// The label for people.
    public let label: String
    /// The server's URL.
    public let url: HTTPSURL

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - label: The label for people.
    ///   - url: The server's URL.
    public init(label: String, url: HTTPSURL) {
        self.label = label
        self.url = url
    }

    /// Whether a text can be a label: 1 to 256 bytes without control characters, line ends and characters
    /// that change the direction of the text, with which one label could look like another.
    static func isLabel(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && !$0.endsLine
                    && !$0.properties.isBidiControl
            }
    }
}
