import CofferOAuth
import CofferTesting
import Foundation
import TestSupport
import Testing

@Suite("The programs of coffer oauth")
struct OAuthProgramTests {
    @Test(
        "coffer itself answers with a live token; for the rest it needs its companion, not one in PATH",
        .enabled(if: CurlTransport.libraryVersion != nil),
        .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
    func alone() async throws {
        try await OAuthBench.with { (bench) async throws in
            try await bench.signIn()
            let copy = try bench.home.lonelyCommand()
            let path = ["PATH": CommandRun.programs + ":/usr/bin:/bin"]
            let home = ["--home", bench.home.path]
            for arguments in [["work"], ["work", "--account", "ada"], ["--format=raw", "work"]] {
                let run = try CommandRun.run(copy, ["oauth", "token"] + arguments + home, environment: path)
                #expect(run.code == 0 && run.text == "first", "\(run.errorText)")
            }
            let run = try CommandRun.run(copy, ["oauth", "refresh", "work"] + home, environment: path)
            #expect(run.code == 1 && run.errorText.contains("coffer-oauth"), "\(run.errorText)")
        }
    }

    @Test("Help, unknown commands and options are those of the other program")
    func words() throws {
        let help = try CommandRun.coffer("oauth", "--help")
        #expect(help.code == 0 && help.text.contains("logout") && help.text.contains("profile"))
        let unknown = try CommandRun.coffer("oauth", "logn")
        #expect(unknown.code == 64 && unknown.errorText.contains("coffer oauth login"))
        #expect(try CommandRun.coffer("oauth", "token").code == 64)
        #expect(try CommandRun.coffer("help", "oauth", "login").text.contains("--no-browser"))
        #expect(try CommandRun.coffer("help", "oauth").text.contains("coffer-oauth"))
    }

    @Test(
        "Help says what a user must know, and each value once",
        arguments: [
            (["profile", "add"], "http://127.0.0.1/oauth/NAME"), (["profile", "add"], "7200"),
            (["profile", "add"], "programs that keep running"), (["status"], "uncertain"),
            (["list"], "uncertain"), (["refresh"], "tokenRevoked"),
            (["status"], "the one without a name"),
        ])
    func help(_ command: [String], _ text: String) throws {
        let help = try CommandRun.run(CommandRun.cofferPath, ["oauth"] + command + ["--help"])
        // The parser breaks lines where it likes.
        let words = help.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(help.code == 0 && words.contains(text), "\(help.text)")
        #expect(words.split(separator: "mutual-tls").count <= 2)
    }

    @Test("Profiles are added, shown, changed and removed")
    func profiles() throws {
        let home = try CommandHome()
        let add = [
            "oauth", "profile", "add", "work", "--issuer", "https://login.example.org", "--client-id", "id",
            "--scope", "full", "--host", "api.example.org",
        ]
        let added = try home.run(add)
        #expect(added.code == 0 && added.errorText.contains("refresh_token"), "\(added.errorText)")
        #expect(try home.run(add).code == 13)
        let changed = try home(
            "oauth", "profile", "update", "work", "--policy", "idle:3600", "--auth", "private-key-jwt")
        #expect(changed.code == 0, "\(changed.errorText)")
        let shown = try home("oauth", "profile", "show", "work", "--json").json
        #expect(shown["policy"] as? String == "idle:3600")
        #expect(shown["authentication"] as? String == "private-key-jwt")
        #expect(shown["keyID"] == nil)
        #expect(shown["redirect"] as? String == "http://127.0.0.1/oauth/work (any port)")
        #expect(shown["keyProof"] as? String == "when-offered" && shown["storage"] as? String == "all")
        #expect(shown["assumedLife"] as? Int == 7200)
        let named = try home(
            "oauth", "profile", "update", "work", "--key-id", "key 1", "--auth", "private-key-jwt-receiver")
        #expect(named.code == 0, "\(named.errorText)")
        let renamed = try home("oauth", "profile", "show", "work", "--json").json
        #expect(renamed["keyID"] as? String == "key 1")
        #expect(renamed["authentication"] as? String == "private-key-jwt-receiver")
        #expect(shown["hosts"] as? [String] == ["api.example.org"])
        #expect(try home("oauth", "profile", "list").text.contains("https://login.example.org"))
        #expect(try home("oauth", "profile", "remove", "work").code == 0)
        #expect(try home("oauth", "profile", "show", "work").code == 3)
    }

    @Test(
        "Bad input is 64 with one sentence, and nothing changes",
        arguments: [
            ["--issuer", "http://login.example.org"], ["--issuer", "https://a.org?b"],
            ["--issuer", "https://a.org", "--host", "*.org"],
            ["--issuer", "https://a.org", "--policy", "weekly"],
            ["--issuer", "https://a.org", "--endpoint", "token=https://a.org/t"],
        ])
    func bad(_ options: [String]) throws {
        let home = try CommandHome()
        let run = try home.run(["oauth", "profile", "add", "work", "--client-id", "id"] + options)
        #expect(run.code == 64 && run.output.isEmpty, "\(run.errorText)")
        #expect(try home("oauth", "profile", "list").text.isEmpty)
    }

    @Test("A list of servers becomes profiles; one with a document type adds none")
    func servers() throws {
        let home = try CommandHome()
        let body = """
            <servers><server name="Production" url="https://login.example.org"/>\
            <server name="Test site" url="https://test.example.org"/></servers>
            """
        let bad = try home.file("bad.xml", Array(("<!DOCTYPE servers>" + body).utf8))
        let options = ["--client-id", "id"]
        #expect(try home.run(["oauth", "profile", "import", bad] + options).code == 64)
        #expect(try home("oauth", "profile", "list").text.isEmpty)
        let file = try home.file("servers.xml", Array(body.utf8))
        let run = try home.run(["oauth", "profile", "import", file] + options)
        #expect(run.text == "production\ntest-site\n", "\(run.errorText)")
        #expect(try home.run(["oauth", "profile", "import", file] + options).code == 13)
    }

    @Test("A key is made in the vault, and only its public part is shown")
    func key() throws {
        let home = try CommandHome()
        let add = ["oauth", "profile", "add", "work", "--issuer", "https://a.org", "--client-id", "id"]
        #expect(try home.run(add + ["--auth", "private-key-jwt"]).code == 0)
        let made = try home("oauth", "key", "create", "work")
        #expect(made.json["kty"] as? String == "EC" && made.json["d"] == nil, "\(made.errorText)")
        #expect(try home("oauth", "key", "create", "work").code == 13)
        let shown = try home("oauth", "profile", "show", "work", "--json").json
        #expect(shown["secrets"] as? [String] == ["key"])
        let bad = try CommandRun.run(
            CommandRun.cofferPath,
            [
                "oauth", "key", "import", "work", "--replace", "--key-fd", "4", "--home", home.path,
                "--passcode-fd", "3",
            ], descriptors: [3: Array("2468\n".utf8), 4: Array("no key".utf8)])
        #expect(bad.code == 64, "\(bad.errorText)")
    }
}
