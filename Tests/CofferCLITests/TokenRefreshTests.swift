import Foundation
import Testing
import TestSupport

@Suite("coffer token refresh", .timeLimit(.minutes(10)))
struct TokenRefreshTests {
    /// A home with the token `1` of service s and account a.
    private func make() throws -> CommandHome {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "s", "a", input: Array("1".utf8)).code == 0)
        return home
    }

    private func refresh(
        _ home: CommandHome, _ script: String, _ options: String..., passcode: String? = nil
    ) throws -> CommandRun {
        try home.run(
            ["token", "refresh", "s", "a"] + options + ["--", "sh", "-c", script], passcode: passcode)
    }

    @Test("The command reads the token and returns a new one exactly; refresh prints its version")
    func exact() throws {
        let home = try make()
        let all: [UInt8] = Array(0...255) + [10]
        #expect(try home("token", "put", "s", "a", input: all).code == 0)
        let run = try home("token", "refresh", "s", "a", "--", "sh", "-c", "cat; printf '\\n'; echo told >&2")
        #expect(run.code == 0 && run.text == "3\n" && run.errorText.contains("told"))
        #expect(try home("token", "get", "s", "a").output == all + [10])
        let json = try refresh(home, "printf new", "--json", "--expires-in", "3600").json
        #expect(json["version"] as? Int == 4 && json["refreshed"] as? Bool == true)
        let list = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(list?.first?["expires"] is String)
    }

    @Test("A command that fails, prints nothing or too much, or takes too long changes nothing")
    func failures() throws {
        let home = try make()
        for (script, options, code, name) in [
            ("printf new; exit 1", [], 1, "inputOutput"), ("printf new; kill -9 $$", [], 1, "inputOutput"),
            ("cat >&2", [], 1, "inputOutput"), ("yes", [], 64, "invalidInput"),
            ("printf new; exec sleep 1000", ["--deadline", "1"], 9, "timedOut"),
        ] as [(String, [String], Int32, String)] {
            let run = try home.run(
                ["token", "refresh", "s", "a", "--json"] + options + ["--", "sh", "-c", script])
            #expect(run.code == code && run.errorCode == name, "\(script)")
            #expect(try home("token", "get", "s", "a").text == "1", "\(script)")
        }
        #expect(try home("token", "refresh", "s", "a", "--", "/no/such/program").code == 64)
        #expect(try home("token", "refresh", "s", "a").code == 64)
        #expect(try home("token", "refresh", "s", "a", "--deadline", "0", "--", "true").code == 64)
        #expect(try home("token", "refresh", "s", "b", "--", "cat").code == 3)
        let list = try home("token", "list", "--json").json["tokens"] as? [[String: Any]]
        #expect(list?.first?["version"] as? Int == 1)
    }

    @Test("A locked home runs no command")
    func locked() throws {
        let home = try CommandHome()
        let mark = home.folder.appending(path: "ran").path(percentEncoded: false)
        #expect(try home("token", "put", "s", "a", input: [1]).code == 0)
        #expect(try refresh(home, "touch '\(mark)'; printf new", passcode: "").code == 4)
        #expect(!FileManager.default.fileExists(atPath: mark))
    }

    @Test("A refresh that waits in vain times out and says so")
    func waiting() throws {
        let home = try make()
        let holder = try #require(
            Helper([
                "sh", "-c",
                """
                exec "$0" token refresh s a --home "$1" 3>&1 4<&0 \
                    -- sh -c 'echo ready >&3; read -r line <&4; exit 1'
                """,
                CommandRun.cofferPath, home.path,
            ]))
        let run = try refresh(home, "printf new", "--deadline", "1", "--json")
        #expect(run.code == 9 && run.errorCode == "timedOut")
        holder.send("end")
        _ = holder.end()
        #expect(try home("token", "get", "s", "a").text == "1")
    }

    @Test("Many at once, one killed in the middle: as many runs as the token grew, nothing lost")
    func rounds() throws {
        let script = PackageRoot.path + "Tests/Faults/refresh_rounds.py"
        let run = try CommandRun.run(
            "python3", [script, "--coffer", CommandRun.cofferPath, "--rounds", "4", "--within", "30"],
            seconds: 400)
        #expect(run.code == 0, "\(run.text) \(run.errorText)")
    }
}
