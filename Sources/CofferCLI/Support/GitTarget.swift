import Coffer
import CofferBase

/// A git credential's target, and the names under which its parts are stored.
///
/// The service is `git:` followed by the URL without the user; the account is the user's name. A password has
/// the kind `access`, its OAuth refresh token has the kind `refresh`, and a credential with an authentication
/// scheme has the kind `other`.
struct GitTarget {
    /// The attribute that holds the authentication scheme.
    static let scheme = "git-authtype"
    private static let prefix = "git:"

    let username: String?
    private let server: String
    private let path: String?

    /// Creates the target of a request. Returns `nil` if the request does not specify a server, because such
    /// a request could match every server.
    ///
    /// Parts are stored and compared byte for byte, as git compares them, without interpreting case, dots or
    /// percent signs. The first slash after the scheme ends the host. A host that contained a slash would
    /// therefore match the path of another server, so such a host is refused, as is a protocol that is not a
    /// valid scheme.
    init?(_ request: GitRequest) throws(CofferError) {
        guard let kind = try request.text("protocol"), !kind.isEmpty else { return nil }
        let host = try request.text("host")
        path = try request.text("path")
        username = try request.text("username")
        guard host?.isEmpty == false || path?.isEmpty == false else { return nil }
        for part in [kind, host ?? "", path ?? "", username ?? ""] where Self.hasControl(part) {
            throw CofferError(
                .invalidInput,
                "The credential request is invalid, because a name contains a control character.")
        }
        guard kind.utf8.allSatisfy(Self.isOfScheme), host?.utf8.contains(UInt8(ascii: "/")) != true else {
            throw CofferError(
                .invalidInput,
                "The credential request is invalid, because the host contains a slash or the "
                    + "protocol is invalid.")
        }
        server = Self.prefix + kind + "://" + (host ?? "")
    }

    /// Reports whether the text contains a control character or a line ending of any kind. A name must stay
    /// on one line wherever it is printed.
    private static func hasControl(_ text: String) -> Bool {
        text.unicodeScalars.contains {
            $0.properties.generalCategory == .control || $0.value == 0x2028 || $0.value == 0x2029
        }
    }

    /// Reports whether a byte may occur in a URL scheme (RFC 3986 section 3.1).
    private static func isOfScheme(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    var service: String { path.map { server + "/" + $0 } ?? server }

    /// Reports whether a stored token matches the request. As in git's own helpers, a part that is missing
    /// from the request matches anything.
    func matches(_ id: TokenID) -> Bool {
        guard username.map({ id.account.hasSameBytes(as: $0) }) ?? true else { return false }
        return id.service.hasSameBytes(as: service)
            || (path == nil && id.service.utf8.hasPrefix(server + "/"))
    }
}
