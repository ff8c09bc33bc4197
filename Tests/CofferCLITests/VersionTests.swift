import CofferBase
import CofferEngine
import Foundation
import TestSupport
import Testing

@Suite("coffer version, coffer --version")
struct VersionTests {
    @Test("The version is the first line, however it is asked for; no vault is needed")
    func text() throws {
        let line = "coffer \(PackageVersion.current)\n"
        for arguments in [["--version"], ["version"]] {
            let run = try CommandRun.run(
                CommandRun.cofferPath, arguments, environment: ["HOME": "", "XDG_DATA_HOME": ""])
            #expect(run.code == 0 && run.errors.isEmpty && run.text.hasPrefix(line), "\(run.errorText)")
            #expect(run.text.contains("OpenSSL \(OpenSSLFailure.libraryVersion)\n"))
        }
        #expect(try CommandRun.coffer("token", "--version").text == line)
    }

    @Test(
        "--json has the products, the traits and the libraries",
        arguments: [["--version", "--json"], ["--json", "--version"], ["version", "--json"]])
    func json(_ arguments: [String]) throws {
        let run = try CommandRun.run(CommandRun.cofferPath, arguments)
        #expect(run.code == 0 && run.json["version"] as? String == PackageVersion.current)
        let libraries = try #require(run.json["libraries"] as? [String: Any])
        #expect(libraries["OpenSSL"] as? String == OpenSSLFailure.libraryVersion)
        #expect(libraries["libsodium"] as? String == SodiumLibrary.version)
        // Only the program coffer-database knows it, and the option starts no other program.
        let sqlite = libraries["SQLite"] as? String
        #expect(
            arguments.contains("version")
                ? sqlite?.hasPrefix("3.") == true : !libraries.keys.contains("SQLite"))
        let traits = try #require(run.json["traits"] as? [String])
        #expect(traits.contains("SecretService") == (libraries["GLib"] is String))
    }

    @Test("The products are those of the package")
    func products() throws {
        let run = try CommandRun.coffer("version", "--json")
        let manifest = try String(contentsOfFile: PackageRoot.path + "Package.swift", encoding: .utf8)
        let named = manifest.matches(of: /\.(?:library|executable)\(name: "([\w-]+)"/).map { String($0.1) }
        let products = try #require(run.json["products"] as? [String])
        #expect(!products.isEmpty && products == Array(named.prefix(products.count)))
        #expect(named.dropFirst(products.count).allSatisfy { $0 == "SQLiteFixture" })
    }

    @Test("The option belongs to the program that a command runs once it stands behind --")
    func behindTerminator() throws {
        let home = try CommandHome(passcode: nil)
        let id = try home.add(try home.file("a", [1]))
        let run = try home("file", "view", id, "--", "sh", "-c", "echo $1", "--version")
        #expect(run.code == 0 && !run.text.hasPrefix("coffer "))
    }
}
