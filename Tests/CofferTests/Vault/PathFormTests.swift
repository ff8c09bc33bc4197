import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Paths as text and as URLs")
struct PathFormTests {
    /// URLs that name no file of this machine.
    private static let foreign = [
        "https://user:hidden@example.org/etc/passwd", "ftp://example.org/file", "data:,x",
        "mailto:a@example.org",
        "file://other.example.org/tmp/file", "file:///tmp/a%00b", "file:///tmp/a%2Fb",
    ]

    @Test("A vault's place is the same as path, text and URL")
    func location() throws {
        let path: FilePath = "/tmp/a b/ü%20"
        let text = "/tmp/a b/ü%20"
        #expect(try VaultLocation(path: text).path == path)
        #expect(try VaultLocation(path: URL(filePath: text)).path == path)
        #expect(try VaultLocation(path: URL(filePath: text, directoryHint: .isDirectory)).path == path)
        let local = try #require(URL(string: "file://localhost/tmp/x"))
        #expect(try VaultLocation(path: local, sessionBus: "unix:path=/x").path == "/tmp/x")
        #expect(try VaultLocation(path: local, sessionBus: "unix:path=/x").sessionBus == "unix:path=/x")
    }

    @Test("A URL names bytes that are not UTF-8")
    func bytes() throws {
        let url = try #require(URL(string: "file:///tmp/%FF%fe"))
        let path = try VaultLocation(path: url).path
        #expect(FileNameBytes.of(path) == Array("/tmp/".utf8) + [0xFF, 0xFE])
    }

    @Test("A URL that names no file of this machine is refused, and no error contains it", arguments: foreign)
    func otherURLs(text: String) async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let url = try #require(URL(string: text))
        let passphrase = try Passcode(copying: "a long passphrase")
        let id = try FileID("00000000-0000-4000-8000-000000000000")
        let errors = [
            await refusal { _ = try VaultLocation(path: url) },
            await refusal { _ = try DirectoryRevocationSource(url) },
            await refusal { _ = try await vault.files.add(contentsOf: url) },
            await refusal { try await vault.files.export(id, to: url) },
            await refusal { _ = try await vault.tokens.export(to: url, passphrase: passphrase) },
            await refusal { _ = try await vault.tokens.importTokens(from: url, passphrase: passphrase) },
        ]
        for error in errors {
            #expect(error?.code == .invalidInput)
            #expect(error?.description.contains("hidden") == false)
        }
    }

    @Test("Text with a NUL is refused instead of being cut off")
    func nul() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        try home.scratch.write("file", [1])
        let text = home.scratch.path(of: "file") + "\u{0}.txt"
        #expect(await refusal { _ = try VaultLocation(path: text) }?.code == .invalidInput)
        #expect(await refusal { _ = try DirectoryRevocationSource(text) }?.code == .invalidInput)
        #expect(await refusal { _ = try await vault.files.add(contentsOf: text) }?.code == .invalidInput)
        #expect(try await vault.files.count() == 0)
    }

    @Test("Files and tokens go in and out by text and by URL")
    func roundTrip() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        try home.scratch.write("ein brief", Array("letter".utf8))
        let text = home.scratch.path(of: "ein brief")
        for id in [
            try await vault.files.add(contentsOf: text, context: [7]),
            try await vault.files.add(contentsOf: URL(filePath: text), context: [7]),
        ] {
            #expect(try await vault.files.info(for: id, context: [7]).name == "ein brief")
            let (one, other) = (home.scratch.path(of: "\(id) 1"), home.scratch.path(of: "\(id) 2"))
            try await vault.files.export(id, to: one, context: [7])
            try await vault.files.export(id, to: URL(filePath: other), context: [7])
            for path in [one, other] {
                #expect(try Data(contentsOf: URL(filePath: path)) == Data("letter".utf8))
            }
        }
        let passphrase = try Passcode(copying: "a long passphrase")
        let (one, other) = (home.scratch.path(of: "1.coffer"), home.scratch.path(of: "2.coffer"))
        let id = try TokenID(service: "s", account: "a")
        try await vault.tokens.put("value", for: id, class: .whenUnlocked)
        #expect(try await vault.tokens.export(to: one, passphrase: passphrase, cost: .floor).exported == 1)
        let url = URL(filePath: other)
        #expect(try await vault.tokens.export(to: url, passphrase: passphrase, cost: .floor).exported == 1)
        try await vault.tokens.remove(id)
        #expect(try await vault.tokens.importTokens(from: one, passphrase: passphrase).imported == 1)
        #expect(try await vault.tokens.importTokens(from: url, passphrase: passphrase).imported == 0)
        let box = try DirectoryRevocationSource(URL(filePath: home.scratch.path.string))
        #expect(box.directory == home.scratch.path)
        #expect(try DirectoryRevocationSource(home.scratch.path.string).directory == home.scratch.path)
    }
}
