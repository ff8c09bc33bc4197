import CofferOAuth
import CofferTesting
import Foundation
import TestSupport
import Testing

@Suite(
    "coffer oauth and tokens that are bound to a key", .enabled(if: CurlTransport.libraryVersion != nil),
    .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
struct OAuthBoundTokenTests {
    @Test("A token that is bound to a key is not written in a form that other programs would send")
    func bound() async throws {
        let helper = try LinkedHelper("git-credential-coffer")
        try await OAuthBench.with(home: helper.home) { (bench) async throws in
            let home = bench.home
            #expect(try home("oauth", "profile", "update", "work", "--key-proof", "always").code == 0)
            try await bench.server.answer("/token", OAuthBench.tokens("first", life: 5, type: "DPoP"))
            let login = try home("oauth", "login", "work", "--account", "ada", "--device")
            #expect(login.code == 0, "\(login.errorText)")
            try await bench.server.forgetRequests()
            for format in ["header", "xoauth2", "oauthbearer", "kubernetes"] {
                let run = try home("oauth", "token", "work", "--format", format)
                #expect(run.code != 0 && run.text.isEmpty, "\(format)")
                #expect(run.errorText.contains("--key-proof never"), "\(run.errorText)")
            }
            // Nothing is renewed for a token that is refused.
            #expect(try await bench.server.requests("/token").isEmpty)
            try await bench.server.answer("/token", OAuthBench.tokens("next", type: "DPoP"))
            let raw = try home("oauth", "token", "work")
            #expect(raw.code == 0 && raw.text == "next" && raw.errorText.contains("bound to a key"))
            let json = try home("oauth", "token", "work", "--json")
            #expect(json.code == 0 && json.json["tokenType"] as? String == "DPoP")
            let git = try helper("get", "protocol=https\nhost=\(bench.host)\n")
            #expect(git.text.isEmpty && git.errorText.contains("--key-proof never"), "\(git.errorText)")
            // The advice is true.
            #expect(try home("oauth", "profile", "update", "work", "--key-proof", "never").code == 0)
            try await bench.signIn("second")
            let header = try home("oauth", "token", "work", "--format", "header")
            #expect(header.text == "Authorization: Bearer second\n")
            #expect(try helper("get", "protocol=https\nhost=\(bench.host)\n").text.contains("=second\n"))
        }
    }

    @Test("git's user with a bound token does not get the token of another account")
    func anotherAccount() async throws {
        let helper = try LinkedHelper("git-credential-coffer")
        try await OAuthBench.with(home: helper.home) { (bench) async throws in
            let home = bench.home
            #expect(try home("oauth", "profile", "update", "work", "--key-proof", "always").code == 0)
            try await bench.server.answer("/token", OAuthBench.tokens("bound", type: "DPoP"))
            let login = try home("oauth", "login", "work", "--account", "bob", "--device")
            try #require(login.code == 0, "\(login.errorText)")
            #expect(try home("oauth", "profile", "update", "work", "--key-proof", "never").code == 0)
            try await bench.signIn("first")
            let request = "protocol=https\nhost=\(bench.host)\n"
            let bob = try helper("get", request + "username=bob\n")
            #expect(bob.text.isEmpty && bob.errorText.contains("session work/bob to a key"), "\(bob.text)")
            #expect(try helper("store", request + "username=bob\npassword=y\n").errors.isEmpty)
            #expect(try helper("get", request + "username=ada\n").text.contains("password=first\n"))
            #expect(try helper("get", request).text.contains("password=first\n"))
        }
    }
}
