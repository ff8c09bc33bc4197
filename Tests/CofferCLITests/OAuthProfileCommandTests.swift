import CofferOAuth
import CofferTesting
import Foundation
import TestSupport
import Testing

@Suite("Profiles and keys of coffer oauth")
struct OAuthProfileCommandTests {
    private let add = [
        "oauth", "profile", "add", "work", "--issuer", "https://a.org", "--client-id", "id",
    ]

    /// Runs a command with its vault's passcode and a text on descriptor 4.
    private func run(_ home: CommandHome, _ arguments: [String], _ text: String) throws -> CommandRun {
        try CommandRun.run(
            CommandRun.cofferPath, arguments + ["--home", home.path, "--passcode-fd", "3"],
            descriptors: [3: Array("2468\n".utf8), 4: Array(text.utf8)])
    }

    @Test("A certificate is checked when it is given, and the error names the option")
    func certificates() throws {
        let home = try CommandHome()
        let key = try home.file("a.key", Array(SampleCertificate.key.utf8))
        let text = try home.file("a.py", Array("import ssl\n".utf8))
        for file in [key, text] {
            let run = try home.run(add + ["--ca-file", file])
            #expect(run.code == 64 && run.errorText.contains("--ca-file"), "\(run.errorText)")
            #expect(!run.errorText.contains("MIGH"))
        }
        #expect(try home("oauth", "profile", "list").text.isEmpty)
        let file = try home.file("ca.pem", Array(SampleCertificate.pem.utf8))
        #expect(try home.run(add + ["--ca-file", file, "--proxy", "proxy.a.org:3128"]).code == 0)
        let shown = try home("oauth", "profile", "show", "work").text
        #expect(shown.contains("authorities: 1 certificate, SHA-256 \(SampleCertificate.digest)\n"))
        #expect(shown.contains("proxy: proxy.a.org:3128\n"))
        for file in [key, text] {
            let wrong = try run(
                home, ["oauth", "key", "import", "work", "--key-fd", "4", "--certificate", file],
                SampleCertificate.key)
            #expect(wrong.code == 64 && wrong.errorText.contains("--certificate"), "\(wrong.errorText)")
        }
        let made = try home("oauth", "key", "create", "work")
        let own = try home("oauth", "key", "show", "work")
        #expect(made.code == 0 && own.text == made.text, "\(own.errorText)")
        let imported = try run(
            home, ["oauth", "key", "import", "work", "--replace", "--key-fd", "4", "--certificate", file],
            SampleCertificate.key)
        #expect(imported.code == 0, "\(imported.errorText)")
        let known = try home("oauth", "key", "show", "work", "--json").json
        #expect(known["certificates"] as? [String] == [SampleCertificate.digest])
        #expect((known["publicKey"] as? [String: Any])?["kty"] as? String == "EC")
    }

    @Test("A key that is not that of the certificate is refused, and nothing is stored")
    func strangeKey() throws {
        let home = try CommandHome()
        #expect(try home.run(add).code == 0)
        let file = try home.file("a.pem", Array(SampleCertificate.pem.utf8))
        let other = """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbK0kXY023+qnRrw6
            FjRhA9YbA3LRUC6438CVzSgHeNahRANCAATpuAY9zvSlxHglf29VSJQ0ZMYzFHsg
            Xcy85Z0D/qRgVOPt7gGdDWQdg1TdJLGaxFjC9v44HMtaUfHoaeuWA363
            -----END PRIVATE KEY-----
            """
        let arguments = ["oauth", "key", "import", "work", "--key-fd", "4", "--certificate", file]
        #expect(try run(home, arguments, other).code == 64)
        let none = try home("oauth", "key", "show", "work")
        #expect(none.code == 3 && none.errorText.contains("coffer oauth key"), "\(none.errorText)")
    }

    @Test("Without a secret on its descriptor no profile is added; with one, the client uses it")
    func secret() throws {
        let home = try CommandHome()
        let arguments = add + ["--client-secret-fd", "4"]
        #expect(try run(home, arguments, "").code == 64)
        #expect(try run(home, arguments, "\n").code == 64)
        #expect(try home("oauth", "profile", "list").text.isEmpty)
        #expect(try run(home, arguments, "s3cret\n").code == 0)
        let shown = try home("oauth", "profile", "show", "work", "--json").json
        #expect(shown["authentication"] as? String == "basic")
        #expect(shown["secrets"] as? [String] == ["secret"])
    }

    @Test("Trust is shown, and an empty value removes it")
    func cleared() throws {
        let home = try CommandHome()
        let pin = String(repeating: "ab", count: 32)
        let file = try home.file("ca.pem", Array(SampleCertificate.pem.utf8))
        let options = [
            "--scope", "api", "--host", "a.org", "--pin", pin, "--ca-file", file, "--redirect-port", "8400",
            "--ipv6",
        ]
        #expect(try home.run(add + ["--pin", "zz"]).errorText.contains("--pin"))
        #expect(try home.run(add + options).code == 0)
        let shown = try home("oauth", "profile", "show", "work", "--json").json
        #expect(shown["pins"] as? [String] == [pin] && shown["trustsSystem"] as? Bool == false)
        #expect(shown["authorities"] as? [String] == [SampleCertificate.digest])
        let update = ["oauth", "profile", "update", "work", "--no-ipv6"]
        let cleared = try home.run(
            update + ["--scope", "", "--host", "", "--pin", "", "--ca-file", "", "--redirect-port", ""])
        #expect(cleared.code == 0, "\(cleared.errorText)")
        let left = try home("oauth", "profile", "show", "work", "--json").json
        #expect(left["pins"] as? [String] == [] && left["authorities"] as? [String] == [])
        #expect(left["trustsSystem"] as? Bool == true && left["hosts"] as? [String] == [])
        #expect(left["scopeList"] as? [String] == [])
        #expect((left["redirect"] as? String)?.contains("8400") == false)
    }

    @Test(
        "A profile that does not exist is 3 in every command",
        arguments: ["status", "refresh", "identity", "logout", "revoke", "token", "login"])
    func unknown(_ command: String) throws {
        let home = try CommandHome()
        let run = try home("oauth", command, "nope", "--json")
        #expect(run.code == 3 && run.errorCode == "absent", "\(run.errorText)")
    }

    @Test("An empty list of servers is 3; a label that gives no name is named")
    func lists() throws {
        let home = try CommandHome()
        let arguments = ["oauth", "profile", "import", "-", "--client-id", "id"]
        #expect(try home.run(arguments, input: Array("<servers/>".utf8)).code == 3)
        let labelled = "<servers><server name=\" zed\" url=\"https://a.org\"/></servers>"
        let run = try home.run(arguments, input: Array(labelled.utf8))
        #expect(run.code == 64 && run.errorText.contains("zed"), "\(run.errorText)")
    }
}

extension OAuthCommandTests {
    @Test("A session whose profile is gone is signed out, and then it is unknown")
    func orphan() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            #expect(try bench.home("oauth", "profile", "remove", "work", "--force").code == 0)
            #expect(try bench.home("oauth", "logout", "work", "--account", "ada").code != 14)
            #expect(try bench.home("oauth", "status", "work").code == 3)
        }
    }

    @Test("A refused certificate names the host and the option, and new endpoints are announced")
    func refusedCertificate() async throws {
        try await OAuthBench.with { (bench) async throws in
            let file = try bench.home.file("other.pem", Array(SampleCertificate.pem.utf8))
            let update = try bench.home("oauth", "profile", "update", "work", "--ca-file", file)
            #expect(update.code == 0 && !update.errorText.contains("endpoints"), "\(update.errorText)")
            let run = try bench.home("oauth", "login", "work", "--device")
            #expect(run.code == 7 && run.errorText.contains(bench.host), "\(run.errorText)")
            #expect(run.errorText.contains("--ca-file"))
            let url = try bench.server.url("/userinfo").text
            let changed = try bench.home(
                "oauth", "profile", "update", "work", "--endpoint", "userinfo_endpoint=\(url)", "--accept")
            #expect(changed.errorText.contains("new endpoints"), "\(changed.errorText)")
        }
    }

    @Test("An empty address is refused with the next step, and nothing is sent")
    func noAddress() async throws {
        try await OAuthBench.with { (bench) async throws in
            let run = try bench.home("oauth", "login", "work", "--no-browser")
            #expect(run.code == 64 && run.errorText.contains("standard input"), "\(run.errorText)")
            #expect(run.errorText.contains("--device") && !run.errorText.contains("only the code"))
            #expect(try await bench.server.requests("/token").isEmpty)
        }
    }

    @Test("An answer to another sign-in is refused with the next step, and nothing is sent")
    func otherSignIn() async throws {
        try await OAuthBench.with { (bench) async throws in
            let run = try bench.home.run(
                ["oauth", "login", "work", "--no-browser"], input: Array("?code=c&state=other\n".utf8))
            #expect(run.code == 7 && run.errorText.contains("Start it again"), "\(run.errorText)")
            #expect(try await bench.server.requests("/token").isEmpty)
        }
    }

    @Test("An endpoint that the server does not announce is entered as the error says")
    func missingEndpoint() async throws {
        try await OAuthBench.with { (bench) async throws in
            let home = bench.home
            #expect(try home("oauth", "profile", "remove", "work").code == 0)
            #expect(try bench.add("work", without: "device_authorization_endpoint").code == 0)
            let login = try home("oauth", "login", "work", "--device")
            #expect(login.code == 1 && login.errorText.contains("--endpoint ENDPOINT=URL --accept"))
            let endpoint = "device_authorization_endpoint=\(try bench.server.url("/device").text)"
            let update = ["oauth", "profile", "update", "work", "--endpoint", endpoint]
            let refused = try home.run(update)
            #expect(refused.code == 11 && refused.errorText.contains("with the same options and --accept"))
            #expect(try home.run(update + ["--accept"]).code == 0)
            try await bench.signIn()
        }
    }

    @Test("A session without an account has no answer for XOAUTH2, and the error says how to get one")
    func noAccount() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.server.answer("/token", OAuthBench.tokens("first"))
            #expect(try bench.home("oauth", "login", "work", "--device").code == 0)
            let run = try bench.home("oauth", "token", "work", "--format", "xoauth2")
            #expect(run.code == 64 && run.errorText.contains("login work --account ACCOUNT"))
            #expect(try bench.home("oauth", "token", "work", "--format", "oauthbearer").code == 0)
            try await bench.signIn("second")
            let named = try bench.home("oauth", "token", "work", "--account", "ada", "--format", "xoauth2")
            #expect(named.code == 0 && !named.text.isEmpty, "\(named.errorText)")
        }
    }

    @Test("A redirect port that another program uses is 75, with the ways to sign in without it")
    func takenPort() async throws {
        try await OAuthBench.with { (bench) async throws in
            let port = String(try bench.server.url("/").port)
            #expect(try bench.home("oauth", "profile", "update", "work", "--redirect-port", port).code == 0)
            let run = try bench.home("oauth", "login", "work")
            #expect(run.code == 75 && run.errorText.contains("127.0.0.1:\(port)"), "\(run.errorText)")
            #expect(run.errorText.contains("--no-browser") && run.errorText.contains("--device"))
        }
    }

    @Test("The claims of an OpenID server are the identity; an answer without any is 7")
    func claims() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            let url = try bench.server.url("/userinfo").text
            _ = try bench.home(
                "oauth", "profile", "update", "work", "--endpoint", "userinfo_endpoint=\(url)", "--accept")
            let claims = #"{"sub":"u1","name":"Ada","preferred_username":"ada","email_verified":true}"#
            try await bench.server.answer("/userinfo", .json(claims))
            let identity = try bench.home("oauth", "identity", "work")
            #expect(identity.text.contains("subject: u1\n"), "\(identity.errorText)")
            #expect(
                identity.text.contains("username: ada\n") && identity.text.contains("emailVerified: true"))
            try await bench.server.answer("/userinfo", .json("{}"))
            #expect(try bench.home("oauth", "identity", "work").code == 7)
        }
    }
}
