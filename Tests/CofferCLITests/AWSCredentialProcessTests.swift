import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("coffer aws-credential-process")
struct AWSCredentialProcessTests {
    private func put(_ home: CommandHome, _ arguments: String..., value: String) throws {
        #expect(try home.run(["token", "put"] + arguments, input: Array(value.utf8)).code == 0)
    }

    @Test("The document has the profile's keys")
    func document() throws {
        let home = try CommandHome(passcode: nil)
        try put(home, "aws:default", "AKIAEXAMPLE", value: "abc/+\"\\=")
        let lasting = try home("aws-credential-process")
        #expect(lasting.code == 0 && lasting.json.count == 3 && lasting.json["Version"] as? Int == 1)
        #expect(lasting.json["AccessKeyId"] as? String == "AKIAEXAMPLE")
        #expect(lasting.json["SecretAccessKey"] as? String == "abc/+\"\\=")
        try put(home, "aws:test", "ASIAEXAMPLE", "--expires", "2099-01-31T12:00:00Z", value: "secret")
        try put(home, "aws:test", "ASIAEXAMPLE", "--kind", "other", value: "session")
        let passing = try home("aws-credential-process", "test").json
        #expect(passing.count == 5 && passing["SessionToken"] as? String == "session")
        #expect(passing["Expiration"] as? String == "2099-01-31T12:00:00Z")
    }

    @Test(
        "A session token that came in while locked does not go out with a key that did not",
        .enabled(if: KernelKeyring.isAvailable), arguments: [false, true])
    func handedIn(_ isKeyHandedIn: Bool) throws {
        let home = try CommandHome()
        let session = ["token", "put", "aws:default", "AKIA", "--kind", "other"]
        let key = ["token", "put", "aws:default", "AKIA"]
        let passcode = isKeyHandedIn ? "" : nil
        #expect(try home.run(key, passcode: passcode, input: Array("secret".utf8)).code == 0)
        #expect(try home.run(session, passcode: "", input: Array("EVIL".utf8)).code == 0)
        let run = try home("aws-credential-process")
        #expect(run.code == 0 && run.json["SecretAccessKey"] as? String == "secret")
        #expect(run.json["SessionToken"] as? String == (isKeyHandedIn ? "EVIL" : nil))
        #expect(run.errorText.contains("left out") == !isKeyHandedIn)
        #expect(try home.run(session, input: Array("own".utf8)).code == 0)
        #expect(try home("aws-credential-process").json["SessionToken"] as? String == "own")
    }

    @Test("A key or session token with a newline or NUL is refused, with the next step")
    func newline() throws {
        let home = try CommandHome(passcode: nil)
        for value in ["secret\n", "sec\0ret"] {
            try put(home, "aws:default", "AKIAEXAMPLE", value: value)
            let run = try home("aws-credential-process")
            #expect(run.code == 11 && run.output.isEmpty && run.errorText.contains("printf %s"))
            #expect(
                run.errorText.contains("SecretAccessKey contains a newline or a NUL byte"), "\(run.errorText)"
            )
        }
        try put(home, "aws:default", "AKIAEXAMPLE", value: "secret")
        try put(home, "aws:default", "AKIAEXAMPLE", "--kind", "other", value: "session\n")
        let run = try home("aws-credential-process")
        #expect(run.code == 11 && run.output.isEmpty && run.errorText.contains("SessionToken"))
    }

    @Test("Missing, expired, several and binary keys and a locked home are errors")
    func errors() throws {
        let home = try CommandHome(passcode: nil)
        let none = try home("aws-credential-process", "nope")
        #expect(none.code == 3 && none.errorText.contains("the service aws:nope."), "\(none.errorText)")
        try put(home, "aws:old", "A", "--expires", "2001-01-01T00:00:00Z", value: "secret")
        let expired = try home("aws-credential-process", "old")
        #expect(expired.code == 3 && expired.output.isEmpty && expired.errorText.contains("expired"))
        try put(home, "aws:two", "A", value: "secret of A")
        try put(home, "aws:two", "B", value: "secret of B")
        #expect(try home("aws-credential-process", "two").code == 64)
        let named = try home("aws-credential-process", "two", "--access-key-id", "B")
        #expect(named.json["SecretAccessKey"] as? String == "secret of B")
        #expect(try home.run(["token", "put", "aws:bytes", "A"], input: [0xff]).code == 0)
        let bytes = try home("aws-credential-process", "bytes")
        #expect(bytes.code == 11 && bytes.output.isEmpty)
        let locked = try CommandHome()
        let run = try locked.run(["aws-credential-process"], passcode: "")
        #expect(run.code == 4 && run.output.isEmpty && run.errorText.contains("coffer unlock"))
    }
}
