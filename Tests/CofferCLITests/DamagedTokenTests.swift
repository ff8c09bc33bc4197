@testable import Coffer
import CofferBase
import Foundation
import SystemPackage
import Testing
import TestSupport

/// One token of a home without a passcode is damaged; the others are whole.
@Suite("One damaged token among others")
struct DamagedTokenTests {
    /// Damages the sealed metadata of a token inside the token file.
    private func damage(_ service: String, _ account: String, in home: CommandHome) async throws {
        let session = try await Vault(at: VaultLocation(path: FilePath(home.path)))
        let file = TokenFile(device: session.core.device)
        let vault = try session.core.home.openVault()
        var contents = try file.read(in: vault).contents
        let name = try session.tokens.name(of: TokenID(service: service, account: account))
        try #require(contents.envelopes[name] != nil)
        contents.envelopes[name]?[110] ^= 1
        try file.write(contents, in: vault)
    }

    @Test("token list has the rest, names the damaged one and ends with 7")
    func list() async throws {
        let home = try CommandHome(passcode: nil)
        for account in ["ada", "bob"] {
            #expect(try home("token", "put", "s", account, input: Array(account.utf8)).code == 0)
        }
        try await damage("s", "ada", in: home)
        let json = try home("token", "list", "--json")
        let tokens = json.json["tokens"] as? [[String: Any]]
        let damaged = json.json["damaged"] as? [[String: Any]]
        #expect(json.code == 7 && tokens?.map { $0["account"] as? String } == ["bob"])
        #expect(damaged?.count == 1 && damaged?.first?["code"] as? String == "corrupt")
        #expect((damaged?.first?["name"] as? String)?.count == 64)
        let table = try home("token", "list")
        #expect(table.code == 7 && table.text.contains("bob") && table.text.contains("damaged"))
        #expect(table.errorText.contains("could not be read"))
        #expect(try home("token", "get", "s", "bob").text == "bob")
        #expect(try home("token", "get", "s", "ada").code == 7)
        #expect(try home("token", "remove", "s", "ada").code == 0)
        #expect(try home("token", "list").code == 0)
    }

    @Test("A changed byte of the sealed file hides all tokens; erasing them alone keeps the files")
    func sealedFile() throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "s", "ada", input: [1]).code == 0)
        let id = try home.add(try home.file("letter", [1, 2, 3]))
        let path = home.path + "/vault/tokens"
        var bytes = try #require(FileManager.default.contents(atPath: path))
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: URL(filePath: path))
        for arguments in [["token", "list"], ["token", "get", "s", "ada"], ["status"]] {
            let run = try home.run(arguments)
            #expect(run.code == 7 && run.errorText.contains("coffer wipe --yes --tokens"), "\(run.errorText)")
        }
        let doctor = try home("doctor")
        #expect(doctor.code == 0 && doctor.text.contains("coffer wipe --yes --tokens"))
        #expect(try home("wipe", "--yes", "--tokens").code == 0)
        #expect(try home("file", "cat", id).output == [1, 2, 3])
        #expect(try home("token", "put", "s", "bob", input: [1]).code == 0)
        #expect(try home("token", "list").code == 0)
        let help = try CommandRun.coffer("token", "list", "--help").text
        #expect(help.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains("one sealed file"))
    }

    @Test("The git helper returns, stores and erases the others")
    func git() async throws {
        let helper = try LinkedHelper("git-credential-coffer", passcode: nil)
        let server = "protocol=https\nhost=git.example.org\n"
        #expect(try helper("store", server + "username=ada\npassword=x\n").code == 0)
        #expect(try helper.home("token", "put", "s", "bad", input: [1]).code == 0)
        try await damage("s", "bad", in: helper.home)
        let got = try helper("get", server)
        #expect(got.code == 0 && got.text == "username=ada\npassword=x\n")
        #expect(got.errorText.contains("could not be read"))
        #expect(try helper("store", server + "username=bob\npassword=y\n").code == 0)
        #expect(try helper("erase", server + "username=ada\n").code == 0)
        #expect(try helper("get", server).text == "username=bob\npassword=y\n")
    }

    @Test("The Docker helper returns, stores and erases the others")
    func docker() async throws {
        let helper = try LinkedHelper("docker-credential-coffer", passcode: nil)
        let document = #"{"ServerURL":"https://r","Username":"ada","Secret":"x"}"#
        #expect(try helper("store", document).code == 0)
        #expect(try helper.home("token", "put", "docker:https://bad", "eve", input: [1]).code == 0)
        try await damage("docker:https://bad", "eve", in: helper.home)
        #expect(try helper("get", "https://r\n").json["Secret"] as? String == "x")
        #expect(try helper("list", "").json as? [String: String] == ["https://r": "ada"])
        #expect(try helper("erase", "https://r\n").code == 0)
    }

    @Test("The AWS helper returns the others")
    func aws() async throws {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "aws:default", "KEY", input: Array("secret".utf8)).code == 0)
        #expect(try home("token", "put", "aws:other", "BAD", input: [1]).code == 0)
        try await damage("aws:other", "BAD", in: home)
        let run = try home("aws-credential-process")
        #expect(run.code == 0 && run.json["SecretAccessKey"] as? String == "secret")
        #expect(try home("aws-credential-process", "other").code == 3)
    }

    @Test("A token put while locked under another account does not win against an earlier one")
    func planted() async throws {
        let home = try CommandHome()
        #expect(try home("token", "put", "aws:default", "OWN", input: Array("own".utf8)).code == 0)
        #expect(try home("token", "put", "docker:https://r", "ada", input: Array("own".utf8)).code == 0)
        for service in ["aws:default", "docker:https://r", "git:https://h"] {
            let put = ["token", "put", service, "zzz"]
            #expect(try home.run(put, passcode: "", input: Array("planted".utf8)).code == 0)
        }
        #expect(try home("aws-credential-process").json["AccessKeyId"] as? String == "OWN")
        #expect(try home("docker-credential", "get", input: Array("https://r\n".utf8)).text.contains("ada"))
    }
}
