import Foundation
import Glibc
import Testing
import TestSupport

@Suite("coffer wipe under adverse conditions")
struct WipeDisturbedCommandTests {
    private let manager = FileManager.default

    /// Returns what is left of a home after a wipe.
    private func left(_ home: CommandHome) throws -> [String] {
        try manager.subpathsOfDirectory(atPath: home.path).sorted()
    }

    private static let tombstone = ["lock", "receipt.json", "state"]

    @Test("A damaged state stops every other command, erases nothing, and does not stop a wipe")
    func state() throws {
        let home = try CommandHome()
        let state = URL(filePath: home.path + "/state")
        var bytes = try Data(contentsOf: state)
        bytes[33] ^= 1
        try bytes.write(to: state)
        let before = try left(home)
        for command in [["status"], ["token", "list"], ["unlock"], ["doctor"]] {
            _ = try home.run(command)
            #expect(try left(home) == before, "\(command)")
        }
        #expect(try home("token", "list").code == 7)
        let run = try home.run(["wipe", "--yes", "--json"], passcode: "")
        #expect(run.code == 0 && run.json["failures"] as? [String] == [], "\(run.errorText)")
        #expect(try left(home) == Self.tombstone)
        #expect(try home("status", "--json").json["state"] as? String == "wiped")
    }

    @Test("A wipe needs no environment, few descriptors and no disk space of its own")
    func limits() throws {
        let setUps: [(name: String, before: [String], environment: [String: String])] = [
            // Those that the test's own process leaves open are not the command's.
            (
                "descriptors",
                [
                    "bash", "-c",
                    "for n in {3..99}; do eval \"exec $n>&-\"; done; ulimit -n 16; \"$0\" \"$@\"",
                ],
                [:]
            ),
            ("environment", ["env", "-u", "HOME", "-u", "XDG_RUNTIME_DIR", "--"], [:]),
            ("bus", [], ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"]),
            ("file size", ["prlimit", "--fsize=0", "--"], [:]),
        ]
        // A sanitizer writes files of its own.
        for setUp in setUps where !(Sanitizer.isOn && setUp.name == "file size") {
            let home = try CommandHome()
            let id = try home.add(try home.file("a", [7]))
            let run = try home.run(
                ["wipe", "--yes", "--json"], passcode: "", environment: setUp.environment,
                before: setUp.before.isEmpty ? [] : ["/usr/bin/env"] + setUp.before)
            let keys = try left(home).filter { $0.hasPrefix("vault") }
            #expect(keys.isEmpty, "\(setUp.name): \(run.errorText) \(id)")
            #expect(run.code == 0 || setUp.name == "file size", "\(setUp.name): \(run.errorText)")
        }
    }

    @Test("A wipe succeeds on modes that shut the owner out", .enabled(if: getuid() == 0))
    func modes() throws {
        let user = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for shut in ["", "state", "lock", "vault", "vault/device", "vault/keybag", "vault/files"] {
            for mode in [0, 0o777] as [Int] {
                let home = try CommandHome(passcode: nil)
                _ = try home.add(try home.file("a", [7]))
                #expect(try Helper.run(["chown", "-R", "65534:65534", home.folder.path()]).code == 0)
                try manager.setAttributes(
                    [.posixPermissions: mode], ofItemAtPath: home.path + (shut.isEmpty ? "" : "/" + shut))
                let run = try home.run(["wipe", "--yes", "--json"], passcode: "", before: user)
                #expect(run.code == 0, "\(shut) \(String(mode, radix: 8)): \(run.errorText)")
                #expect(try left(home) == Self.tombstone, "\(shut) \(String(mode, radix: 8))")
            }
        }
    }

    @Test(
        "Remains are named with the receipt, in one document, and decide the exit code",
        .enabled(if: getuid() == 0))
    func leftOver() throws {
        let home = try CommandHome()
        #expect(try Helper.run(["mkdir", "-p", "-m", "0700", home.path + "/users/strange"]).code == 0)
        #expect(try Helper.run(["chown", "-R", "65534", home.path + "/users/strange"]).code == 0)
        for json in [true, false] {
            let run = try home.run(["wipe", "--yes"] + (json ? ["--json"] : []), passcode: "")
            #expect(run.code == 11)
            #expect(run.errorText.contains("users/strange"))
            guard json else {
                #expect(run.text.contains("STILL THERE"))
                continue
            }
            #expect(run.errorCode == "refused")
            #expect((run.json["failures"] as? [String])?.count == 1)
            #expect((run.json["removed"] as? [String: Int])?["keys"] == 4)
        }
        #expect(try left(home).allSatisfy { !$0.hasPrefix("vault") })
        try manager.removeItem(atPath: home.path + "/users/strange")
        #expect(try home.run(["status", "--json"], passcode: "").json["state"] as? String == "wiped")
    }

    @Test("A directory that shows no sign of a vault is left alone")
    func noVault() throws {
        let home = try CommandHome()
        let other = home.folder.appending(path: "other").path(percentEncoded: false)
        try manager.createDirectory(atPath: other + "/vault", withIntermediateDirectories: true)
        try Data([1]).write(to: URL(filePath: other + "/vault/gold"))
        let run = try CommandRun.coffer("wipe", "--yes", "--json", "--home", other)
        #expect(run.code == 12 && run.errorCode == "notInitialised")
        #expect(
            try manager.subpathsOfDirectory(atPath: other).sorted() == ["vault", "vault/gold"])
    }
}
