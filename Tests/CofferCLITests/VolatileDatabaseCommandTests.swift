import CofferEngine
import Foundation
import Testing
import TestSupport

@Suite("coffer database query --volatile", .enabled(if: KernelKeyring.isAvailable))
struct VolatileDatabaseCommandTests {
    private static let canary = "canary-90b2f4"

    private func query(
        _ home: CommandHome, _ sql: String, _ options: String..., passcode: String? = ""
    ) throws -> CommandRun {
        try home.run(["database", "query", "--vault", "scratch"] + options + [sql], passcode: passcode)
    }

    private func make(_ home: CommandHome, passcode: String? = "") throws -> CommandRun {
        try query(
            home, "CREATE TABLE t (x); INSERT INTO t VALUES ('\(Self.canary)')", "--create", "--volatile",
            passcode: passcode)
    }

    /// The directories of session-only databases.
    private func directories(_ home: CommandHome) throws -> [String] {
        let folder = home.path + "/vault/soups"
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasSuffix(".db") }
    }

    @Test("Later commands find the database until lock, which removes its files; the list marks it")
    func lasts() throws {
        let home = try CommandHome()
        #expect(try home("unlock").code == 0)
        #expect(try make(home).code == 0)
        let read = try query(home, "SELECT x FROM t")
        #expect(read.code == 0 && read.text == Self.canary + "\n", "\(read.errorText)")
        let kept = try home.run(
            ["database", "query", "--vault", "kept", "--create", "CREATE TABLE t (x)"], passcode: "")
        #expect(kept.code == 0)
        let list = try home.run(["database", "list", "--json"], passcode: "")
        let rows = try JSONSerialization.jsonObject(with: Data(list.output)) as? [[String: Any]]
        #expect(rows?.compactMap { $0["name"] as? String } == ["kept", "scratch"])
        #expect(rows?.compactMap { $0["volatile"] as? Bool } == [false, true])
        #expect(try home.run(["database", "list"], passcode: "").text.contains("volatile"))
        let search = try CommandRun.run("grep", ["-rlaF", Self.canary, home.path])
        #expect(search.text.isEmpty)
        #expect(try directories(home).count == 1)
        #expect(try home.run(["lock"], passcode: "").code == 0)
        #expect(try directories(home).isEmpty)
        #expect(try query(home, "SELECT x FROM t", passcode: nil).code == 3)
        let after = try home("database", "list")
        #expect(after.code == 0 && after.text.contains("kept") && !after.text.contains("STATE"))
    }

    @Test("A lock that does not see the files leaves nothing that can be read; the next command removes it")
    func removedLater() throws {
        let home = try CommandHome()
        #expect(try make(home, passcode: nil).code == 0)
        let ring = "coffer:\(try #require(try home.status()["vaultID"] as? String)):volatile"
        #expect(try #require(KernelKeys.secondsLeft(ring)) <= 600)
        let moved = home.path + "-moved"
        try FileManager.default.copyItem(atPath: home.path, toPath: moved)
        defer { try? FileManager.default.removeItem(atPath: moved) }
        #expect(try query(home, "SELECT x FROM t", passcode: nil).text == Self.canary + "\n")
        #expect(try home.run(["lock"], passcode: "").code == 0)
        // The copy has the files; its passcode is the same, and the session's secret is gone.
        let (old, new) = (home.path + "/vault/soups", moved + "/vault/soups")
        let names = try FileManager.default.contentsOfDirectory(atPath: new)
        #expect(names.count == 1)
        try FileManager.default.removeItem(atPath: old)
        try FileManager.default.copyItem(atPath: new, toPath: old)
        #expect(try query(home, "SELECT x FROM t", passcode: nil).code == 3)
        #expect(try directories(home).isEmpty)
        // A later session of the same name begins empty, under a key of its own.
        #expect(try make(home, passcode: nil).code == 0)
        #expect(try directories(home) != names)
    }

    @Test("A removed database begins empty, and names of the two kinds do not meet")
    func names() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try make(home).code == 0)
        let first = try directories(home)
        let remove = ["database", "remove", "--vault", "scratch", "--yes"]
        #expect(try home.run(remove, passcode: "").code == 0)
        #expect(try directories(home).isEmpty)
        #expect(try home.run(remove, passcode: "").code == 3)
        #expect(try make(home).code == 0)
        #expect(try directories(home) != first)
        #expect(try home.run(remove, passcode: "").code == 0)
        #expect(try query(home, "CREATE TABLE t (x)", "--create").code == 0)
        let stored = try query(home, "SELECT 1", "--create", "--volatile", "--json")
        #expect(stored.errorCode == "conflict")
        #expect(try query(home, "SELECT count(*) FROM t").text == "0\n")
    }

    @Test("Without --vault, and without a kernel keyring, nothing is created")
    func refusals() throws {
        let home = try CommandHome(passcode: nil)
        let path = home.folder.appending(path: "file.db").path(percentEncoded: false)
        let plain = try home(
            "database", "query", path, "--codec", "gcm1", "--volatile", "--create", "SELECT 1")
        #expect(plain.code == 64 && !FileManager.default.fileExists(atPath: path))
        guard let library = PreloadedLibrary.noKeyring else { return }
        let environment = ["LD_PRELOAD": library, "NOKEYRING": "ENOSYS"]
        let arguments = ["database", "query", "--vault", "scratch", "--volatile", "--create", "SELECT 1"]
        let run = try home.run(arguments + ["--json"], environment: environment)
        #expect(run.errorCode == "unsupported")
        #expect(try directories(home).isEmpty)
        // Where the keyring cannot be searched, nothing tells whether a session has ended.
        #expect(try make(home).code == 0)
        #expect(try home.run(["database", "list"], environment: environment).code == 0)
        #expect(try directories(home).count == 1)
        #expect(try query(home, "SELECT count(*) FROM t").text == "1\n")
    }

    @Test("A link or another form under a session's name is neither followed nor removed")
    func planted() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try make(home).code == 0)
        let folder = home.path + "/vault/soups"
        let precious = try home.file("precious", [1, 2, 3])
        let name = "session-" + String(repeating: "0", count: 63)
        let manager = FileManager.default
        try manager.createSymbolicLink(
            atPath: "\(folder)/\(name)1",
            withDestinationPath: home.folder.path(percentEncoded: false))
        try Data([1]).write(to: URL(filePath: "\(folder)/\(name)2"))
        for other in [name, name + "A"] {
            try manager.createDirectory(
                atPath: "\(folder)/\(other)", withIntermediateDirectories: false)
        }
        try manager.createDirectory(atPath: "\(folder)/\(name)3", withIntermediateDirectories: false)
        #expect(try home("token", "list").code == 0)
        let left = try Set(directories(home))
        #expect(left.isSuperset(of: [name + "1", name + "2", name, name + "A"]) && left.count == 5)
        #expect(manager.fileExists(atPath: precious))
        #expect(try query(home, "SELECT count(*) FROM t").text == "1\n")
    }
}
