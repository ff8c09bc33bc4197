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
    init?(_ request: GitRequest) throws(CofferError) {
        guard let kind = try request.text("protocol"), !kind.isEmpty else { return nil }
        let host = try request.text("host")
        path = try request.text("path")
        username = try request.text("username")
        guard host?.isEmpty == false || path?.isEmpty == false else { return nil }
        server = Self.prefix + kind + "://" + (host ?? "")
        for part in [server, path ?? "", username ?? ""]
        where part.unicodeScalars.contains(where: \.endsLine) {
            throw CofferError(.invalidInput, "A credential request has a control character in a name.")
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
