import Foundation
import TestSupport
import Testing

@Suite("coffer soup")
struct SoupCommandTests {
    private static let people = """
        {"Name":"Ada","Age":36}
        {"Name":"Grace","Age":85}

        {"Name":"Alan","Age":41}
        """
    private static let indexes = ["--index", "Name:string", "--index", "Age:integer"]

    private func make() throws -> CommandHome {
        let home = try CommandHome()
        let run = try home.run(
            ["soup", "upsert", "people"] + Self.indexes, input: Array(Self.people.utf8))
        #expect(run.code == 0, "\(run.errorText)")
        return home
    }

    /// The names that a query finds, in order.
    private func names(_ home: CommandHome, _ spec: String) throws -> [String] {
        let run = try home.run(["soup", "query", "people", "--spec", "-"], input: Array(spec.utf8))
        try #require(run.code == 0, "\(spec): \(run.errorText)")
        return try run.text.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return try #require(object?["Name"] as? String)
        }
    }

    @Test("Documents are stored, found by every type of query, and removed")
    func lifecycle() throws {
        let home = try make()
        #expect(try home("soup", "list").text == "people\n")
        #expect(try home.run(["soup", "list", "--stores"], passcode: "").text == "default\n")
        #expect(try home("soup", "list", "--stores", "--global").text.isEmpty)
        let shown = try home("soup", "show", "people", "--json")
        #expect(shown.json["entries"] as? Int == 3 && (shown.json["indexes"] as? [Any])?.count == 2)
        #expect(try home("soup", "query", "people").text.split(separator: "\n").count == 3)
        #expect(try names(home, #"{"queryType":"exact","indexPath":"Name","matchKey":"Ada"}"#) == ["Ada"])
        let range = #"{"queryType":"range","indexPath":"Age","beginKey":40,"order":"descending"}"#
        #expect(try names(home, range) == ["Grace", "Alan"])
        let like = #"{"queryType":"like","indexPath":"Name","likeKey":"A%"}"#
        #expect(try names(home, like) == ["Ada", "Alan"])
        #expect(
            try names(home, #"{"queryType":"all","orderPath":"Age"}"#) == ["Ada", "Alan", "Grace"])
        let smart =
            #"{"queryType":"smart","smartSql":"SELECT {people:Name} FROM {people} "#
            + #"WHERE {people:Age} > ?","args":[80]}"#
        let rows = try home("soup", "query", "--spec", "-", input: Array(smart.utf8))
        #expect(rows.code == 0 && rows.text == "[\"Grace\"]\n", "\(rows.errorText)")
        let partly = try home("soup", "rm", "people", "1", "99")
        #expect(
            partly.code == 3 && partly.text == "1\n" && partly.errorText.contains("1 of the 2 specified ids"))
        let absent = try home("soup", "remove", "people", "77", "--json")
        #expect(absent.code == 3 && absent.errorCode == "absent", "\(absent.text)")
        #expect(absent.errorText.contains("The soup people has no document with this id."))
        let spec = Array(like.utf8)
        #expect(try home("soup", "remove", "people", "--spec", "-", input: spec).text == "1\n")
        #expect(try home("soup", "remove", "people", "--whole", "--json").json["removed"] as? Int == 1)
        #expect(try home("soup", "list").text.isEmpty)
    }

    @Test("A document replaces the one with its id, or with the same external id")
    func replaced() throws {
        let home = try make()
        let upsert = ["soup", "upsert", "people", "--json", "--external-id", "Name"]
        let run = try home.run(upsert, input: Array(#"{"Name":"Ada","Age":37}"#.utf8))
        #expect(run.code == 0 && run.text.contains("\"Age\":37"))
        #expect(run.text.contains("\"_soupEntryId\":1"))
        let list = Array(#"[{"Name":"Eve","Age":1},{"_soupEntryId":1,"Name":"Ada L.","Age":38}]"#.utf8)
        #expect(try home("soup", "upsert", "people", input: list).code == 0)
        #expect(
            try names(home, #"{"queryType":"all","orderPath":"Age"}"#) == ["Eve", "Ada L.", "Alan", "Grace"])
    }

    @Test("Control characters are stored as they are, and escaped in what is printed")
    func controls() throws {
        let home = try make()
        let input = Array("{\"Name\":\"\u{9B}2J\u{7F}\",\"Age\":1}".utf8)
        let run = try home("soup", "upsert", "people", "--json", input: input)
        #expect(run.code == 0 && run.text.contains(#""Name":"\u009b2J\u007f""#), "\(run.errorText)")
        let spec = #"{"queryType":"exact","indexPath":"Age","matchKey":1}"#
        #expect(try names(home, spec) == ["\u{9B}2J\u{7F}"])
        let found = try home("soup", "query", "people", "--spec", "-", input: Array(spec.utf8))
        #expect(found.text.contains(#""Name":"\u009b2J\u007f""#), "\(found.text)")
    }

    @Test("What is absent or wrong has its exit code, and makes no store")
    func failures() throws {
        let empty = try CommandHome(passcode: nil)
        for command in [["list"], ["show", "people"], ["query", "people"], ["remove", "people", "1"]] {
            #expect(try empty.run(["soup"] + command).code == 3, "\(command)")
        }
        #expect(try empty("soup", "upsert", "people", input: Array("{}".utf8)).code == 3)
        #expect(try empty("soup", "list", "--stores").text.isEmpty)
        let home = try make()
        #expect(try home("soup", "show", "nobody").code == 3)
        #expect(try home.run(["soup", "query", "people"], passcode: "").code == 4)
        let wrong = [
            "{\"queryType\":\"none\"}", "[]", "x", "{\"queryType\":\"exact\",\"indexPath\":\"Name\"}",
            "{\"queryType\":\"all\",\"matchKey\":1}", "{\"queryType\":\"all\",\"order\":\"up\"}",
            "{\"queryType\":\"exact\",\"indexPath\":\"Nothing\",\"matchKey\":1}",
        ]
        for spec in wrong {
            let run = try home("soup", "query", "people", "--spec", "-", input: Array(spec.utf8))
            #expect(run.code == 64, "\(spec): \(run.errorText)")
        }
        for input in ["", "x", "[1]", "{\"a\":1}\nx"] {
            #expect(try home("soup", "upsert", "people", input: Array(input.utf8)).code == 64, "\(input)")
        }
        #expect(try home("soup", "upsert", "more", "--index", "Name", input: Array("{}".utf8)).code == 64)
        #expect(try home("soup", "remove", "people").code == 64)
        #expect(try home("soup", "query").code == 64)
        #expect(try home("soup", "query", "people").text.split(separator: "\n").count == 3)
    }
}

@Suite("coffer database --vault")
struct VaultDatabaseCommandTests {
    @Test("The vault keeps the key of a database, whose content stays and can be destroyed")
    func lifecycle() throws {
        let home = try CommandHome()
        let query = ["database", "query", "--vault", "notes"]
        #expect(try home.run(query + ["SELECT 1"]).code == 3)
        #expect(try home.run(query + ["--create", "CREATE TABLE note (text)"]).code == 0)
        let insert = "INSERT INTO note VALUES ('call')"
        #expect(try home.run(query + ["-"], input: Array(insert.utf8)).code == 0)
        let run = try home.run(query + ["--json", "SELECT * FROM note"])
        #expect(run.text == "[{\"text\":\"call\"}]\n", "\(run.errorText)")
        let locked = try home.run(query + ["SELECT 1"], passcode: "")
        #expect(locked.code == 4 && locked.errorText.contains("--passcode-fd"))
        let list = try home.run(["database", "list"], passcode: "").text
        #expect(list.contains("notes") && list.contains("whenUnlockedThisDeviceOnly"))
        #expect(try home.run(["database", "remove", "--vault", "notes"], passcode: "").code == 64)
        let remove = ["database", "remove", "--vault", "notes", "--yes"]
        #expect(try home.run(remove, passcode: "").code == 0)
        #expect(try home.run(remove, passcode: "").code == 3)
        #expect(try home.run(query + ["SELECT 1"]).code == 3)
    }

    @Test("Errors in statements leave what was there; a key beside --vault is refused")
    func refused() throws {
        let home = try CommandHome(passcode: nil)
        let query = ["database", "query", "--vault", "notes"]
        #expect(try home.run(query + ["--create", "CREATE TABLE note (text)"]).code == 0)
        #expect(try home.run(query + ["BEGIN; INSERT INTO note VALUES (1)"]).code == 64)
        #expect(try home.run(query + ["SELECT * FROM nothing"]).code == 64)
        #expect(try home.run(query + ["SELECT count(*) FROM note"]).text == "0\n")
        for more in [["--codec", "gcm1"], ["--key-hex-fd", "3"], ["--passphrase-fd", "3"]] {
            #expect(try home.run(query + more + ["SELECT 1"]).code == 64)
        }
        #expect(try home.run(query).code == 64)
        #expect(try home.run(query + ["one.db", "SELECT 1"]).code == 64)
        #expect(try home.run(["database", "query"]).code == 64)
        #expect(try home.run(["database", "query", "--vault", "../x", "SELECT 1"]).code == 64)
    }
}
