import Testing
import TestSupport

@Suite("coffer token list FILTER, rename, copy")
struct TokenNameTests {
    private func services(_ run: CommandRun) -> [String] {
        (run.json["tokens"] as? [[String: Any]] ?? []).compactMap { $0["service"] as? String }
    }

    @Test("The filter looks at service, account and label, by bytes and without ASCII case")
    func filter() throws {
        let home = try CommandHome(passcode: nil)
        for (service, account, label) in [
            ("api.Example.org", "ada", ""), ("mail", "eve@EXAMPLE.org", ""), ("other", "bob", "For example"),
            ("none", "bob", "x"), ("\u{C4}rger", "bob", ""),
        ] {
            let labels = label.isEmpty ? [] : ["--label", label]
            #expect(try home.run(["token", "put", service, account] + labels, input: [1]).code == 0)
        }
        for (filter, expected) in [
            ("example", ["api.Example.org", "mail", "other"]), ("EXAMPLE.ORG", ["api.Example.org", "mail"]),
            ("bob", ["none", "other", "\u{C4}rger"]), ("\u{C4}", ["\u{C4}rger"]), ("\u{E4}", []),
            ("A\u{308}", []),
            ("no such", []), ("for e", ["other"]),
        ] as [(String, [String])] {
            let run = try home("token", "list", filter, "--json")
            #expect(run.code == 0 && services(run) == expected, "\(filter): \(run.text)")
        }
        #expect(try services(home("token", "list", "", "--json")).count == 5)
        let table = try home("token", "ls", "example").text
        #expect(table.contains("LABEL") && table.contains("For example") && !table.contains("none"))
        #expect(try home("token", "list", "mail").text.contains("LABEL"))
        // Nothing found: no heading, either.
        #expect(try home("token", "list", "no such").output.isEmpty)
    }

    @Test("Nothing is stored under the names of OAuth sessions, which a token from elsewhere would break")
    func sessionNames() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        for service in ["oauth:", "oauth:work", "oauth:work#grant"] {
            let runs = try [
                home("token", "put", service, "", "--json", input: [1]),
                home("token", "rename", "s", "a", service, "", "--json"),
                home("token", "copy", "s", "a", service, "", "--json"),
                home("token", "refresh", service, "", "--json", "--", "cat"),
            ]
            for run in runs { #expect(run.code == 11 && run.errorCode == "refused", "\(run.errorText)") }
        }
        #expect(try home("token", "put", "oauth", "a", input: [1]).code == 0)
        #expect(try services(home("token", "list", "--json")) == ["oauth", "s"])
    }

    @Test("The filter applies to values that wait to be accepted, too")
    func pending() throws {
        let home = try CommandHome()
        for service in ["one", "two"] {
            #expect(try home("token", "put", service, "a", input: [1]).code == 0)
            #expect(try home.run(["token", "put", service, "a"], passcode: "", input: [2]).code == 0)
        }
        let pending = try home("token", "list", "tw", "--json").json["pending"] as? [[String: Any]] ?? []
        #expect(pending.map { $0["service"] as? String } == ["two"])
    }

    @Test("A copy has the value and its description; rename removes the old name")
    func copied() throws {
        let home = try CommandHome(passcode: nil)
        let put = [
            "token", "put", "s", "a", "--kind", "refresh", "--expires", "2250-01-31", "--scope", "one",
            "--label", "l", "--class", "afterFirstUnlockThisDeviceOnly",
        ]
        for _ in 1...3 { #expect(try home.run(put, input: Array(0...255)).code == 0) }
        func described(_ service: String, _ account: String) throws -> [String: String] {
            let run = try home("token", "get", service, account, "--kind", "refresh", "--json")
            var members = run.json
            for own in ["service", "account", "stored", "version"] { members[own] = nil }
            return members.mapValues { "\($0)" }
        }
        let before = try described("s", "a")
        #expect(before["valueBase64"] != nil)
        #expect(try home("token", "copy", "s", "a", "t", "b", "--kind", "refresh").text == "1\n")
        #expect(try described("s", "a") == before && described("t", "b") == before)
        let renamed = try home("token", "rename", "s", "a", "u", "c", "--kind", "refresh", "--json")
        #expect(renamed.code == 0 && renamed.json["version"] as? Int == 1)
        #expect(try described("u", "c") == before)
        #expect(try home("token", "get", "s", "a", "--kind", "refresh").code == 3)
        #expect(try home.status()["tokens"] as? Int == 2)
    }

    @Test("Copy and rename replace nothing, and refuse reserved, equal and missing names")
    func refused() throws {
        let home = try CommandHome(passcode: nil)
        for (account, value) in [("a", 1), ("b", 2)] as [(String, UInt8)] {
            #expect(try home("token", "put", "s", account, input: [value]).code == 0)
        }
        for command in ["copy", "rename"] {
            for (names, code, name) in [
                (["s", "a", "s", "b"], 13, "alreadyExists"), (["s", "a", "s", "a"], 64, "invalidInput"),
                (["s", "x", "s", "y"], 3, "absent"), (["s", "a", "", "y"], 64, "invalidInput"),
                (["s", "a", "coffer.soups", "y"], 11, "refused"),
                (["coffer.soups", "a", "s", "y"], 11, "refused"),
            ] as [([String], Int32, String)] {
                let run = try home.run(["token", command] + names + ["--json"])
                #expect(run.code == code && run.errorCode == name, "\(command) \(names): \(run.text)")
            }
        }
        #expect(
            try home("token", "get", "s", "a").output == [1] && home("token", "get", "s", "b").output == [2])
        #expect(try home.status()["tokens"] as? Int == 2)
    }

    @Test("A token whose values wait to be accepted is not renamed")
    func waiting() throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        #expect(try home.run(["token", "put", "s", "a"], passcode: "", input: [2]).code == 0)
        let run = try home("token", "rename", "s", "a", "s", "b", "--json")
        #expect(run.code == 10 && run.errorCode == "conflict", "\(run.text)")
        #expect(try home("token", "copy", "s", "a", "s", "b").code == 0)
        #expect(try home("token", "get", "s", "b").output == [1])
        let list = try home("token", "list", "--json").json
        #expect((list["pending"] as? [Any])?.count == 1)
    }

    @Test(
        "If only other kinds are there, the error names them",
        arguments: [["get"], ["remove"], ["rename"], ["copy"], ["refresh"]])
    func otherKinds(_ command: [String]) throws {
        let home = try CommandHome(passcode: nil)
        for kind in ["refresh", "other"] {
            #expect(try home("token", "put", "x", "y", "--kind", kind, input: [1]).code == 0)
        }
        let more = ["rename": ["x", "z"], "copy": ["x", "z"], "refresh": ["--", "true"]][command[0]] ?? []
        let run = try home.run(["token"] + command + ["x", "y"] + more)
        #expect(run.code == 3 && run.errorText.contains("--kind refresh or --kind other"), "\(run.errorText)")
        let none = try home.run(["token"] + command + ["x", "none"] + more)
        #expect(none.code == 3, "\(none.errorText)")
        #expect(none.errorText.contains("There is no access token for x/none."), "\(none.errorText)")
    }
}
