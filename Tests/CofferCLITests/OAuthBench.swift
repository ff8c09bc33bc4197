import CofferOAuth
import CofferTesting
import Foundation
import TestSupport
import Testing

/// A home with a profile of a scripted server.
struct OAuthBench {
    let home: CommandHome
    let server: ScriptedServer
    /// The host and port that the profile lists.
    let host: String

    /// Starts a server and adds the profile `work` to a home.
    static func with(
        passcode: String? = nil, home: CommandHome? = nil, _ body: (OAuthBench) async throws -> Void
    ) async throws {
        try await ScriptedServer.with { server in
            let home = try home ?? CommandHome(passcode: passcode)
            let bench = OAuthBench(
                home: home, server: server, host: "127.0.0.1:\(try server.url("/").port)")
            try await server.answer("/device", .json(Self.codes(try server.url("/page").text)))
            try await server.answer("/revoke", .json("{}"))
            let added = try bench.add("work")
            try #require(added.code == 0, "\(added.errorText)")
            try await body(bench)
        }
    }

    private static func codes(_ page: String) -> String {
        """
        {"device_code":"d","user_code":"ABCD","verification_uri":"\(page)","expires_in":60,"interval":1}
        """
    }

    /// An answer with tokens.
    static func tokens(_ name: String, life: Int = 3600, type: String = "Bearer") -> ScriptedAnswer {
        .json(
            """
            {"access_token":"\(name)","refresh_token":"\(name)-next","token_type":"\(type)",\
            "expires_in":\(life),"scope":"api"}
            """)
    }

    /// Adds a profile with the server's endpoints but one.
    func add(_ name: String, _ more: String..., without left: String? = nil) throws -> CommandRun {
        guard case .certificates(let authority) = server.security.trust else {
            throw CocoaError(.fileNoSuchFile)
        }
        var options = [
            "--issuer", try server.url("").origin, "--client-id", "desktop", "--scope", "api", "--host",
            host, "--ca-file", try home.file("ca.pem", authority),
        ]
        for (endpoint, path) in [
            ("authorization_endpoint", "/authorize"), ("token_endpoint", "/token"),
            ("device_authorization_endpoint", "/device"), ("revocation_endpoint", "/revoke"),
        ] where endpoint != left {
            options += ["--endpoint", "\(endpoint)=\(try server.url(path).text)"]
        }
        return try home.run(["oauth", "profile", "add", name] + options + more)
    }

    /// Signs `ada` in with a device code.
    func signIn(_ name: String = "first", life: Int = 3600) async throws {
        try await server.answer("/token", Self.tokens(name, life: life))
        let run = try home("oauth", "login", "work", "--account", "ada", "--device")
        try #require(run.code == 0, "\(run.errorText)")
        #expect(run.errorText.contains("ABCD") && run.errorText.contains("Never enter a code"))
        #expect(run.errorText.contains("Waiting up to 60 seconds"), "\(run.errorText)")
    }
}
