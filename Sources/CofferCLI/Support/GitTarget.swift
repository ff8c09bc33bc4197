import Coffer
import CofferBase

/// What a credential of git is for, and the names under which its parts are kept.
///
/// The service is `git:` and the URL without user, the account the user's name; the password is of kind
/// access, its OAuth refresh token of kind refresh, a credential with an authentication scheme of kind other.
struct GitTarget {
    /// The attribute with the authentication scheme.
    static let scheme = "git-authtype"
    private static let prefix = "git:"

    let username: String?
    private let server: String
    private let path: String?

    /// `nil` for a request that names no server: it could mean all of them.
    ///
    /// Parts are kept and compared byte for byte, as git compares them: no case, dots or percent signs are
    /// read. The first slash after the scheme ends the host, so a host with a slash in it would be another
    /// server's path and is refused, as is a protocol that is no scheme.
    init?(_ request: GitRequest) throws(CofferError) {
        guard let kind = try request.text("protocol"), !kind.isEmpty else { return nil }
        let host = try request.text("host")
        path = try request.text("path")
        username = try request.text("username")
        guard host?.isEmpty == false || path?.isEmpty == false else { return nil }
        for part in [kind, host ?? "", path ?? "", username ?? ""] where Self.hasControl(part) {
            throw CofferError(.invalidInput, "A credential request has a control character in a name.")
        }
        guard kind.utf8.allSatisfy(Self.isOfScheme), host?.utf8.contains(UInt8(ascii: "/")) != true else {
            throw CofferError(
                .invalidInput, "A credential request has a slash in its host, or a protocol that is none.")
        }
        server = Self.prefix + kind + "://" + (host ?? "")
    }

    /// Line ends of every kind among them: a name is on one line wherever it goes.
    private static func hasControl(_ text: String) -> Bool {
        text.unicodeScalars.contains {
            $0.properties.generalCategory == .control || $0.value == 0x2028 || $0.value == 0x2029
        }
    }

    /// RFC 3986, 3.1.
    private static func isOfScheme(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    var service: String { path.map { server + "/" + $0 } ?? server }

    /// Whether a stored token is of what is asked for: as git's own helpers see it, what is not told may be
    /// anything.
    func matches(_ id: TokenID) -> Bool {
        guard username.map({ id.account.hasSameBytes(as: $0) }) ?? true else { return false }
        return id.service.hasSameBytes(as: service)
            || (path == nil && id.service.utf8.hasPrefix(server + "/"))
    }
}
