import Foundation
import Testing
import TestSupport

@Suite("docker-credential-coffer")
struct DockerCredentialTests {
    private static let url = "https://registry.example.org/v2/"

    private func make(passcode: String? = nil) throws -> LinkedHelper {
        try LinkedHelper("docker-credential-coffer", passcode: passcode)
    }

    private func document(_ url: String, _ user: String, _ secret: String) throws -> String {
        let members = ["ServerURL": url, "Username": user, "Secret": secret]
        return String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self)
    }

    @Test(
        "The helper returns exactly what was stored",
        arguments: ["", "plain", "\"quoted\\\" / \u{1}\u{1F}\t", "pässwörd ✓ 𝄞 \u{7F}", "<&>", "%20"])
    func exact(_ secret: String) throws {
        let helper = try make()
        let store = try helper("store", try document(Self.url, "ada", secret))
        #expect(store.code == 0 && store.output.isEmpty)
        let got = try helper("get", Self.url + "\n")
        #expect(got.code == 0)
        #expect(
            got.json as? [String: String] == ["ServerURL": Self.url, "Username": "ada", "Secret": secret])
        #expect(try helper("list", "unused").json as? [String: String] == [Self.url: "ada"])
        #expect(try helper("erase", " \(Self.url)\n").code == 0)
        #expect(try helper("list", "").text == "{}\n")
        #expect(try helper("erase", Self.url).code == 0)
    }

    @Test("The helper decodes escaped characters and passes over unknown members")
    func escapes() throws {
        let helper = try make()
        let input = """
             { "ServerURL" : "https:\\/\\/r" , "Extra": -1.5e3, "More":null,
             "Username":"a\\u0064\\u0061", "Secret":"\\ud834\\udd1e\\ud834x\\t\\"\\\\" }
            """
        #expect(try helper("store", input).code == 0)
        let got = try helper("get", "https://r").json
        #expect(got["Username"] as? String == "ada" && got["Secret"] as? String == "𝄞\u{FFFD}x\t\"\\")
    }

    @Test("A password with a newline or NUL is neither stored nor returned", arguments: ["a\n", "a\0b"])
    func newline(_ secret: String) throws {
        let helper = try make()
        let store = try helper("store", try document(Self.url, "ada", secret))
        #expect(store.code == 1 && store.text.contains("newline or a NUL byte"), "\(store.text)")
        #expect(try helper.home.status()["tokens"] as? Int == 0)
        let put = ["token", "put", "docker:" + Self.url, "ada"]
        #expect(try helper.home.run(put, input: Array(secret.utf8)).code == 0)
        let got = try helper("get", Self.url)
        #expect(got.code == 1 && got.text.hasPrefix("The stored Secret contains a newline or a NUL byte."))
    }

    @Test("A registry has one user")
    func replaces() throws {
        let helper = try make()
        for user in ["ada", "bob"] {
            #expect(try helper("store", try document(Self.url, user, "of \(user)")).code == 0)
        }
        #expect(try helper("get", Self.url).json["Secret"] as? String == "of bob")
        #expect(try helper.home.status()["tokens"] as? Int == 1)
    }

    @Test("Errors are those that Docker's client knows, on standard output, with 1")
    func errors() throws {
        let helper = try make()
        for (action, input, message) in [
            ("get", Self.url, "credentials not found in native keychain"),
            ("get", " \n", "no credentials server URL"), ("erase", "", "no credentials server URL"),
            ("store", try document("", "ada", "x"), "no credentials server URL"),
            ("store", #"{"Username":"ada","Secret":"x"}"#, "no credentials server URL"),
            ("store", try document(Self.url, "", "x"), "no credentials username"),
            ("logout", "", "Unknown credential action `logout`"),
        ] {
            let run = try helper(action, input)
            #expect(run.code == 1 && run.text == message + "\n", "\(action) \(input)")
        }
        for input in [
            "", "{", "[]", #"{"ServerURL":"x""#, #"{"a":"5ecre7"#, #"{"a":{}}"#, "{} x", #"{"a":"\x"}"#,
        ] {
            let run = try helper("store", input)
            #expect(
                run.code == 1 && run.text.contains("must be a JSON object") && !run.text.contains("5ecre7"))
        }
        #expect(try helper("version", "").text.hasPrefix("docker-credential-coffer "))
        #expect(try helper.home.status()["tokens"] as? Int == 0)
    }

    @Test("A locked home says so")
    func locked() throws {
        let helper = try make(passcode: "2468")
        for action in ["get", "list", "erase"] {
            let run = try helper(action, Self.url)
            #expect(run.code == 1 && run.text.contains("coffer unlock"))
        }
    }
}
