import Foundation
import TestSupport
import Testing

/// Names that Unicode calls equal are equal to Swift's strings, and different to everything that stores them.
@Suite("Names that are equal in Unicode alone")
struct EquivalentNameTests {
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"

    @Test("Two tokens: each is found, listed, copied and removed by its own bytes")
    func tokens() throws {
        let home = try CommandHome(passcode: nil)
        for (name, value) in [(Self.composed, "one"), (Self.decomposed, "two")] {
            #expect(try home("token", "put", name, "a", input: Array(value.utf8)).code == 0)
            #expect(try home("token", "put", "s", name, input: Array(value.utf8)).code == 0)
        }
        #expect(try home.status()["tokens"] as? Int == 4)
        #expect(try home("token", "get", Self.composed, "a").text == "one")
        #expect(try home("token", "get", Self.decomposed, "a").text == "two")
        #expect(try home("token", "get", "s", Self.decomposed).text == "two")
        #expect(try home("token", "copy", "s", Self.composed, "s", Self.decomposed).code == 13)
        #expect(try home("token", "remove", Self.composed, "a").code == 0)
        #expect(try home("token", "get", Self.composed, "a").code == 3)
        #expect(try home("token", "get", Self.decomposed, "a").text == "two")
        let renamed = try home("token", "rename", Self.decomposed, "a", Self.composed, "a")
        #expect(renamed.code == 0, "\(renamed.errorText)")
        #expect(try home("token", "get", Self.composed, "a").text == "two")
        #expect(try home("token", "get", Self.decomposed, "a").code == 3)
    }

    @Test("Two variables of coffer run get each its own token")
    func run() throws {
        let home = try CommandHome(passcode: nil)
        for (name, value) in [(Self.composed, "one"), (Self.decomposed, "two")] {
            #expect(try home("token", "put", name, "a", input: Array(value.utf8)).code == 0)
        }
        let run = try home(
            "run", "--env", "A=\(Self.composed)/a", "--env", "B=\(Self.decomposed)/a", "--", "sh", "-c",
            "printf '%s %s' \"$A\" \"$B\"")
        #expect(run.code == 0 && run.text == "one two", "\(run.errorText)")
    }

    @Test("Two files: each is renamed and removed by its own bytes, also where one gets the other's name")
    func files() throws {
        let home = try CommandHome(passcode: nil)
        for (name, content) in [(Self.composed, [1]), (Self.decomposed, [2])] as [(String, [UInt8])] {
            let path = try home.file("plain", content)
            #expect(try home("file", "add", path, "--name", name).code == 0)
        }
        #expect(try home("file", "rename", Self.composed, "other").code == 0)
        #expect(try home("file", "cat", Self.composed).code == 3)
        #expect(try home("file", "cat", Self.decomposed).output == [2])
        #expect(try home("file", "rename", Self.decomposed, Self.composed).code == 0)
        #expect(try home("file", "cat", Self.composed).output == [2])
        #expect(try home("file", "remove", Self.decomposed).code == 3)
        #expect(try home("file", "remove", Self.composed).code == 0)
        #expect(try home("file", "cat", "other").output == [1])
        #expect(try home("file", "verify", "--all").code == 0)
    }

    @Test("Two users have two vaults")
    func users() throws {
        let home = try CommandHome(passcode: nil)
        let create = ["init", "--keyring", "file", "--no-passcode"] + CommandHome.cheap
        for (name, value) in [(Self.composed, "one"), (Self.decomposed, "two")] {
            let made = try home.run(create + ["--user", name])
            #expect(made.code == 0, "\(made.errorText)")
            let put = try home("token", "put", "s", "a", "--user", name, input: Array(value.utf8))
            #expect(put.code == 0, "\(put.errorText)")
        }
        #expect(try home("token", "get", "s", "a", "--user", Self.composed).text == "one")
        #expect(try home("wipe", "--yes", "--user", Self.composed).code == 0)
        #expect(try home("token", "get", "s", "a", "--user", Self.decomposed).text == "two")
    }

    @Test("Two soups hold each their own documents")
    func soups() throws {
        let home = try CommandHome(passcode: nil)
        for (name, value) in [(Self.composed, 1), (Self.decomposed, 2)] {
            let run = try home(
                "soup", "upsert", name, "--index", "n:integer", input: Array("{\"n\":\(value)}".utf8))
            #expect(run.code == 0, "\(run.errorText)")
        }
        #expect(try home("soup", "list").text.split(separator: "\n").count == 2)
        for (name, value) in [(Self.composed, 1), (Self.decomposed, 2)] {
            let text = try home("soup", "query", name).text
            #expect(text.split(separator: "\n").count == 1 && text.contains("\"n\":\(value)"), "\(text)")
        }
    }
}
