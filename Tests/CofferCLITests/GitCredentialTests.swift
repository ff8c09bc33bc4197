import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("git-credential-coffer")
struct GitCredentialTests {
    private static let server = "protocol=https\nhost=git.example.org\n"

    private func make(passcode: String? = nil) throws -> LinkedHelper {
        try LinkedHelper("git-credential-coffer", passcode: passcode)
    }

    /// `git credential` with this helper alone.
    private func git(
        _ helper: LinkedHelper, _ action: String, _ input: String, options: [String] = []
    ) throws -> CommandRun {
        let own = ["-c", "credential.helper=", "-c", "credential.helper=coffer"]
        return try helper.run("git", own + options + ["credential", action], input: input)
    }

    /// The lines `key=value` as a dictionary.
    private func values(_ run: CommandRun) -> [String: String] {
        Dictionary(
            run.text.split(separator: "\n").map { line in
                let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
            }, uniquingKeysWith: { $1 })
    }

    @Test(
        "git approve, fill and reject keep a password exactly",
        arguments: [
            "correct horse 100% battery=staple", " leading and trailing ", "%20%0A%00", "pässwörd ✓ 𝄞", "=",
            "\\n\"'$(id)",
        ])
    func git(_ password: String) throws {
        let helper = try make()
        let credential = Self.server + "username=ada lovelace\npassword=\(password)\n"
        #expect(try git(helper, "fill", Self.server).code != 0)
        #expect(try git(helper, "approve", credential).code == 0)
        let filled = values(try git(helper, "fill", Self.server))
        #expect(filled["username"] == "ada lovelace" && filled["password"] == password)
        // Approved once more after its use, it is not written again.
        #expect(try git(helper, "approve", credential).code == 0)
        let list = try helper.home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(list?.count == 1 && list?.first?["version"] as? Int == 1)
        #expect(list?.first?["service"] as? String == "git:https://git.example.org")
        #expect(try git(helper, "reject", credential).code == 0)
        #expect(try git(helper, "fill", Self.server).code != 0)
        #expect(try helper.home.status()["tokens"] as? Int == 0)
    }

    @Test("A new password that keeps a weaker class is stored, and a message says so")
    func keptClass() throws {
        let helper = try make()
        let put = ["token", "put", "git:https://git.example.org", "ada", "--class", "afterFirstUnlock"]
        #expect(try helper.home.run(put, input: [1]).code == 0)
        let run = try git(helper, "approve", Self.server + "username=ada\npassword=new\n")
        #expect(run.code == 0 && run.errorText.contains("keeps the class afterFirstUnlock"))
        let other = try git(helper, "approve", Self.server + "username=bob\npassword=new\n")
        #expect(other.code == 0 && !other.errorText.contains("class"), "\(other.errorText)")
    }

    @Test("Users and paths of one host are apart")
    func several() throws {
        let helper = try make()
        for user in ["ada", "bob"] {
            let credential = Self.server + "username=\(user)\npassword=of \(user)\n"
            #expect(try git(helper, "approve", credential).code == 0)
        }
        for user in ["ada", "bob"] {
            let filled = values(try git(helper, "fill", Self.server + "username=\(user)\n"))
            #expect(filled["password"] == "of \(user)")
        }
        #expect(try git(helper, "fill", Self.server + "username=eve\n").code != 0)
        #expect(try git(helper, "fill", "protocol=http\nhost=git.example.org\n").code != 0)
        #expect(try git(helper, "fill", "protocol=https\nhost=git.example.org:8443\n").code != 0)
        let byPath = ["-c", "credential.useHttpPath=true"]
        for path in ["one.git", "two.git"] {
            let credential = Self.server + "path=\(path)\nusername=ada\npassword=of \(path)\n"
            #expect(try git(helper, "approve", credential, options: byPath).code == 0)
        }
        for path in ["one.git", "two.git"] {
            let run = try git(helper, "fill", Self.server + "path=\(path)\n", options: byPath)
            #expect(values(run)["password"] == "of \(path)")
        }
        #expect(try git(helper, "fill", Self.server + "path=three.git\n", options: byPath).code != 0)
    }

    @Test("A host or user that is equal in Unicode alone receives no password")
    func equivalentNames() throws {
        let helper = try make()
        let stored = "protocol=https\nhost=é.example.org\nusername=andré\npassword=secret\n"
        #expect(try helper("store", stored).code == 0)
        let same = "protocol=https\nhost=é.example.org\nusername=andré\n"
        #expect(values(try helper("get", same))["password"] == "secret")
        for other in [
            "protocol=https\nhost=e\u{301}.example.org\n",
            "protocol=https\nhost=é.example.org\nusername=andre\u{301}\n",
        ] {
            #expect(try helper("get", other).output.isEmpty)
        }
    }

    @Test("The helper withholds an expired password and returns its refresh token")
    func expiry() throws {
        let helper = try make()
        let credential = Self.server + "username=ada\npassword=short-lived\noauth_refresh_token=long-lived\n"
        #expect(try helper("store", credential + "password_expiry_utc=1000000000\n").code == 0)
        #expect(try helper("get", Self.server).output.isEmpty)
        #expect(try helper("store", credential + "password_expiry_utc=4102444800\n").code == 0)
        let whole = values(try helper("get", Self.server))
        #expect(whole["password"] == "short-lived" && whole["password_expiry_utc"] == "4102444800")
        #expect(whole["oauth_refresh_token"] == "long-lived" && whole["username"] == "ada")
        let expired = [
            "token", "put", "git:https://git.example.org", "ada", "--expires", "2001-01-01T00:00:00Z",
        ]
        #expect(try helper.home.run(expired, input: Array("short-lived".utf8)).code == 0)
        let rest = try helper("get", Self.server)
        #expect(values(rest) == ["username": "ada", "oauth_refresh_token": "long-lived"])
        #expect(try helper("erase", Self.server + "username=ada\n").code == 0)
        #expect(try helper.home.status()["tokens"] as? Int == 0)
    }

    @Test("A credential with an authentication scheme is for those who understand it")
    func authtype() throws {
        let helper = try make()
        let capable = "capability[]=authtype\ncapability[]=state\n"
        let bearer = "authtype=Bearer\ncredential=abc.def\nwwwauth[]=Basic\nwwwauth[]=\nwwwauth[]=Bearer\n"
        #expect(try helper("store", capable + Self.server + bearer + "ephemeral=1\n").code == 0)
        #expect(try helper("get", capable + Self.server).output.isEmpty)
        #expect(try helper("store", capable + Self.server + bearer + "state[]=other:1\n").code == 0)
        #expect(
            try helper("get", capable + Self.server).text
                == "capability[]=authtype\nauthtype=Bearer\ncredential=abc.def\n")
        #expect(try helper("get", Self.server).output.isEmpty)
        #expect(try helper("get", "capability[]=authtype\ncapability[]=\n" + Self.server).output.isEmpty)
    }

    @Test("Only the password that was refused is erased")
    func erase() throws {
        let helper = try make()
        #expect(try helper("store", Self.server + "username=ada\npassword=new\n").code == 0)
        #expect(try helper("erase", Self.server + "username=ada\npassword=old\n").code == 0)
        #expect(try helper.home.status()["tokens"] as? Int == 1)
        // What names no server could mean all of them.
        for request in ["\n", "protocol=https\n", "username=ada\n", "protocol=\nhost=\n"] {
            #expect(try helper("erase", request).code == 0)
            #expect(try helper("get", request).output.isEmpty)
        }
        #expect(try helper.home.status()["tokens"] as? Int == 1)
        #expect(try helper("erase", Self.server + "username=ada\npassword=new\n").code == 0)
        #expect(try helper.home.status()["tokens"] as? Int == 0)
    }

    @Test("A request outside the protocol is refused, and none of it is repeated")
    func malformed() throws {
        let helper = try make()
        for request in ["password=5ecre7\0\n", "5ecre7\n", "username=5ecre7\u{2028}\nhost=x\nprotocol=y\n"] {
            let run = try helper("store", request)
            #expect(run.code == 64 && !run.errorText.contains("5ecre7") && run.output.isEmpty)
        }
        #expect(try helper("capability", "").code == 0)
        #expect(try helper("approve", "\0").code == 0)
        for value in ["5ecre7\nhost=evil.example.org", "5ecre7\0"] {
            let put = ["token", "put", "git:https://git.example.org", "ada"]
            #expect(try helper.home.run(put, input: Array(value.utf8)).code == 0)
            let run = try helper("get", Self.server)
            #expect(run.code == 11 && run.output.isEmpty && !run.errorText.contains("5ecre7"))
        }
    }

    @Test("A host with a slash is no path, and nothing in a name is read but its bytes")
    func names() throws {
        let helper = try make()
        let byPath = "protocol=https\nhost=git.example.org\npath=evil/repo\nusername=ada\n"
        #expect(try helper("store", byPath + "password=of the path\n").code == 0)
        #expect(try helper("get", byPath).text.contains("of the path"))
        let refused = [
            "protocol=https\nhost=git.example.org/evil\npath=repo\n",
            "protocol=https\nhost=git.example.org/evil/repo\n", "protocol=https\nhost=/\n",
            "protocol=https://git.example.org/evil/repo\nhost=x\n", "protocol=ht/tps\nhost=x\n",
            "protocol=https\nhost=git.example.org\r\n", "protocol=https\nhost=git.example.org\u{B}x\n",
            "protocol=https\nhost=x\npath=a\u{7F}b\n", "protocol=https\nhost=x\u{2029}\n",
        ]
        for request in refused {
            for action in ["get", "store", "erase"] {
                let run = try helper(action, request + "username=ada\npassword=5ecre7\n")
                #expect(run.code == 64 && run.output.isEmpty && !run.errorText.contains("5ecre7"))
            }
        }
        let others = [
            "host=git.example.org\npath=evil/../evil/repo\n", "host=git.example.org\npath=evil//repo\n",
            "host=git.example.org\npath=evil%2Frepo\n", "host=git.example.org\npath=/evil/repo\n",
            "host=git.example.org%2Fevil\npath=repo\n", "host=git.example.org%2Fevil%2Frepo\n",
            "host=GIT.example.org\npath=evil/repo\n", "host=git.example.org.\npath=evil/repo\n",
            "host=git.example.org\npath=evil/repo/\n", "host=git.example.or\n", "host=git.example.org:443\n",
            "host=..\npath=git.example.org/evil/repo\n", "path=git.example.org/evil/repo\n",
        ]
        for request in others {
            let run = try helper("get", "protocol=https\n" + request)
            #expect(run.code == 0 && run.output.isEmpty, "\(request)")
        }
        #expect(try helper.home.status()["tokens"] as? Int == 1)
    }

    @Test("Users that only look the same are two")
    func unicode() throws {
        let helper = try make()
        for (user, password) in [("\u{E9}", "composed"), ("e\u{301}", "decomposed")] {
            #expect(try helper("store", Self.server + "username=\(user)\npassword=\(password)\n").code == 0)
        }
        #expect(try helper.home.status()["tokens"] as? Int == 2)
        for (user, password) in [("\u{E9}", "composed"), ("e\u{301}", "decomposed")] {
            let run = try helper("get", Self.server + "username=\(user)\n")
            #expect(Array(run.output) == Array("username=\(user)\npassword=\(password)\n".utf8))
        }
        // KELVIN SIGN is the letter K to a string: as a host it is another, as a key it is none.
        #expect(try helper("get", "protocol=https\nhost=\u{212A}.example.org\n").output.isEmpty)
        let erase = Self.server + "username=\u{E9}\npassword=composed\n"
        #expect(try helper("erase", erase).code == 0)
        #expect(try helper("get", Self.server + "username=e\u{301}\n").text.contains("decomposed"))
        #expect(try helper.home.status()["tokens"] as? Int == 1)
    }

    /// As any program of the user hands in a value while the vault is locked.
    private func handIn(_ helper: LinkedHelper, _ names: String..., value: String) throws {
        let run = try helper.home.run(["token", "put"] + names, passcode: "", input: Array(value.utf8))
        #expect(run.code == 0 && run.errorText.contains("unlock"))
    }

    @Test(
        "A credential put while locked ranks behind earlier ones and is not mixed with them",
        .enabled(if: KernelKeyring.isAvailable))
    func handedIn() throws {
        let helper = try make(passcode: "2468")
        let path = "git:https://git.example.org/team/repo.git"
        let withPath = Self.server + "path=team/repo.git\n"
        #expect(try helper.home.run(["token", "put", path, "ada"], input: Array("TRUSTED".utf8)).code == 0)
        try handIn(helper, "git:https://git.example.org", "mallory", value: "EVIL")
        try handIn(helper, path, "mallory", value: "EVIL")
        try handIn(helper, path, "ada", "--kind", "refresh", value: "EVILREFRESH")
        #expect(try helper.home("unlock").code == 0)
        for request in [Self.server, withPath, withPath + "username=ada\n"] {
            let run = try helper("get", request)
            #expect(values(run) == ["username": "ada", "password": "TRUSTED"], "\(request)")
        }
        // Without an accepted token, the unaccepted one is returned.
        let asked = Self.server + "username=mallory\n"
        #expect(values(try helper("get", asked))["password"] == "EVIL")
        // An unaccepted token does not take the place of an expired one.
        let expired = ["token", "put", path, "ada", "--expires", "2001-01-01T00:00:00Z"]
        #expect(try helper.home.run(expired, input: Array("TRUSTED".utf8)).code == 0)
        #expect(try helper("get", Self.server).output.isEmpty)
        // Stored by the owner, what renews it goes out.
        let own = ["token", "put", path, "ada", "--kind", "refresh"]
        #expect(try helper.home.run(own, input: Array("OWN".utf8)).code == 0)
        #expect(
            values(try helper("get", Self.server)) == ["username": "ada", "oauth_refresh_token": "OWN"])
    }

    @Test(
        "Both halves of a credential put while locked are returned together",
        .enabled(if: KernelKeyring.isAvailable))
    func bothHandedIn() throws {
        let helper = try make(passcode: "2468")
        try handIn(helper, "git:https://git.example.org", "ada", value: "new")
        try handIn(helper, "git:https://git.example.org", "ada", "--kind", "refresh", value: "renewing")
        #expect(try helper.home("unlock").code == 0)
        let whole = ["username": "ada", "password": "new", "oauth_refresh_token": "renewing"]
        #expect(values(try helper("get", Self.server)) == whole)
    }

    @Test("A locked home says so and does not ask")
    func locked() throws {
        let helper = try make(passcode: "2468")
        let run = try helper("get", Self.server)
        #expect(run.code == 4 && run.output.isEmpty && run.errorText.contains("coffer unlock"))
        let filled = try git(helper, "fill", Self.server)
        #expect(filled.code != 0 && filled.errorText.contains("coffer unlock"))
        #expect(try helper("store", Self.server + "username=ada\npassword=x\n").code == 4)
        // With keys that outlast a lock it can wait.
        try #require(try helper.home("unlock").code == 0)
        #expect(try helper.home.run(["lock"], passcode: "").code == 0)
        let waiting = try helper("store", Self.server + "username=ada\npassword=x\n")
        #expect(waiting.code == 0 && waiting.errorText.contains("sealed and waiting"), "\(waiting.errorText)")
        #expect(try helper.home.status()["waitingTokens"] as? Int == 1)
    }

    @Test("On a terminal, a locked vault asks there for the passcode, unless git must not ask")
    func terminal() throws {
        let helper = try make(passcode: "2468")
        let credential = Self.server + "username=ada\npassword=of-git-7\n"
        let stored = try helper.onTerminal(["2468"], "store", credential)
        #expect(stored.code == 0 && stored.prompts == 1 && stored.isQuiet, "\(stored.shown)")
        #expect(try helper.home.status()["tokens"] as? Int == 1)
        let found = try helper.onTerminal(["2468"], "get", Self.server)
        #expect(found.code == 0 && found.isQuiet && found.echoesAtEnd, "\(found.shown)")
        #expect(found.shown.contains("to get git's password: ") && !found.shown.contains("2468"))
        #expect(found.shown.contains("password=of-git-7"))
        let own = ["git", "-c", "credential.helper=", "-c", "credential.helper=coffer", "credential", "fill"]
        let filled = try helper.onTerminal(["2468"], own, Self.server)
        #expect(filled.code == 0 && filled.shown.contains("password=of-git-7"), "\(filled.shown)")
        let wrong = try helper.onTerminal(["1357"], "get", Self.server)
        #expect(wrong.code == 5 && !wrong.shown.contains("of-git-7"), "\(wrong.shown)")
        let silent = try helper.onTerminal([], "get", Self.server, mayAsk: false)
        #expect(silent.code == 4 && silent.prompts == 0, "\(silent.shown)")
        #expect(silent.shown.contains("coffer unlock"))
        #expect(try helper.onTerminal(["2468"], "erase", credential).code == 0)
        #expect(try helper.home.status()["tokens"] as? Int == 0)
    }
}
