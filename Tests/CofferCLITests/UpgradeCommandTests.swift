import Foundation
import SystemPackage
import TestSupport
import Testing

@Suite("coffer upgrade")
struct UpgradeCommandTests {
    /// A home of the first release, unpacked.
    private final class OldHome {
        let scratch: ScratchDirectory
        var path: String { scratch.path(of: "home") }

        private init(_ scratch: consuming ScratchDirectory) { self.scratch = scratch }

        static func make() throws -> OldHome {
            let scratch = try ScratchDirectory.make()
            let archive = PackageRoot.path + "Tests/Golden/v0/passcode.tar.gz"
            let run = try CommandRun.run(
                "tar", ["-xzpf", archive, "--no-same-owner", "-C", scratch.path.string])
            try #require(run.code == 0)
            return OldHome(scratch)
        }

        func callAsFunction(
            _ words: String..., passcode: String = "correct horse", input: [UInt8] = []
        ) throws -> CommandRun {
            let secret: [Int: [UInt8]] = passcode.isEmpty ? [:] : [3: Array((passcode + "\n").utf8)]
            let options = ["--home", path] + (passcode.isEmpty ? [] : ["--passcode-fd", "3"])
            return try CommandRun.run(
                CommandRun.cofferPath, words + options, input: input, descriptors: secret)
        }
    }

    @Test("What would change is said without a passcode, and by status and doctor")
    func dryRun() throws {
        let home = try OldHome.make()
        let run = try home("upgrade", "--dry-run", "--json", passcode: "")
        #expect(run.code == 0 && run.json["available"] as? [String] == ["keybag", "fileIndex"])
        #expect(try home("upgrade", "--dry-run", passcode: "").text.contains("available: keybag ("))
        let status = try home("status", "--json", passcode: "").json
        #expect(status["upgradeAvailable"] as? [String] == ["keybag", "fileIndex"])
        #expect(try home("doctor", "--summary", passcode: "").text.contains("coffer upgrade"))
    }

    @Test("Without a backup the vault stays as it is; what it lacks names the command")
    func refused() throws {
        let home = try OldHome.make()
        let refused = try home("upgrade")
        #expect(refused.code != 0 && refused.errorText.contains("coffer backup create"))
        let put = try home(
            "token", "put", "s", "a", "--class", "whenUnlocked", input: Array("value".utf8))
        #expect(put.code != 0 && put.errorText.contains("coffer upgrade"), "\(put.errorText)")
        #expect(try home("unlock").errorText.contains("coffer upgrade"))
        #expect(try home("token", "get", "api.example.org", "ada").text == "kept from before")
        #expect(
            try home("upgrade", "--dry-run", "--json").json["available"] as? [String] == [
                "keybag", "fileIndex",
            ])
    }

    @Test("After a backup the vault is upgraded, once; a wrong passcode upgrades nothing")
    func upgraded() throws {
        let home = try OldHome.make()
        let backup = home.scratch.path(of: "vault.age")
        let recipient = "age1x3pc4wukzx9xl3dumlgajml8sd4yqqu7fwd3w0sqw8a3ljkqlycsgrn3ks"
        let made = try home("backup", "create", backup, "--to", recipient)
        #expect(made.code == 0, "\(made.errorText)")
        #expect(try home("upgrade", passcode: "battery staple").code == 5)
        let run = try home("upgrade", "--json")
        #expect(run.code == 0, "\(run.errorText)")
        #expect(run.json["upgraded"] as? [String] == ["keybag", "fileIndex"])
        #expect(try home("upgrade").text == "The vault has the format of this release\n")
        #expect(try home("status", "--json", passcode: "").json["upgradeAvailable"] == nil)
        let put = try home(
            "token", "put", "s", "a", "--class", "whenUnlocked", input: Array("value".utf8))
        #expect(put.code == 0, "\(put.errorText)")
        #expect(try home("token", "get", "api.example.org", "ada").text == "kept from before")
    }
}
