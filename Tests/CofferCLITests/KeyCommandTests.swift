import Foundation
import Testing
import TestSupport

@Suite("coffer key")
struct KeyCommandTests {
    @Test("documented: the same as Python's hashlib")
    func documented() throws {
        let answers = try DocumentedKeyOracle.answers(count: 25, seed: 7)
        #expect(answers.count == 25)
        for answer in answers {
            let run = try CommandRun.coffer(
                "key", "documented", "--uuid", answer.uuid, "--label", answer.label, "--passcode-fd", "3",
                "--json", descriptors: [3: Array((answer.passcode + "\nignored").utf8)])
            #expect(run.code == 0 && run.errors.isEmpty)
            #expect(run.json["passcodeHash"] as? String == answer.passcodeHash)
            #expect(run.json["key"] as? String == answer.key)
        }
    }

    @Test("documented: no descriptor means no passcode; lines for people")
    func documentedWithoutPasscode() throws {
        let run = try CommandRun.coffer("key", "documented", "--uuid", "A")
        #expect(run.code == 0)
        #expect(
            run.text == """
                passcodeHash:\u{20}
                key: 559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd

                """)
    }

    @Test(
        "pbkdf2: RFC 6070 and RFC 7914",
        arguments: [
            ("sha1", "password", "73616c74", 4096, 20, "4b007901b765489abead49d926f721d065a429c1"),
            (
                "sha256", "passwd", "73616c74", 1, 64,
                "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
                    + "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"
            ),
            (
                "sha512", "password", "73616c74", 1, 16, "867f70cf1ade02cff3752599a3a53dc4"
            ),
        ])
    func pbkdf2(
        _ prf: String, _ secret: String, _ salt: String, _ rounds: Int, _ length: Int, _ expected: String
    ) throws {
        let run = try CommandRun.coffer(
            "key", "pbkdf2", "--prf", prf, "--salt-hex", salt, "--rounds", String(rounds), "--length",
            String(length), "--passcode-fd", "5", descriptors: [5: Array(secret.utf8)])
        #expect(run.code == 0)
        #expect(run.text == expected.prefix(length * 2) + "\n")
    }

    @Test(
        "pbkdf2: impossible rounds and lengths are usage errors",
        arguments: [
            ["--rounds", "0", "--length", "32"], ["--rounds", "-1", "--length", "32"],
            ["--rounds", "2147483648", "--length", "32"], ["--rounds", "1", "--length", "0"],
            ["--rounds", "1", "--length", "99999999999"], ["--length", "32"],
        ])
    func pbkdf2Refusals(_ options: [String]) throws {
        var rest = options.makeIterator()
        var pairs: [String] = []
        while let name = rest.next(), let value = rest.next() { pairs.append("\(name)=\(value)") }
        let run = try CommandRun.run(
            CommandRun.cofferPath,
            ["key", "pbkdf2", "--prf=sha256", "--salt-hex=00", "--passcode-fd=3"] + pairs,
            descriptors: [3: Array("secret".utf8)])
        #expect(run.code == 64 && run.output.isEmpty && !run.errors.isEmpty)
    }
}
