@testable import CofferOAuth
import CofferBase
import CofferCrypto
import CofferEngine

/// What browsers and other programs send to the loopback listener, and what users paste.
extension FuzzTarget {
    static let redirects = [FuzzTarget("redirect") { bytes, _ in try readRedirect(bytes) }]

    /// A head that was read lies within its bytes and is read in the same way when more follow; its
    /// parameters belong to no sign-in.
    private static func readRedirect(_ bytes: [UInt8]) throws {
        try paste(bytes)
        guard let request = try RedirectRequest.parse(bytes.span) else { return }
        try FuzzFinding.require(request.count <= bytes.count, "a head is longer than its bytes")
        let longer = bytes + Array("GET / HTTP/1.1\r\n".utf8)
        try FuzzFinding.require(
            try RedirectRequest.parse(longer.span) == request, "the bytes behind a head change it")
        try FuzzFinding.require(
            try RedirectRequest.parse(bytes.span.extracting(0..<request.count)) == request,
            "a head needs the bytes behind it")
        let place = try RedirectPlace(address: .ipv4, port: 8400, path: "/callback")
        guard case .redirect(let query) = request.verdict(bytes.span, at: place) else { return }
        try refuse(bytes.span.extracting(query))
    }

    private static func refuse(_ query: Span<UInt8>) throws {
        let parameters = try RedirectParameters.parse(query)
        _ = try parameters.printable("error_description")
        _ = try AuthorizationRedirect.check(parameters, for: request())
        throw FuzzFinding("an answer with a wrong state is accepted")
    }

    private static func paste(_ bytes: [UInt8]) throws {
        do throws(CofferError) {
            _ = try PastedRedirect.parse(SecretBytes.copying(bytes.span), for: request())
        } catch {
            return
        }
        throw FuzzFinding("a pasted answer with a wrong state is accepted")
    }

    private static func request() throws(CofferError) -> AuthorizationRequest {
        try .make(
            AuthorizationRequest.Contents(
                issuer: "https://login.example.org", clientID: "client",
                redirectURI: "http://127.0.0.1:8400/callback"))
    }
}
