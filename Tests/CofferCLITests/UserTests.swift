import Foundation
import TestSupport
import Testing

@Suite("--user and coffer users")
struct UserTests {
    /// A home with the vaults of two users.
    private func make() throws -> CommandHome {
        let home = try CommandHome(passcode: "2468")
        for (user, passcode) in [("una", "1357"), ("bob", "8642")] {
            let run = try home.run(
                ["init", "--user", user, "--keyring", "file"] + CommandHome.cheap, passcode: passcode)
            #expect(run.code == 0, "\(run.errorText)")
        }
        return home
    }

    @Test("Each user has tokens, files and a passcode of its own")
    func separate() throws {
        let home = try make()
        for (user, passcode, value) in [(nil, "2468", "of all"), ("una", "1357", "of una")]
            as [(String?, String, String)]
        {
            let options = user.map { ["--user", $0] } ?? []
            let put = try home.run(
                ["token", "put", "s", "a"] + options, passcode: passcode, input: Array(value.utf8))
            #expect(put.code == 0, "\(put.errorText)")
        }
        #expect(try home("token", "get", "s", "a").text == "of all")
        #expect(try home.run(["token", "get", "s", "a", "--user", "una"], passcode: "1357").text == "of una")
        #expect(try home.run(["token", "get", "s", "a", "--user", "bob"], passcode: "8642").code == 3)
        #expect(try home.run(["token", "get", "s", "a", "--user", "una"]).code == 5)
        let early = try CommandRun.coffer(
            "--user", "una", "--home=\(home.path)", "--json", "status")
        #expect(early.json["tokens"] as? Int == 1 && early.json["attemptsLeft"] as? Int == 9)
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
    }

    @Test("unlock and lock hold one user's keys")
    func lock() throws {
        let home = try make()
        let unlock = try home.run(["unlock", "--user", "una", "--json"], passcode: "1357")
        #expect(unlock.code == 0)
        guard unlock.json["held"] as? Bool == true else { return }
        func state(_ options: [String]) throws -> String? {
            try home.run(["status", "--json"] + options, passcode: "").json["state"] as? String
        }
        #expect(try state(["--user", "una"]) == "unlocked" && state([]) == "locked")
        #expect(try home.run(["lock", "--user", "bob"], passcode: "").code == 0)
        #expect(try state(["--user", "una"]) == "unlocked")
        #expect(try home.run(["lock", "--user", "una"], passcode: "").code == 0)
        #expect(try state(["--user", "una"]) == "locked")
    }

    @Test("The vaults are listed without names, and found by name")
    func list() throws {
        let home = try make()
        let all = try home.run(["users", "--json"], passcode: "")
        let entries = try #require(
            try JSONSerialization.jsonObject(with: Data(all.output)) as? [[String: Any]])
        #expect(entries.count == 2 && all.errorText.contains("User names are not stored"))
        #expect(entries.allSatisfy { $0["user"] is NSNull && $0["state"] as? String == "locked" })
        #expect(!all.text.contains("una"))
        let found = try home.run(["users", "bob"], passcode: "")
        #expect(found.code == 0 && found.text.contains("bob") && found.errors.isEmpty)
        #expect(try home.run(["users", "bob", "eve"], passcode: "").code == 3)
        #expect(try home.run(["users", "--user", "bob"], passcode: "").code == 64)
        let none = try CommandHome(passcode: nil)
        #expect(try none("users", "--json").text == "[]\n")
    }

    @Test("A wipe of one user leaves the others and the vault")
    func wipe() throws {
        let home = try make()
        #expect(try home.run(["wipe", "--yes", "--user", "una"], passcode: "").code == 0)
        let status = try home.run(["status", "--json", "--user", "una"], passcode: "")
        #expect(status.json["state"] as? String == "wiped")
        #expect(try home.run(["token", "list", "--user", "bob"], passcode: "8642").code == 0)
        #expect(try home("token", "list").code == 0)
    }

    @Test("A user without a vault, and names that are none")
    func absent() throws {
        let home = try CommandHome(passcode: nil)
        let list = try home("token", "list", "--user", "una")
        let advice = "There is no vault for the user una. Create one with coffer init --user una.\n"
        #expect(list.code == 12 && list.errorText == "coffer: " + advice, "\(list.errorText)")
        let users = try home("users", "una")
        #expect(users.code == 3 && users.errorText == "coffer: " + advice, "\(users.errorText)")
        #expect(try home("token", "list", "--user", "").code == 64)
        #expect(try home.status()["state"] as? String == "unlocked")
        let scratch = try ScratchDirectory.make()
        let none = ["--home", scratch.path(of: "none"), "--no-passcode"]
        let run = try CommandRun.run(CommandRun.cofferPath, ["init", "--user", "una"] + none)
        #expect(run.code == 12)
    }
}
