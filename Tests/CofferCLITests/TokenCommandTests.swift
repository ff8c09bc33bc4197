import Foundation
import Testing
import TestSupport

@Suite("coffer token")
struct TokenCommandTests {
    private static let values: [String: [UInt8]] = [
        "newline": [10], "zeros": [0, 0, 0], "all": Array(0...255),
        "lines": Array("a\r\nb\n".utf8),
        "longest": (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) },
    ]

    @Test("get returns every byte, up to 1 MiB; --json has the value in Base64")
    func exact() throws {
        let home = try CommandHome()
        for (name, value) in Self.values {
            #expect(try home("token", "put", "service", name, input: value).text == "1\n")
            let got = try home("token", "get", "service", name)
            #expect(got.code == 0 && got.output == value && got.errors.isEmpty, "\(name)")
            let json = try home("token", "get", "service", name, "--json")
            #expect(Data(base64Encoded: json.json["valueBase64"] as? String ?? "-") == Data(value))
        }
        let tooLong = try home.run(
            ["token", "put", "service", "long", "--json"], input: [UInt8](repeating: 0x61, count: 1 << 20 + 1)
        )
        #expect(tooLong.code == 64 && !tooLong.text.contains("aaaa"))
        #expect(try home("token", "get", "service", "long").code == 3)
    }

    @Test("Empty standard input is no token, locked or not", arguments: ["", "2468"])
    func empty(_ passcode: String) throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        for options in [[], ["--volatile"]] {
            let put = try home.run(["token", "put", "s", "a", "--json"] + options, passcode: passcode)
            #expect(put.code == 64 && put.errorCode == "invalidInput", "\(put.errorText)")
        }
        #expect(try home("token", "get", "s", "a").output == [1])
        #expect(try home.status()["waitingTokens"] == nil)
    }

    @Test("put replaces only the version that --if-version names")
    func versions() throws {
        let home = try CommandHome(passcode: nil)
        func put(_ version: String) throws -> CommandRun {
            try home("token", "put", "s", "a", "--if-version", version, "--json", input: [1])
        }
        #expect(try put("1").code == 10)
        #expect(try put("0").json["version"] as? Int == 1)
        #expect(try put("0").errorCode == "conflict")
        #expect(try put("1").json["version"] as? Int == 2)
        #expect(try put("1").code == 10)
        #expect(try put("-1").code == 64)
        #expect(try home("token", "remove", "s", "a", "--if-version", "1").code == 10)
        #expect(try home("token", "remove", "s", "a", "--if-version", "2").code == 0)
        #expect(try home("token", "remove", "s", "a", "--json").errorCode == "absent")
        #expect(try home("token", "get", "s", "a").code == 3)
    }

    @Test("Kinds are apart, and the list has everything but the values")
    func list() throws {
        let home = try CommandHome(passcode: nil)
        for kind in ["access", "refresh", "id", "other"] {
            let put = try home.run(
                [
                    "token", "put", "s", "a", "--kind", kind, "--scope", "one two", "--scope", "three",
                    "--expires", "2030-01-31T12:00:00+01:00", "--class", "afterFirstUnlockThisDeviceOnly",
                ], input: Array("value-\(kind)".utf8))
            #expect(put.code == 0)
            #expect(try home("token", "get", "s", "a", "--kind", kind).text == "value-\(kind)")
        }
        let run = try home("token", "list", "--json")
        let tokens = try #require(run.json["tokens"] as? [[String: Any]])
        #expect(tokens.count == 4 && !run.text.contains("value-"))
        for token in tokens {
            #expect(token["expires"] as? String == "2030-01-31T11:00:00Z" && token["version"] as? Int == 1)
            #expect(token["scopes"] as? [String] == ["one two", "three"])
            #expect(token["class"] as? String == "afterFirstUnlockThisDeviceOnly")
        }
        #expect(try home.status()["tokens"] as? Int == 4)
    }

    @Test("Invisible and reversing characters do not make a name look like another")
    func invisible() throws {
        let home = try CommandHome(passcode: nil)
        let hidden = ["\u{202E}", "\u{200B}", "\u{2066}", "\u{AD}", "\u{2028}", "\u{3164}", "\u{E0041}"]
        for text in hidden {
            #expect(try home("token", "put", "host\(text).example", "me", input: [1]).code == 0)
        }
        for text in ["e\u{301}", "\u{2764}\u{FE0F}", "名", "\u{5D0}"] {
            #expect(try home("token", "put", "seen \(text)", "me", input: [1]).code == 0)
        }
        let table = try home("token", "list").text
        for text in hidden { #expect(!table.utf8.contains(text.utf8)) }
        #expect(table.split(separator: "host?.example").count == hidden.count + 1)
        for text in ["e\u{301}", "\u{2764}\u{FE0F}", "名", "\u{5D0}"] {
            #expect(table.utf8.contains("seen \(text)".utf8))
        }
        // Programs get every byte.
        let list = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(list?.contains { ($0["service"] as? String)?.utf8.contains("\u{202E}".utf8) == true } == true)
    }

    @Test("Names that would disturb a terminal are shown without their control characters")
    func names() throws {
        let home = try CommandHome(passcode: nil)
        let name = "s\n\u{1B}[31m"
        #expect(try home("token", "put", name, "", input: [1]).code == 0)
        let table = try home("token", "list").text
        #expect(table.contains("s??[31m") && !table.contains("\u{1B}"))
        let tokens = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(tokens?.first?["service"] as? String == name)
        let bytes = try CommandRun.run(
            "sh",
            [
                "-c", "exec \"$0\" token put \"$(printf 's\\377')\" a --home \"$1\"", CommandRun.cofferPath,
                home.path,
            ])
        #expect(bytes.code == 64)
    }

    @Test(
        "put refuses malformed names, kinds, classes, dates and versions",
        arguments: [
            ["", "a"], [String(repeating: "s", count: 1025), "a"], ["s"], ["s", "a", "--kind", "magic"],
            ["s", "a", "--class", "never"], ["s", "a", "--expires", "tomorrow"],
            ["s", "a", "--expires", "2027-02-31T12:00:00Z"], ["s", "a", "--expires", "9999-12-31T23:59:59Z"],
            ["s", "a", "--expires", "1969-12-31T23:59:59Z"], ["s", "a", "--if-version", "one"],
        ])
    func refused(_ arguments: [String]) throws {
        let home = try CommandHome(passcode: nil)
        let run = try home.run((["token", "put"] + arguments).withJSON, input: [1])
        #expect(run.code == 64 && run.errorCode != nil)
        #expect(try home.status()["tokens"] as? Int == 0)
    }

    @Test("An expired token is refused without its value, unless it is allowed")
    func expired() throws {
        let home = try CommandHome(passcode: nil)
        _ = try home.run(["token", "put", "s", "a", "--expires", "2001-01-01T00:00:00Z"], input: [7])
        let plain = try home("token", "get", "s", "a")
        #expect(plain.code == 11 && plain.output.isEmpty && plain.errorText.contains("--allow-expired"))
        let json = try home("token", "get", "s", "a", "--json")
        #expect(json.code == 11 && json.errorCode == "refused" && json.json["valueBase64"] == nil)
        let run = try home("token", "get", "s", "a", "--allow-expired")
        #expect(
            run.code == 0 && run.output == [7] && run.errorText.contains("expired at 2001-01-01T00:00:00Z"))
        _ = try home.run(["token", "put", "s", "a", "--expires", "90d"], input: [8])
        let valid = try home("token", "get", "s", "a")
        #expect(valid.code == 0 && valid.output == [8] && valid.errors.isEmpty)
    }

    @Test("The list marks an expired token, in a column of its own and in JSON")
    func expiredInList() throws {
        let home = try CommandHome(passcode: nil)
        for (account, expires) in [("old", "2001-01-01T00:00:00Z"), ("new", "2250-01-01T00:00:00Z")] {
            let put = ["token", "put", "host", account, "--expires", expires]
            #expect(try home.run(put, input: [7]).code == 0)
        }
        let lines = try home("token", "list").text.split(separator: "\n").map { $0.split(separator: " ") }
        try #require(lines.count == 3)
        #expect(
            lines[0] == ["SERVICE", "ACCOUNT", "KIND", "VERSION", "CLASS", "STATE", "EXPIRES", "LABEL"])
        #expect(lines[1][1] == "new" && lines[1][5] == "-")
        #expect(lines[2][1] == "old" && lines[2][5] == "expired")
        let tokens = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(tokens?.map { $0["expired"] as? Bool } == [false, true])
        let token = try home("token", "get", "host", "old", "--allow-expired", "--json")
        #expect(token.json["expired"] as? Bool == true, "\(token.errorText)")
    }

    @Test("Every list prints nothing where there is nothing, and a table has no blanks at the ends of lines")
    func tables() throws {
        let home = try CommandHome(passcode: nil)
        let lists = [["token", "list"], ["file", "list"], ["database", "list"], ["users"]]
        for list in lists {
            let run = try home.run(list)
            #expect(run.code == 0 && run.output.isEmpty, "\(list): \(run.text) \(run.errorText)")
        }
        #expect(try home("token", "put", "a long service", "a", input: [1]).code == 0)
        #expect(try home("file", "add", "-", "--name", "a long name", input: [1]).code == 0)
        let create = ["database", "query", "--vault", "notes", "--create", "CREATE TABLE note (text)"]
        #expect(try home.run(create).code == 0)
        let user = ["--user", "ada", "--no-passcode", "--keyring", "file"]
        #expect(try home.run(["init"] + user).code == 0)
        for list in lists {
            let lines = try home.run(list).text.split(separator: "\n")
            #expect(lines.count >= 2 && !lines.contains { $0.hasSuffix(" ") }, "\(list): \(lines)")
        }
        // Text is flush left below its heading, and numbers flush right.
        let tokens = try home("token", "list").text.split(separator: "\n").map(String.init)
        for (heading, cell) in [("CLASS", "whenUnlocked"), ("STATE", "-"), ("EXPIRES", "-")] {
            let start = try #require(tokens[0].range(of: heading)).lowerBound
            let column = tokens[0].distance(from: tokens[0].startIndex, to: start)
            #expect(tokens[1].dropFirst(column).hasPrefix(cell), "\(tokens)")
        }
        let heading = try #require(tokens[0].range(of: "VERSION")).upperBound
        let number = try #require(tokens[1].range(of: "1  whenUnlocked")).lowerBound
        #expect(heading.utf16Offset(in: tokens[0]) == number.utf16Offset(in: tokens[1]) + 1)
    }

    @Test("get --json has the value, and what the list says of the token")
    func described() throws {
        let home = try CommandHome(passcode: nil)
        let put = [
            "token", "put", "s", "a", "--expires", "2250-01-31", "--scope", "one", "--scope", "t\"wo",
            "--label", "the label",
        ]
        for version in 1...2 { #expect(try home.run(put, input: [7]).text == "\(version)\n") }
        var members = try home("token", "get", "s", "a", "--json").json
        #expect(members.removeValue(forKey: "valueBase64") as? String == "Bw==")
        #expect(members["version"] as? Int == 2 && members["scopes"] as? [String] == ["one", "t\"wo"])
        #expect(members["expires"] as? String == "2250-01-31T00:00:00Z")
        let listed = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        let first = try #require(listed?.first)
        #expect(Set(members.keys) == Set(first.keys))
    }

    @Test("put keeps class, label and scopes of what it replaces, and says that the expiry is gone")
    func keeps() throws {
        let home = try CommandHome(passcode: nil)
        let options = [
            "--class", "afterFirstUnlock", "--label", "l", "--scope", "one", "--expires", "2250-01-31",
        ]
        #expect(try home.run(["token", "put", "s", "a"] + options, input: [1]).code == 0)
        func label(_ members: [String: Any]) -> String? {
            (members["attributes"] as? [String: Any])?["label"] as? String
        }
        func put(_ more: String...) throws -> (run: CommandRun, members: [String: Any]) {
            let run = try home.run(["token", "put", "s", "a"] + more, input: [2])
            return (run, try home("token", "get", "s", "a", "--json").json)
        }
        let kept = try put()
        #expect(kept.run.errorText.contains("had the expiry 2250-01-31T00:00:00Z"), "\(kept.run.errorText)")
        #expect(kept.members["class"] as? String == "afterFirstUnlock")
        #expect(kept.run.errorText.contains("keeps the class afterFirstUnlock"), "\(kept.run.errorText)")
        #expect(kept.members["scopes"] as? [String] == ["one"] && kept.members["expires"] is NSNull)
        #expect(label(kept.members) == "l")
        let again = try put().run.errorText
        #expect(again.contains("keeps the class") && !again.contains("expiry"), "\(again)")
        let other = try put("--label", "other", "--expires", "2250-01-31")
        #expect(other.members["scopes"] as? [String] == ["one"])
        #expect(!other.run.errorText.contains("expiry"), "\(other.run.errorText)")
        #expect(label(other.members) == "other")
        // A class that the owner chose for new items is nobody else's choice.
        #expect(try home("settings", "--movable", "on").code == 0)
        let new = try home("token", "put", "s", "new", input: [1])
        #expect(new.code == 0 && !new.errorText.contains("class"), "\(new.errorText)")
        let removed = try put("--label", "", "--scope", "", "--class", "whenUnlockedThisDeviceOnly")
        #expect(removed.members["scopes"] as? [String] == [])
        #expect(removed.members["class"] as? String == "whenUnlockedThisDeviceOnly")
        #expect(label(removed.members) == nil && !removed.run.errorText.contains("keeps the class"))
    }

    @Test("put keeps nothing of a token that arrived while the vault was locked")
    func keepsNothingPlanted() throws {
        let home = try CommandHome()
        let put = ["token", "put", "s", "a"]
        let plant = put + ["--class", "whenUnlocked", "--label", "bank", "--scope", "all"]
        let planted = try home.run(plant, passcode: "", input: [1])
        #expect(planted.code == 0, "\(planted.errorText)")
        for (options, attributes) in [
            (["--label", "own"], ["label": "own"]), ([], ["label": "own"]),
        ] as [([String], [String: String])] {
            let run = try home.run(put + options, input: [2])
            #expect(run.code == 0 && run.errors.isEmpty, "\(run.errorText)")
            let members = try home("token", "get", "s", "a", "--json").json
            #expect(members["class"] as? String == "whenUnlockedThisDeviceOnly")
            #expect(members["scopes"] as? [String] == [])
            #expect(members["attributes"] as? [String: String] == attributes)
        }
    }

    @Test("Closed and full streams are errors, and nothing is written into a file of the vault")
    func streams() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "s", "a", input: Array("value".utf8)).code == 0)
        for (command, redirection, code) in [
            ("token get s a", ">&-", 1), ("token get s a", ">/dev/full", 1), ("token put s b", "<&-", 1),
            ("token get s nothing", "<&- >&- 2>&-", 3), ("token list", "2>&-", 0),
            ("token list --json", "<&- >&- 2>&-", 1), ("status", ">/dev/full", 1),
        ] as [(String, String, Int32)] {
            let script = "exec \"$0\" \(command) --home \"$1\" \(redirection)"
            let run = try CommandRun.run("sh", ["-c", script, CommandRun.cofferPath, home.path])
            #expect(run.code == code, "\(command) \(redirection)")
        }
        #expect(try home("token", "get", "s", "a").text == "value")
        #expect(try home.status()["tokens"] as? Int == 1)
    }

    @Test("Two processes that put at the same time lose nothing")
    func together() throws {
        let home = try CommandHome(passcode: nil)
        let path = home.path
        let codes = try inParallel(2) { worker in
            try (0..<25).map {
                try CommandRun.coffer(
                    "token", "put", "worker-\(worker)", "\($0)", "--home", path, input: [UInt8($0)]
                ).code
            }
        }
        #expect(codes.joined().allSatisfy { $0 == 0 })
        #expect(try home.status()["tokens"] as? Int == 50)
        #expect(try home("token", "get", "worker-1", "24").output == [24])
    }
}
