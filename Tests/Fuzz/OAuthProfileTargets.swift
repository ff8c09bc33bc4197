@testable import CofferOAuth
import CofferBase

/// What comes from servers and administrators before a sign-in: URLs, discovery documents and lists.
extension FuzzTarget {
    static let oauthProfiles = [
        FuzzTarget("https-url") { bytes, _ in try readURL(bytes) },
        FuzzTarget("servers-xml") { bytes, _ in
            let servers = try LoginServer.servers(parsing: bytes)
            let isPlain = servers.allSatisfy { LoginServer.isLabel($0.label) && $0.url.query == nil }
            try FuzzFinding.require(isPlain, "a server has no label or a URL with a query")
            try FuzzFinding.require(Set(servers.map(\.url)).count == servers.count, "a server is there twice")
            let words = String(decoding: bytes, as: UTF8.self)
            try FuzzFinding.require(
                !words.contains("<!DOCTYPE") || words.contains("<!--"), "a document type is accepted")
        },
        FuzzTarget("discovery") { bytes, _ in try readDocuments(bytes) },
    ]

    /// A URL that was read is the sum of its parts, and no other text has the same parts.
    private static func readURL(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        _ = try? HostPattern(text)
        let url = try HTTPSURL(text)
        let query = url.query.map { "?" + $0 } ?? ""
        let texts = [url.origin + url.path + query, url.origin + ":443" + url.path + query]
        try FuzzFinding.require(
            texts.contains { $0.hasSameBytes(as: url.text) }, "a URL is not the sum of its parts")
        let longer = url.appending(query: [("a b", text)])
        guard longer.text.utf8.count <= HTTPSURL.maxByteCount else { return }
        try FuzzFinding.require(
            (try? HTTPSURL(longer.text)) == longer && longer.origin == url.origin,
            "a URL with a parameter is another")
        let pattern = String(decoding: url.origin.utf8.dropFirst("https://".utf8.count), as: UTF8.self)
        try FuzzFinding.require(
            (try? HostPattern(pattern))?.matches(url) == true, "a URL's own host does not match it")
    }

    /// The same bytes as a server's document, an administrator's file and a stored profile.
    private static func readDocuments(_ bytes: [UInt8]) throws {
        if let managed = try? ManagedConfiguration(parsing: bytes) {
            let origins = managed.servers.map(\.url.origin)
            try FuzzFinding.require(Set(origins).count == origins.count, "a server is there twice")
        }
        if let profile = try? OAuthProfile(decoding: bytes) {
            try FuzzFinding.require(
                OAuthProfile(decoding: profile.encoded()) == profile, "a profile comes back as another")
        }
        let metadata = try ServerMetadata(parsing: bytes, issuer: HTTPSURL("https://login.example.org"))
        try FuzzFinding.require(
            metadata.endpoints.urls[.token] != nil, "a server without a token endpoint is accepted")
        var profile = try OAuthProfile("fuzz", issuer: "https://login.example.org", clientID: "a")
        try profile.adopt(metadata)
        let stored = try? OAuthProfile(decoding: profile.encoded())
        try FuzzFinding.require(stored == profile, "announced endpoints cannot be stored")
    }
}
