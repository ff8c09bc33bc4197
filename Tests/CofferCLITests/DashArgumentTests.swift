import Foundation
import TestSupport
import Testing

/// The meaning of "-" where a file is named.
@Suite("A dash for a file")
struct DashArgumentTests {
    @Test("A dash is refused where no standard stream is meant, and no file of that name appears")
    func refused() throws {
        let home = try CommandHome(passcode: nil)
        let file = try home.file("plain", [1, 2, 3])
        let id = try home.add(file)
        let put = ["token", "put", "s", "a", "--class", "whenUnlocked"]
        #expect(try home.run(put, input: [1]).code == 0)
        let commands = [
            ["export", "-"], ["import", "-"], ["file", "add", "-"], ["file", "export", id, "-"],
            ["demo", "-"],
            ["database", "convert", "-", "x", "--from", "plain", "--to", "gcm1"],
            ["database", "convert", "x", "-", "--from", "plain", "--to", "gcm1"],
            ["database", "query", "-", "SELECT 1", "--codec", "gcm1", "--create"],
            ["remote-wipe", "keygen", "-"], ["vectors", "verify", file, "--junit", "-"],
            ["watch", "--mailbox", "-"], ["init", "--deny-file", "-"], ["export", ""],
        ]
        for command in commands {
            let run = try run(command, in: home)
            #expect(run.code == 64 && run.errorCode == "invalidInput", "\(command): \(run.errorText)")
            #expect(run.errorText.contains(command == ["export", ""] ? "empty" : "./-"), "\(command)")
        }
        let left = try FileManager.default.contentsOfDirectory(
            atPath: home.folder.path(percentEncoded: false))
        #expect(!left.contains("-") && !left.contains("x"))
        // A file that is called so can be named.
        #expect(try run(["export", "./-"], in: home).code == 0)
        #expect(try run(["import", "./-"], in: home).code == 0)
    }

    /// In the home's folder, with a passphrase.
    private func run(_ command: [String], in home: CommandHome) throws -> CommandRun {
        let needsPassphrase = ["export", "import"].contains(command[0])
        let options = ["--json", "--home", home.path] + (needsPassphrase ? ["--passphrase-fd", "4"] : [])
        let shell = ["-c", "cd \"$0\" && exec \"$@\"", home.folder.path(percentEncoded: false)]
        return try CommandRun.run(
            "/bin/sh", shell + [CommandRun.cofferPath] + command + options,
            descriptors: [4: Array("correct horse battery\n".utf8)])
    }
}
