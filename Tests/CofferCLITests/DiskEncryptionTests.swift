import Foundation
import TestSupport
import Testing

/// The disk below the tests differs from machine to machine; `file add --json` says what is known of it.
@Suite("--require-disk-encryption")
struct DiskEncryptionTests {
    private let option = "--require-disk-encryption"

    @Test("file add with the option adds the file, or refuses with the reason and adds nothing")
    func fileAdd() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("a", [1])
        let plain = try home("file", "add", path, "--json")
        let isEncrypted = plain.json["diskEncrypted"] as? Bool == true
        let run = try home("file", "add", path, option, "--json")
        if isEncrypted {
            #expect(run.code == 0 && run.json["diskEncrypted"] as? Bool == true, "\(run.errorText)")
        } else {
            #expect(run.code == 11 && run.errorCode == "refused")
            #expect(run.errorText.contains("encrypt") && run.errorText.contains("dm-crypt"))
        }
        #expect(try home.status()["files"] as? Int == (isEncrypted ? 2 : 1))
    }

    @Test("The setting holds for every addition; it is switched on freely and off with the passcode")
    func setting() throws {
        let home = try CommandHome(passcode: "837165")
        let path = try home.file("a", [1])
        let isEncrypted = try home("file", "add", path, "--json").json["diskEncrypted"] as? Bool == true
        let on = try home.run(["settings", "--json", option, "on"], passcode: "")
        #expect(on.code == 0 && on.json["requireDiskEncryption"] as? Bool == true, "\(on.errorText)")
        #expect(try home.status()["requireDiskEncryption"] as? Bool == true)
        #expect(try home.run(["settings"], passcode: "").text.contains("requireDiskEncryption: true\n"))
        let refused = try home("file", "add", path, "--allow-external")
        #expect(refused.code == (isEncrypted ? 0 : 11), "\(refused.errorText)")
        let stream = try home("file", "add", "-", "--name", "b", input: [1])
        #expect(stream.code == (isEncrypted ? 0 : 11), "\(stream.errorText)")
        let doctor = try home.run(["doctor", "--json"], passcode: "")
        let checks = doctor.json["checks"] as? [[String: Any]] ?? []
        let disk = try #require(checks.first { $0["name"] as? String == "disk" })
        #expect((disk["status"] as? String == "missing") == !isEncrypted)
        #expect((disk["message"] as? String)?.contains("require disk encryption") == true)
        #expect(try home.run(["settings", option, "off"], passcode: "").code == 4)
        #expect(try home("settings", option, "off").code == 0)
        #expect(try home("file", "add", path).code == 0)
    }

    @Test("The vault's setting also holds for files of --user")
    func namespaces() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("a", [1])
        let isEncrypted = try home("file", "add", path, "--json").json["diskEncrypted"] as? Bool == true
        let made = try home("init", "--user", "ada", "--keyring", "file", "--no-passcode")
        #expect(made.code == 0, "\(made.errorText)")
        #expect(try home("file", "add", path, "--user", "ada").code == 0)
        #expect(try home("settings", option, "on").code == 0)
        let run = try home("file", "add", path, "--user", "ada", "--json")
        #expect(run.code == (isEncrypted ? 0 : 11), "\(run.errorText)")
        #expect(isEncrypted || run.errorCode == "refused")
    }

    @Test("init with the option creates a vault on an encrypted disk, and nothing elsewhere")
    func create() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("a", [1])
        let isEncrypted = try home("file", "add", path, "--json").json["diskEncrypted"] as? Bool == true
        let other = home.path + "-other"
        let run = try CommandRun.coffer(
            "init", "--keyring", "file", "--no-passcode", "--home", other, option, "--json")
        #expect(run.code == (isEncrypted ? 0 : 11), "\(run.errorText)")
        #expect(FileManager.default.fileExists(atPath: other) == isEncrypted)
        guard isEncrypted else { return }
        let settings = try CommandRun.coffer("settings", "--json", "--home", other)
        #expect(settings.json["requireDiskEncryption"] as? Bool == true)
    }
}
