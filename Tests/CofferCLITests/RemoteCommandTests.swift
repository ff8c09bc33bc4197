import Foundation
import Testing
import TestSupport

@Suite("coffer remote-wipe", .timeLimit(.minutes(10)))
struct RemoteCommandTests {
    /// A home that has pinned the key of an administrator, whose private key lies beside it.
    private struct Fixture {
        let home: CommandHome
        let keyFile: String
        let publicKey: String
        let vault: String

        init(passcode: String? = "2468") throws {
            home = try CommandHome(passcode: passcode)
            (keyFile, publicKey) = try Self.key("administrator", in: home)
            vault = try #require(try home.status()["vaultID"] as? String)
            let run = try home("remote-wipe", "trust-key", publicKey, "--label", "the office")
            try #require(run.code == 0, "\(run.errorText)")
        }

        static func key(_ name: String, in home: CommandHome) throws -> (file: String, publicKey: String) {
            let file = home.folder.appending(path: name).path(percentEncoded: false)
            let run = try CommandRun.coffer("remote-wipe", "keygen", file)
            try #require(run.code == 0, "\(run.errorText)")
            return (file, run.text.trimmingCharacters(in: .whitespacesAndNewlines))
        }

        /// An order for this vault as a file; gives its path.
        func order(_ name: String, _ options: String..., key: String? = nil) throws -> String {
            let target = options.contains("--device") ? [] : ["--vault", vault]
            let run = try CommandRun.run(
                CommandRun.cofferPath,
                ["remote-wipe", "create", "--key-file", key ?? keyFile] + target + options)
            try #require(run.code == 0, "\(run.errorText)")
            return try home.file(name, run.output)
        }

        /// Gives an order to `wipe --order` without a passcode.
        func wipe(_ file: String, environment: [String: String] = [:]) throws -> CommandRun {
            try home.run(["wipe", "--order", file, "--json"], passcode: "", environment: environment)
        }
    }

    @Test("An order wipes without the passcode, and its receipt verifies")
    func valid() throws {
        let scene = try Fixture()
        let order = try scene.order("o", "--reason", "lost on a train")
        let verified = try scene.home.run(["remote-wipe", "verify", order, "--json"], passcode: "").json
        #expect(verified["valid"] as? Bool == true && verified["action"] as? String == "wipe")
        #expect(verified["scope"] as? String == "all" && verified["reason"] as? String == "lost on a train")
        let run = try scene.wipe(order)
        #expect(run.code == 0, "\(run.errorText)")
        #expect(run.json["reason"] as? String == "lost on a train")
        #expect(run.json["orderDigest"] as? String == verified["digest"] as? String)
        let receipt = try scene.home.file("receipt", run.output)
        let other = try scene.order("other", "--reason", "another")
        for (order, receipt, code) in [
            (order, receipt, 0), (order, scene.home.path + "/receipt.json", 0), (other, receipt, 7),
            (order, order, 64),
        ] as [(String, String, Int32)] {
            let check = try CommandRun.coffer(
                "remote-wipe", "verify", order, "--key", scene.publicKey, "--receipt", receipt, "--json")
            #expect(check.code == code, "\(check.errorText)")
        }
        #expect(try scene.wipe(order).code == 6)
        #expect(try scene.home.status()["state"] as? String == "wiped")
    }

    @Test("Every refusal has its exit code and its word, and changes nothing")
    func refusals() throws {
        let scene = try Fixture()
        let stranger = try Fixture.key("stranger", in: scene.home).file
        #expect(try scene.home("remote-wipe", "apply", scene.order("c", "--action", "heartbeat")).code == 0)
        let pinned = try Fixture.key("second", in: scene.home).publicKey
        let pin = try scene.order("p", "--action", "trust-key", "--key", pinned, "--counter", "5")
        #expect(try scene.home("remote-wipe", "apply", pin).code == 0)
        let good = try [UInt8](Data(contentsOf: URL(filePath: scene.order("g", "--counter", "6"))))
        var broken = good
        broken[90] ^= 1
        broken[good.count - 1] ^= 1
        var newer = good
        newer[9] = 2
        let elsewhere = ["--device", String(repeating: "0", count: 32)]
        let cases: [(String, String, Int32)] = [
            (try scene.home.file("1", Array(good.dropLast())), "orderMalformed", 7),
            (try scene.home.file("2", Array("{\"wipe\":true}".utf8)), "orderMalformed", 7),
            (try scene.home.file("3", good + [UInt8](repeating: 0, count: 1 << 20)), "orderTooLong", 7),
            (try scene.home.file("4", newer), "orderUnsupportedVersion", 7),
            (try scene.order("5", "--counter", "6", key: stranger), "orderUnknownKey", 7),
            (
                try scene.home.file("6", Array(good.dropLast()) + [good[good.count - 1] ^ 1]),
                "orderBadSignature", 7
            ),
            (try scene.order("7", elsewhere[0], elsewhere[1], "--counter", "6"), "orderForeign", 7),
            (try scene.order("8", "--counter", "5"), "orderReplayed", 10),
            (
                try scene.order("9", "--counter", "6", "--issued", "2200-01-01T00:00:00Z"),
                "orderNotYetValid", 11
            ),
            (
                try scene.order(
                    "10", "--counter", "6", "--issued", "2001-01-01T00:00:00Z", "--valid-for", "1"),
                "orderExpired", 11
            ),
        ]
        for (file, word, code) in cases {
            for command in [["wipe", "--order", file], ["remote-wipe", "verify", file]] {
                let run = try scene.home.run(command + ["--json"], passcode: "")
                #expect(run.code == code && run.errorCode == word, "\(command): \(run.text)")
            }
        }
        for counter in ["0", "18446744073709551615", "-1"] {
            let run = try CommandRun.coffer(
                "remote-wipe", "create", "--key-file", scene.keyFile, "--vault", scene.vault,
                "--counter=\(counter)")
            #expect(run.code == 64 && run.output.isEmpty)
        }
        #expect(try scene.home.status()["state"] as? String == "locked")
        #expect(try scene.wipe(scene.home.file("g", good)).code == 0)
    }

    @Test("An order for later has a later counter than what is made and taken meanwhile")
    func later() throws {
        let scene = try Fixture(passcode: nil)
        let issued = "2100-01-01T00:00:00Z"
        let later = try ["1", "2"].map { try scene.order($0, "--issued", issued) }
        let earlier = try scene.order("3", "--issued", "2001-01-01T00:00:00Z", "--valid-for", "3000000000")
        let now = try scene.order("4", "--action", "heartbeat")
        let counters = try (later + [earlier, now]).map { file in
            Array(try Data(contentsOf: URL(filePath: file))[32..<40]).reduce(UInt64(0)) {
                $0 << 8 | UInt64($1)
            }
        }
        for counter in counters[..<2] { #expect(counter / 1000 == 4_102_444_800) }
        #expect(counters[2] <= counters[3] && counters[3] < counters[0])
    }

    @Test(
        "An order is valid in its time alone, also with the clock at 1970 and in 2038",
        .enabled(if: OtherClocks.areThere))
    func clocks() throws {
        let scene = try Fixture(passcode: nil)
        let order = try scene.order("o", "--counter", "6")
        for (seconds, word) in [(0, "orderNotYetValid"), (9, "orderNotYetValid"), (1 << 31, "orderExpired")] {
            let run = try scene.wipe(order, environment: OtherClocks.standing(at: seconds))
            #expect(run.code == 11 && run.errorCode == word, "\(run.text) \(run.errorText)")
        }
        #expect(try scene.home.status()["state"] as? String == "unlocked")
        let late = try scene.order("l", "--counter", "7", "--issued", "2038-01-19T03:14:00Z")
        let run = try scene.wipe(late, environment: OtherClocks.standing(at: (1 << 31) + 5))
        #expect(run.code == 0, "\(run.text) \(run.errorText)")
        #expect((run.json["started"] as? String)?.hasPrefix("2038-01-19T03:14:13") == true)
    }

    @Test("Two processes that carry out the same order at once: one receipt, and the vault is gone")
    func twoProcesses() throws {
        for _ in 0..<3 {
            let scene = try Fixture(passcode: nil)
            let order = try scene.order("o")
            let script = """
                "$0" wipe --order "$2" --home "$1" >"$1/../a" 2>"$1/../ae" & first=$!
                "$0" wipe --order "$2" --home "$1" >"$1/../b" 2>"$1/../be"; second=$?
                wait $first; echo $? $second
                """
            let run = try CommandRun.run("sh", ["-c", script, CommandRun.cofferPath, scene.home.path, order])
            let codes = run.text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            #expect(codes.filter { $0 == 0 }.count == 1, "\(codes)")
            #expect(codes.allSatisfy { [0, 6, 7].contains($0) }, "\(codes)")
            #expect(try scene.home.status()["state"] as? String == "wiped")
        }
    }

    @Test("apply takes only orders that do not erase, and wipe only those that do")
    func doors() throws {
        let scene = try Fixture()
        let wipe = try scene.order("w")
        let heartbeat = try scene.order("c", "--action", "heartbeat")
        #expect(try scene.home("remote-wipe", "apply", wipe).code == 64)
        #expect(try scene.wipe(heartbeat).code == 64)
        #expect(try scene.home.run(["remote-wipe", "apply", heartbeat], passcode: "").code == 0)
        #expect(
            try scene.home.run(["remote-wipe", "apply", heartbeat, "--json"], passcode: "").errorCode
                == "orderReplayed")
        let piped = try scene.home.run(
            ["wipe", "--order", "-", "--json"], passcode: "",
            input: [UInt8](Data(contentsOf: URL(filePath: wipe))))
        #expect(piped.code == 0, "\(piped.errorText)")
    }

    @Test("Pinning and removing ask for the passcode; keys are listed for everybody")
    func keys() throws {
        let scene = try Fixture()
        let list = try scene.home.run(["remote-wipe", "keys", "--json"], passcode: "").json
        let keys = list["keys"] as? [[String: Any]]
        #expect(keys?.count == 1 && keys?.first?["key"] as? String == scene.publicKey)
        #expect(keys?.first?["label"] as? String == "the office" && list["vault"] as? String == scene.vault)
        for command in [
            ["trust-key", String(repeating: "1", count: 64)], ["distrust-key", scene.publicKey],
        ] {
            let run = try scene.home.run(["remote-wipe"] + command + ["--json"], passcode: "")
            #expect(run.code == 4 && run.errorCode == "locked")
        }
        #expect(try scene.home("remote-wipe", "trust-key", scene.publicKey).code == 13)
        #expect(try scene.home("remote-wipe", "trust-key", "0011").code == 64)
        #expect(try scene.home("remote-wipe", "distrust-key", scene.publicKey).code == 0)
        #expect(try scene.home("remote-wipe", "distrust-key", scene.publicKey).code == 3)
        #expect(try scene.wipe(scene.order("o")).errorCode == "orderUnknownKey")
    }

    @Test("A private key comes from its owner's own file or a descriptor and is never overwritten")
    func privateKeys() throws {
        let scene = try Fixture()
        let mode = try FileManager.default.attributesOfItem(atPath: scene.keyFile)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try CommandRun.coffer("remote-wipe", "keygen", scene.keyFile).code == 13)
        let digits = try [UInt8](Data(contentsOf: URL(filePath: scene.keyFile)))
        let create = [
            "remote-wipe", "create", "--vault", scene.vault, "--counter", "9", "--issued",
            "2030-01-01T00:00:00Z",
        ]
        let byFile = try CommandRun.run(CommandRun.cofferPath, create + ["--key-file", scene.keyFile])
        let byDescriptor = try CommandRun.run(
            CommandRun.cofferPath, create + ["--key-fd", "3"], descriptors: [3: digits])
        #expect(byFile.code == 0 && byFile.output == byDescriptor.output)
        let json = try CommandRun.run(
            CommandRun.cofferPath, create + ["--key-file", scene.keyFile, "--json"]
        ).json
        let text = try #require(json["order"] as? String)
        #expect(Data(base64Encoded: text).map { [UInt8]($0) } == byFile.output)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: scene.keyFile)
        let open = try CommandRun.run(
            CommandRun.cofferPath, create + ["--key-file", scene.keyFile, "--json"])
        #expect(open.code == 11 && open.errorCode == "refused")
        for (extra, code) in [
            ([], 64), (["--key-fd", "3", "--key-file", scene.keyFile], 64),
            (["--key-file", "/no/such/key"], 3),
        ] as [([String], Int32)] {
            let run = try CommandRun.run(CommandRun.cofferPath, create + extra, descriptors: [3: digits])
            #expect(run.code == code, "\(extra): \(run.errorText)")
        }
        let short = try CommandRun.run(
            CommandRun.cofferPath, create + ["--key-fd", "3"], descriptors: [3: Array("00ff\n".utf8)])
        #expect(short.code == 64)
        for wrong in [
            ["--scope", "some"], ["--scope", "user:"], ["--action", "heartbeat", "--scope", "all"],
            ["--action", "trust-key"], ["--key", scene.publicKey], ["--device", "00"], ["--valid-for", "0"],
            ["--issued", "2030-02-31T00:00:00Z"], ["--reason", "a\u{1B}"],
        ] {
            let run = try CommandRun.run(
                CommandRun.cofferPath, create + ["--key-fd", "3"] + wrong, descriptors: [3: digits])
            #expect(run.code == 64 && run.output.isEmpty, "\(wrong)")
        }
    }

    @Test("The dead-man's switch is off, is set by the owner, and says how it stands")
    func heartbeat() throws {
        let scene = try Fixture()
        func show() throws -> [String: Any] {
            try scene.home.run(["remote-wipe", "heartbeat", "--json"], passcode: "").json
        }
        #expect(try show()["action"] as? String == "off")
        let set = ["remote-wipe", "heartbeat", "--action", "wipe", "--after-days", "30", "--json"]
        #expect(try scene.home.run(set, passcode: "").errorCode == "locked")
        #expect(try scene.home.run(set).json["afterDays"] as? Int == 30)
        #expect(try show()["action"] as? String == "wipe" && show()["secondsSinceHeartbeat"] is Int)
        for wrong in [
            ["--action", "wipe"], ["--action", "lock", "--after-days", "0"], ["--after-days", "3"],
            ["--action", "off", "--after-days", "3"], ["--action", "lock", "--after-days", "3651"],
        ] {
            #expect(try scene.home.run(["remote-wipe", "heartbeat"] + wrong).code == 64, "\(wrong)")
        }
        #expect(try scene.home("remote-wipe", "heartbeat", "--action", "off").text == "off\n")
    }

    @Test("watch carries out an order that is put into its mailbox, and ends")
    func mailbox() throws {
        let scene = try Fixture(passcode: nil)
        let box = scene.home.folder.appending(path: "box")
        try FileManager.default.createDirectory(at: box, withIntermediateDirectories: false)
        let order = try scene.order("o", "--reason", "by post")
        let script = """
            "$0" watch --home "$1" --mailbox "$2" --every 1 --json >"$2/../out" 2>"$2/../err" & watch=$!
            until grep -q Listening "$2/../err"; do kill -0 $watch || exit 99; sleep 0.1; done
            echo junk >"$2/a.order"
            cp "$3" "$2/.new" && mv "$2/.new" "$2/b.order"
            wait $watch; echo $?
            """
        let run = try CommandRun.run(
            "sh",
            ["-c", script, CommandRun.cofferPath, scene.home.path, box.path(percentEncoded: false), order],
            environment: ["DBUS_SESSION_BUS_ADDRESS": "", "DBUS_SYSTEM_BUS_ADDRESS": ""], seconds: 240)
        #expect(run.text == "6\n", "\(run.errorText)")
        let errors = try String(contentsOf: scene.home.folder.appending(path: "err"), encoding: .utf8)
        #expect(errors.contains("Mailbox: orderMalformed"))
        let receipt = try String(contentsOfFile: scene.home.path + "/receipt.json", encoding: .utf8)
        #expect(receipt.contains("by post"))
    }

    @Test("A refresh command that exits 77 reports a revoked token, when that option is set")
    func refresh() throws {
        for (policy, code, state) in [
            (nil, 1, "unlocked"), ("keep", 11, "unlocked"), ("lock", 11, "unlocked"),
            ("wipe", 11, "unlocked"), ("wipe-all", 11, "wiped"),
        ] as [(String?, Int32, String)] {
            let home = try CommandHome(passcode: nil)
            for account in ["a", "b"] {
                #expect(try home("token", "put", "s", account, input: [1]).code == 0)
            }
            let option = policy.map { ["--on-revocation", $0] } ?? []
            let run = try home.run(
                ["token", "refresh", "s", "a", "--json"] + option + ["--", "sh", "-c", "exit 77"])
            #expect(run.code == code && run.errorCode == (policy == nil ? "inputOutput" : "tokenRevoked"))
            let outcomes = [
                "keep": "the stored token was kept", "lock": "the vault was locked",
                "wipe-all": "the whole vault was",
                "wipe": "all tokens for this service and account were erased",
            ]
            if let policy { #expect(run.errorText.contains(outcomes[policy] ?? "?"), "\(run.errorText)") }
            #expect(try home.status()["state"] as? String == state)
            guard state == "unlocked" else { continue }
            // Everything the grant stood for, and nothing else.
            #expect(try home("token", "get", "s", "a").code == (policy == "wipe" ? 3 : 0))
            #expect(try home("token", "get", "s", "b").code == 0)
        }
    }

    @Test("Pinning and the switch need an unlocked vault or the passcode, and name its option")
    func passcode() throws {
        let scene = try Fixture()
        let (_, other) = try Fixture.key("other", in: scene.home)
        let commands = [
            ["remote-wipe", "trust-key", other], ["remote-wipe", "distrust-key", other],
            ["remote-wipe", "heartbeat", "--action", "lock", "--after-days", "30"],
        ]
        try #require(try scene.home("unlock").code == 0)
        for command in commands {
            let run = try CommandRun.run(CommandRun.cofferPath, Array(command.prefix(2)) + ["--help"])
            let help = run.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(!help.contains("Asks for") && help.contains("or the passcode"), "\(help)")
        }
        #expect(try scene.home.run(["lock"], passcode: "").code == 0)
        for command in commands {
            let run = try scene.home.run(command, passcode: "")
            #expect(run.code == 4 && run.errorText.contains("--passcode-fd"), "\(run.errorText)")
            #expect(try scene.home.run(command).code == 0)
        }
    }
}
