import CofferBase
import CofferCrypto
import CofferEngine

/// The signs in a response that its access token is to be renewed.
struct RenewalSign {
    /// The longest body in which a code is looked for. A body with a code is short.
    private static let maxByteCount = 64 << 10

    private let quirks: ServerQuirks

    init(_ quirks: ServerQuirks) { self.quirks = quirks }

    /// Returns whether a response says that its access token is to be renewed: 401; 403 with `invalid_token`
    /// or a code that the profile lists, or without any code if the profile says so; a redirect to the
    /// profile's page for signing in.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - url: The URL of the request.
    /// - Returns: Whether the token is to be renewed.
    func isPresent(in response: HTTPResponse, from url: HTTPSURL) -> Bool {
        if response.status == 401 { return true }
        if response.isRedirect { return leadsToSignIn(response, from: url) }
        guard response.status == 403 else { return false }
        let known = ["invalid_token"] + quirks.renewalCodes
        let codes = Self.codes(in: response)
        var all = codes
        if let word = response.onlyWord { all.append(word) }
        let isKnown = all.contains { code in known.contains { $0.hasSameBytes(as: code) } }
        return isKnown || (codes.isEmpty && quirks.renewsOnBareForbidden)
    }

    /// Returns whether a response is a redirect to the profile's page for signing in.
    func leadsToSignIn(_ response: HTTPResponse, from url: HTTPSURL) -> Bool {
        guard let page = quirks.signInPage, response.isRedirect,
            let target = try? response.target(from: url)
        else { return false }
        return target.origin.hasSameBytes(as: page.origin) && target.path.utf8.hasPrefix(page.path)
    }

    /// The codes in a response's challenge and in the JSON of its body, which can be a list of errors.
    private static func codes(in response: HTTPResponse) -> [String] {
        var codes: [String] = []
        if let code = HTTPChallenge.error(in: response) { codes.append(code) }
        guard response.body.count <= maxByteCount else { return codes }
        // An error document is not secret.
        let body = response.body.exposing { $0.copied() }
        guard let json = try? JSONValue(parsing: body) else { return codes }
        for name in ["error", "errorCode"] {
            if let code = (json[name] ?? json[0]?[name])?.string { codes.append(code) }
        }
        return codes
    }
}

extension HTTPResponse {
    /// Returns the URL to which a redirect leads.
    ///
    /// - Parameter url: The URL of the request.
    /// - Returns: The URL.
    /// - Throws: `redirectRefused` if it is missing, repeated, or neither an `https` URL nor a path of the
    ///   same server.
    func target(from url: HTTPSURL) throws(CofferError) -> HTTPSURL {
        let fields = headers.filter { $0.name.hasSameBytes(as: "location") }
        guard fields.count == 1, let location = fields.first?.value else {
            throw Self.redirectRefused("does not say where to")
        }
        // Two slashes begin another server's name.
        let isPath = location.utf8.hasPrefix("/") && !location.utf8.hasPrefix("//")
        do throws(CofferError) {
            return try HTTPSURL(isPath ? url.origin + location : location)
        } catch {
            throw Self.redirectRefused("does not lead to an https URL")
        }
    }

    /// Returns the error for a redirect.
    static func redirectRefused(_ reason: String) -> CofferError {
        CofferError(.redirectRefused, "The server answered with a redirect that \(reason).")
    }
}
