import Foundation
import Testing
import TestSupport

@Suite("Residue on the disk and in memory directories")
struct ResidueTests {
    // Unique to this run: /dev/shm is shared, and another run of these tests has its copies there.
    private static let run = UUID().uuidString
    private static let token = "token-\(run)-in-the-clear"
    private static let content = "content-\(run)-in-the-clear"
    private static let name = "name-\(run)-in-the-clear.txt"
    private static let account = "account-\(run)@example.org"

    /// The secrets that occur in names or contents below the folders, raw or in Base64.
    private func traces(below roots: [String]) -> Set<String> {
        var found: Set<String> = []
        let needles = [Self.token, Self.content, Self.name, Self.account]
        for root in roots {
            let paths = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
            for path in paths {
                let data = FileManager.default.contents(atPath: root + "/" + path) ?? Data()
                for needle in needles {
                    let base64 = Data(Data(needle.utf8).base64EncodedString().prefix(24).utf8)
                    if path.contains(needle) || data.range(of: Data(needle.utf8)) != nil
                        || data.range(of: base64) != nil
                    {
                        found.insert(needle)
                    }
                }
            }
        }
        return found
    }

    @Test("Nothing while locked, nothing after wiping; the search finds everything where it lies open")
    func residue() throws {
        let home = try CommandHome()
        let runtime = "/dev/shm/coffer-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: runtime, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: runtime) }
        let environment = ["XDG_RUNTIME_DIR": runtime]
        let places = [home.path, runtime, "/dev/shm"]
        let open = home.folder.appending(path: "open").path(percentEncoded: false)
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
        try Data((Self.content + Self.account).utf8).write(to: URL(filePath: open + "/" + Self.name))
        try Data(Self.token.utf8).write(to: URL(filePath: open + "/token"))
        #expect(traces(below: [open]) == [Self.token, Self.content, Self.name, Self.account])

        let put = try home.run(
            ["token", "put", "service", Self.account], input: Array(Self.token.utf8), environment: environment
        )
        let added = try home.run(["file", "add", open + "/" + Self.name, "--json"], environment: environment)
        let id = try #require(added.json["id"] as? String)
        try #require(put.code == 0)
        #expect(try home.run(["unlock"], environment: environment).code == 0)
        #expect(traces(below: places) == [])

        // While it is viewed, the copy is where it has to be: the search looks in the right place.
        let seen = try home.run(
            ["file", "view", id, "--", "sh", "-c", "grep -rl \"$1\" \"$0\"", runtime, Self.content, "{}"],
            environment: environment)
        #expect(seen.text.contains(Self.name))

        #expect(try home.run(["lock"], passcode: "", environment: environment).code == 0)
        #expect(traces(below: places) == [])
        #expect(try home.run(["wipe", "--yes"], passcode: "", environment: environment).code == 0)
        #expect(traces(below: places) == [])
        let left = try FileManager.default.contentsOfDirectory(atPath: home.path).sorted()
        #expect(left == ["lock", "receipt.json", "state"])
    }

    @Test("No message contains a secret")
    func messages() throws {
        let home = try CommandHome("--attempt-delays", "off")
        _ = try home("token", "put", "s", "a", input: Array(Self.token.utf8))
        let runs = [
            try home.run(["token", "get", "s", "a", "--json"], passcode: Self.token),
            try home.run(["passcode", "change", "--json"], passcode: Self.token, new: Self.content),
            try home("token", "put", "s", "a", "--if-version", "7", "--json", input: Array(Self.token.utf8)),
            try home("token", "list", "--json"), try home("doctor", "--json"),
        ]
        for run in runs {
            #expect(!(run.text + run.errorText).contains("in-the-clear"))
        }
    }

    @Test(
        "The removal of an ended session's database does not reach into a mount",
        .enabled(if: Namespace.isAvailable, "no mount can be made"))
    func mountedBelowASession() throws {
        let home = try CommandHome(passcode: nil)
        let (ended, other) = (
            "volatile-" + String(repeating: "0", count: 31) + "1",
            "volatile-" + String(repeating: "0", count: 31) + "2"
        )
        let run = try Namespace.run(
            """
            cd "$1/vault" && mkdir -m 700 -p soups precious && printf x >precious/file || exit 90
            for name in "$2" "$3"; do mkdir -m 700 "soups/$name" && : >"soups/$name/lease" || exit 91; done
            mkdir "soups/$2/mounted" && mount --bind precious "soups/$2/mounted" || exit 92
            : >precious/lease
            mount --bind precious "soups/$3" || exit 93
            "$0" token list --home "$1" || exit 94
            ls precious
            """, [home.path, ended, other])
        #expect(run.code == 0 && run.text == "file\nlease\n", "\(run.text) \(run.errorText)")
        // Once nothing is mounted there, both go.
        #expect(try home("token", "list").code == 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: home.path + "/vault/soups")
        #expect(left.isEmpty, "\(left)")
    }
}
