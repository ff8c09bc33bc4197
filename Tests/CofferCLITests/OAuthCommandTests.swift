import Coffer
import CofferOAuth
import CofferTesting
import Foundation
import SystemPackage
import TestSupport
import Testing

@Suite(
    "coffer oauth", .enabled(if: CurlTransport.libraryVersion != nil),
    .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
struct OAuthCommandTests {
    @Test("A session is signed in, used, renewed and signed out")
    func session() async throws {
        try await OAuthBench.with(passcode: "2468") { (bench) async throws in
            try await bench.signIn()
            let home = bench.home
            #expect(try home("oauth", "token", "work").text == "first")
            // Forms that only the parser reads mean the same.
            #expect(try home("oauth", "token", "work", "--format=raw").text == "first")
            let unknown = try home("oauth", "token", "work", "--format", "unknown")
            #expect(try unknown.code == 64 && home("oauth", "token", "work", "--format=unknown").code == 64)
            #expect(try home("oauth", "token", "nobody").code == home("oauth", "token", "--", "nobody").code)
            let header = try home("oauth", "token", "work", "--format", "header")
            #expect(header.text == "Authorization: Bearer first\n")
            let json = try home("oauth", "token", "work", "--json").json
            #expect(json["tokenBase64"] as? String == "Zmlyc3Q=" && json["tokenType"] as? String == "Bearer")
            try await bench.server.answer("/token", OAuthBench.tokens("second"))
            let refreshed = try home("oauth", "refresh", "work", "--json")
            #expect(refreshed.json["state"] as? String == "paired", "\(refreshed.errorText)")
            #expect(try home("oauth", "token", "work", "--account", "ada").text == "second")
            let list = try home("oauth", "list", "--json").json["sessions"] as? [[String: Any]]
            #expect(list?.count == 1 && list?.first?["account"] as? String == "ada")
            let status = try home("oauth", "status", "work").text
            #expect(status.contains("state: paired\n") && status.contains("\naccessExpires: 20"), "\(status)")
            let logout = try home("oauth", "logout", "work", "--json")
            let receipt = (logout.json["sessions"] as? [[String: Any]])?.first
            #expect(receipt?["isRevokedAtServer"] as? Bool == true, "\(logout.errorText)")
            #expect(try home("oauth", "token", "work").code == 14)
        }
    }

    @Test("Logging out again revokes what an earlier logout could not")
    func logoutAgain() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            let home = bench.home
            try await bench.server.answer("/revoke", .json("{}", status: 503))
            let first = try home("oauth", "logout", "work", "--account", "ada")
            #expect(first.code == 0 && first.errorText.contains("not revoked"), "\(first.errorText)")
            #expect(try home("token", "list").text.contains("oauth:work#revoke"))
            try await bench.server.answer("/revoke", .json("{}"))
            let second = try home("oauth", "logout", "work", "--account", "ada")
            #expect(second.code == 14 && second.errorText.contains("no session work/ada to sign out"))
            #expect(!second.errorText.contains("coffer oauth login"), "\(second.errorText)")
            #expect(try !home("token", "list").text.contains("#revoke"))
        }
    }

    @Test("Tokens that wait to be revoked are said, listed and not forgotten with their profile")
    func waiting() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            let home = bench.home
            try await bench.server.answer("/revoke", .json("{}", status: 503))
            let logout = try home("oauth", "logout", "work")
            #expect(logout.code == 0, "\(logout.errorText)")
            let next = "2 tokens of work/ada wait to be revoked at the server. Run coffer oauth logout --all"
            #expect(logout.errorText.contains(next), "\(logout.errorText)")
            let again = try home("oauth", "logout", "--all", "--json")
            let left = (again.json["waiting"] as? [[String: Any]])?.first
            #expect(again.code == 0 && left?["tokens"] as? Int == 2 && left?["hasServer"] as? Bool == true)
            #expect(again.errorText.contains(next), "\(again.errorText)")
            #expect(try home("oauth", "list").text.contains("waiting"))
            let listed = try home("oauth", "list", "--json").json["waiting"] as? [[String: Any]]
            #expect(listed?.first?["account"] as? String == "ada")
            let removed = try home("oauth", "profile", "remove", "work")
            #expect(removed.code == 10 && removed.errorText.contains("wait to be revoked"))
            try await bench.server.answer("/revoke", .json("{}"))
            let last = try home("oauth", "logout", "--all", "--json")
            #expect((last.json["waiting"] as? [Any])?.isEmpty == true && last.errorText.isEmpty)
            #expect(try home("oauth", "profile", "remove", "work").code == 0)
        }
    }

    @Test("coffer doctor says if a server's clock differs from this machine's by more than 5 minutes")
    func serverClock() async throws {
        func check(_ home: CommandHome) throws -> [String: Any]? {
            let checks = try home("doctor", "--json").json["checks"] as? [[String: Any]]
            return checks?.first { $0["name"] as? String == "server-clock" }
        }
        func answer(_ name: String, _ date: Date) -> ScriptedAnswer {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: "GMT")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let body = """
                {"access_token":"\(name)","refresh_token":"\(name)-next","token_type":"Bearer"}
                """
            return .response(fields: [("Date", format.string(from: date))], body: body)
        }
        try await OAuthBench.with { (bench) async throws in
            #expect(try check(bench.home) == nil)
            try await bench.signIn()
            #expect(try check(bench.home) == nil)
            try await bench.server.answer("/token", answer("second", Date()))
            #expect(try bench.home("oauth", "refresh", "work").code == 0)
            #expect(try check(bench.home)?["status"] as? String == "ok")
            try await bench.server.answer("/token", answer("third", Date(timeIntervalSinceNow: -4000)))
            #expect(try bench.home("oauth", "refresh", "work").code == 0)
            let found = try check(bench.home)
            #expect(found?["status"] as? String == "advisory")
            let message = found?["message"] as? String ?? ""
            #expect(message.contains("work/ada is 66 minutes behind"), "\(message)")
        }
    }

    @Test("A session that cannot be signed out does not stop the others, and ends the command with its error")
    func others() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            // A newer release stored the state of this session.
            let vault = try await Vault(at: VaultLocation(path: FilePath(bench.home.path)))
            try await vault.unlock()
            try await vault.tokens.putReserved(
                try Token(copying: [2, 0]), for: GrantID(profile: "work", account: "aaa").grantRow,
                class: .whenUnlockedThisDeviceOnly)
            vault.close()
            let run = try bench.home("oauth", "logout", "--all", "--json")
            #expect(run.code != 0 && run.errorText.contains("newer release"), "\(run.errorText)")
            #expect((run.json["sessions"] as? [[String: Any]])?.first?["account"] as? String == "ada")
            #expect((run.json["error"] as? [String: Any])?["code"] as? String == "unsupportedVersion")
            #expect(try await bench.server.requests("/revoke").count == 2)
            #expect(try bench.home("oauth", "status", "work", "--account", "ada").code == 14)
        }
    }

    @Test("The browser brings the answer back to this machine")
    func browser() async throws {
        try await OAuthBench.with { (bench) async throws in
            let script = """
                #!/usr/bin/env python3
                import sys, urllib.parse, urllib.request
                query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(sys.argv[1]).query))
                answer = urllib.parse.urlencode({"code": "c", "state": query["state"]})
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                opener.open(query["redirect_uri"] + "?" + answer).read()

                """
            let path = try bench.home.file("browser", Array(script.utf8))
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
            try await bench.server.answer("/token", OAuthBench.tokens("first"))
            let run = try bench.home.run(
                ["oauth", "login", "work", "--account", "ada"], environment: ["BROWSER": path])
            #expect(run.code == 0, "\(run.errorText)")
            #expect(try bench.home("oauth", "token", "work").text == "first")
        }
    }

    @Test("A pasted code in place of the address is refused; it is not shown on the terminal")
    func pasted() async throws {
        try await OAuthBench.with { (bench) async throws in
            let run = try TerminalRun.coffer(
                ["a-code"],
                ["oauth", "login", "work", "--no-browser", "--home", bench.home.path])
            #expect(run.code == 64 && run.prompts == 1 && run.isQuiet, "\(run.shown)")
            #expect(run.shown.contains("/authorize?") && !run.shown.contains("a-code"))
            #expect(run.shown.contains("Start the sign-in again"), "\(run.shown)")
            #expect(try await bench.server.requests("/token").isEmpty)
        }
    }

    @Test("A token goes only to a host that the profile lists")
    func hosts() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            let home = bench.home
            #expect(try home("oauth", "token", "work", "--for", "https://\(bench.host)/a").text == "first")
            let other = try home("oauth", "token", "work", "--for", "https://example.org/", "--json")
            #expect(other.code == 7 && other.errorCode == "hostRefused")
            #expect(try home("oauth", "token", "work", "--for", "http://\(bench.host)/").code == 64)
        }
    }

    @Test("Signing out where the server revokes no tokens says so, and nothing waits")
    func noRevocation() async throws {
        try await OAuthBench.with { (bench) async throws in
            let home = bench.home
            #expect(try home("oauth", "profile", "remove", "work").code == 0)
            #expect(try bench.add("work", without: "revocation_endpoint").code == 0)
            try await bench.signIn()
            let logout = try home("oauth", "logout", "work", "--json")
            let receipt = (logout.json["sessions"] as? [[String: Any]])?.first
            #expect(logout.code == 0 && receipt?["refreshToken"] as? String == "unsupported")
            #expect((logout.json["waiting"] as? [Any])?.isEmpty == true)
            let reason = "announces no revocation_endpoint: they may be valid there until they expire"
            #expect(logout.errorText.contains(reason), "\(logout.errorText)")
            // The advice is true.
            #expect(logout.errorText.contains("work --endpoint revocation_endpoint=URL --accept"))
            let endpoint = "revocation_endpoint=\(try bench.server.url("/revoke").text)"
            let update = ["oauth", "profile", "update", "work", "--endpoint", endpoint, "--accept"]
            #expect(try home.run(update).code == 0)
            try await bench.signIn("second")
            #expect(try home("oauth", "logout", "work").errors.isEmpty)
        }
    }

    @Test("A server that refuses is 11, and the session stays")
    func refused() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            let refusal = #"{"error":"invalid_client"}"#
            try await bench.server.answer("/token", .json(refusal, status: 400))
            let run = try bench.home("oauth", "refresh", "work", "--json")
            let error = run.json["error"] as? [String: Any]
            #expect(run.code == 11 && error?["serverCode"] as? String == "invalid_client")
            #expect(try bench.home("oauth", "token", "work").text == "first")
        }
    }

    @Test("A server that repeats the token that it refuses brings no part of it to the terminal or the list")
    func repeatedToken() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn("confidential")
            for code in ["invalid_token", "invalid_scope"] {
                let refusal = #"{"error":"\#(code)","error_description":"Expired: confidential-next"}"#
                try await bench.server.answer("/token", .json(refusal, status: 401))
                let run = try bench.home("oauth", "refresh", "work")
                #expect(run.code == 11 && run.errorText.contains("refused the request: \(code)."))
                #expect(!run.errorText.contains("confid"), "\(run.errorText)")
                #expect(try !bench.home("oauth", "list", "--json").text.contains("confid"))
            }
            let refusal = #"{"error":"invalid_scope","error_description":"Not for you"}"#
            try await bench.server.answer("/token", .json(refusal, status: 400))
            let run = try bench.home("oauth", "refresh", "work")
            #expect(run.errorText.contains("invalid_scope (Not for you)"), "\(run.errorText)")
        }
    }

    @Test("A refused sign-in on another device names the server's code, or the endpoint and the status")
    func refusedDevice() async throws {
        try await OAuthBench.with { (bench) async throws in
            for (status, body, code, text) in [
                (404, "{}", 11 as Int32, "token endpoint refused the request without a reason (HTTP"),
                (302, "", 7, "token endpoint answered with a redirect"),
                (401, #"{"error":"invalid_client"}"#, 11, "refused the request: invalid_client."),
            ] {
                try await bench.server.answer("/token", .json(body, status: status))
                let run = try bench.home("oauth", "login", "work", "--device")
                #expect(run.code == code && run.errorText.contains(text), "\(run.errorText)")
            }
        }
    }

    @Test("git's user learns that several sessions list the host, and the account in the URL chooses one")
    func gitAmongSeveral() async throws {
        let helper = try LinkedHelper("git-credential-coffer")
        try await OAuthBench.with(home: helper.home) { (bench) async throws in
            try await bench.signIn()
            try await bench.server.answer("/token", OAuthBench.tokens("second"))
            let login = try bench.home("oauth", "login", "work", "--account", "bob", "--device")
            try #require(login.code == 0, "\(login.errorText)")
            let request = "protocol=https\nhost=\(bench.host)\n"
            let neither = try helper("get", request + "\n")
            #expect(neither.code == 0 && neither.text.isEmpty)
            #expect(neither.errorText.contains("work/ada, work/bob"), "\(neither.errorText)")
            #expect(neither.errorText.contains("https://ACCOUNT@\(bench.host)/"))
            #expect(try helper("store", request + "username=x\npassword=y\n").errors.isEmpty)
            let chosen = try helper("get", request + "username=bob\n\n")
            #expect(chosen.text.contains("password=second\n") && chosen.errors.isEmpty)
            // A shell completes the accounts of the profile that stands before.
            let line = ["coffer", "oauth", "token", "work", "--account", ""]
            let offered = try CommandRun.run(
                CommandRun.cofferPath, ["---completion", "oauth", "--", "positional@0", "5", "0"] + line,
                environment: ["COFFER_HOME": bench.home.path])
            #expect(offered.text == "ada\nbob\n", "\(offered.text) \(offered.errorText)")
        }
    }

    @Test("A session that the server revoked takes the user's vault with it, and the command says so")
    func erased() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            let made = try bench.home("init", "--user", "ada", "--keyring", "file", "--no-passcode")
            try #require(made.code == 0, "\(made.errorText)")
            let kept = #"{"access_token":"second","token_type":"Bearer","expires_in":3600}"#
            try await bench.server.answer("/token", .json(kept))
            #expect(try bench.home("oauth", "refresh", "work").code == 0)
            try await bench.server.answer("/token", .json(#"{"error":"invalid_grant"}"#, status: 400))
            let run = try bench.home("oauth", "refresh", "work")
            #expect(run.code != 0 && run.errorText.contains("the vault of the user ada was erased"))
            #expect(run.errorText.contains("A new sign-in is needed: the server revoked the session. Run "))
            #expect(try bench.home("token", "list", "--user", "ada").code == 6)
        }
    }

    @Test("A vault that is put back after a renewal loses its session, and the user's vault stays")
    func putBack() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            let made = try bench.home("init", "--user", "ada", "--keyring", "file", "--no-passcode")
            try #require(made.code == 0, "\(made.errorText)")
            let copy = bench.home.path + "-copy"
            try FileManager.default.copyItem(atPath: bench.home.path, toPath: copy)
            try await bench.server.answer("/token", OAuthBench.tokens("second"))
            #expect(try bench.home("oauth", "refresh", "work").code == 0)
            try FileManager.default.removeItem(atPath: bench.home.path)
            try FileManager.default.moveItem(atPath: copy, toPath: bench.home.path)
            try await bench.server.answer("/token", .json(#"{"error":"invalid_grant"}"#, status: 400))
            let run = try bench.home("oauth", "refresh", "work")
            #expect(run.code == 14 && run.errorText.contains("a copy of the vault renewed it"))
            #expect(try bench.home("token", "list", "--user", "ada").code == 0)
        }
    }

    @Test("A session whose time is over is shown as expired, and the user's vault stays")
    func overdue() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            let made = try bench.home("init", "--user", "ada", "--keyring", "file", "--no-passcode")
            try #require(made.code == 0, "\(made.errorText)")
            let update = ["oauth", "profile", "update", "work", "--policy", "eachStart"]
            try #require(try bench.home.run(update).code == 0)
            let status = try bench.home("oauth", "status", "work")
            #expect(status.code == 14 && status.text.contains("state: expired\n"), "\(status.errorText)")
            let list = try bench.home("oauth", "list", "--json").json["sessions"] as? [[String: Any]]
            #expect(list?.first?["state"] as? String == "expired")
            #expect(try bench.home("oauth", "token", "work").code == 14)
            #expect(try bench.home("token", "list", "--user", "ada").code == 0)
        }
    }

    @Test("A token that is due or refused is renewed for git, and a live one is not")
    func git() async throws {
        let helper = try LinkedHelper("git-credential-coffer")
        try await OAuthBench.with(home: helper.home) { (bench) async throws in
            try await bench.signIn(life: 20)
            try await bench.server.answer("/token", OAuthBench.tokens("second"))
            try await bench.server.forgetRequests()
            let request = "protocol=https\nhost=\(bench.host)\n\n"
            for _ in 1...2 {
                let run = try helper("get", request)
                #expect(run.text.contains("username=oauth2\npassword=second\n"), "\(run.errorText)")
                #expect(run.text.contains("password_expiry_utc="))
            }
            #expect(try await bench.server.requests("/token").count == 1)
            // Git approves the password; nothing more is stored.
            let before = try helper.home.status()["tokens"] as? Int
            let approved = request.dropLast() + "username=oauth2\npassword=second\n"
            #expect(try helper("store", String(approved)).code == 0)
            #expect(try helper.home.status()["tokens"] as? Int == before)
            #expect(try helper("get", "protocol=https\nhost=example.org\n").text.isEmpty)
            // The server refused the password, so git erases it; another password changes nothing.
            try await bench.server.answer("/token", OAuthBench.tokens("third"))
            for _ in 1...2 {
                #expect(try helper("erase", String(approved)).code == 0)
                #expect(try helper("get", request).text.contains("password=third\n"))
            }
            #expect(try await bench.server.requests("/token").count == 2)
            #expect(try helper.home.status()["tokens"] as? Int == before)
        }
    }

    @Test("A token that was renewed before git stores it is not stored")
    func gitStoresNothing() async throws {
        let helper = try LinkedHelper("git-credential-coffer")
        try await OAuthBench.with(home: helper.home) { (bench) async throws in
            try await bench.signIn()
            let before = try helper.home.status()["tokens"] as? Int
            let request = "protocol=https\nhost=\(bench.host)\n"
            for user in ["oauth2", "ada"] {
                #expect(try helper("store", request + "username=\(user)\npassword=earlier\n").code == 0)
                #expect(try helper.home.status()["tokens"] as? Int == before, "\(user)")
            }
            #expect(try helper.home("oauth", "logout", "work").code == 0)
            #expect(try helper("get", request).text.isEmpty)
        }
    }

    @Test("Git's host must be a host: the end of another text says nothing")
    func gitHosts() async throws {
        let helper = try LinkedHelper("git-credential-coffer")
        try await OAuthBench.with(home: helper.home) { (bench) async throws in
            let update = try helper.home(
                "oauth", "profile", "update", "work", "--host", bench.host, "--host", "*.example.org")
            #expect(update.code == 0, "\(update.errorText)")
            try await bench.signIn()
            for host in ["a.example.org", "A.Example.ORG:443"] {
                #expect(try helper("get", "protocol=https\nhost=\(host)\n").text.contains("password=first\n"))
            }
            for host in [
                "evil.com/.example.org", "evil.com#.example.org", "evil.com?.example.org", "..example.org",
                "evil.com:80\\.example.org", "u@evil.com:1/a.example.org", "u@a.example.org",
                "a.example.org:", "a.example.org:443:443", "example.org",
            ] {
                #expect(try helper("get", "protocol=https\nhost=\(host)\n").text.isEmpty, "\(host)")
            }
        }
    }
}
