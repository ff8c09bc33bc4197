@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// Any program that can write the vault can put something into the inbox, or in its place.
@Suite("Entries of the inbox that are not pending tokens")
struct InboxEntryTests {
    enum Oddity: String, CaseIterable { case directory, fullDirectory, link, pipe, closed, foreign }

    private static let passcode = "correct horse"
    private static let entry = "inbox/0000000000000001-1"

    private func id(_ account: String = "ada") throws -> TokenID {
        try TokenID(service: "api.example.org", account: account)
    }

    private func value(_ session: Vault, _ account: String = "ada") async throws -> String? {
        try await session.tokens.withToken(for: id(account)) { token, _ in
            token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
        }
    }

    @discardableResult
    private func put(_ value: String, _ account: String = "ada", in session: Vault) async throws -> PutResult
    {
        try await session.tokens.put(Token(copying: value), for: id(account))
    }

    /// A home with the value "good", unlocked, and a locked session.
    private func scene() async throws -> (home: TestHome, owner: Vault, locked: Vault) {
        let home = try TestHome()
        let owner = try await home.create(Self.passcode)
        try await put("good", in: owner)
        return (home, owner, try await home.open())
    }

    private func make(_ oddity: Oddity, at path: FilePath, _ home: TestHome) throws {
        let manager = FileManager.default
        switch oddity {
        case .directory, .fullDirectory:
            try manager.createDirectory(atPath: path.string, withIntermediateDirectories: false)
            guard oddity == .fullDirectory else { return }
            _ = manager.createFile(atPath: path.appending("inside").string, contents: Data([1]))
        case .link:
            try home.scratch.write("target", [7])
            try manager.createSymbolicLink(
                atPath: path.string, withDestinationPath: home.scratch.path.appending("target").string)
        case .pipe: #expect(try CommandRun.run("mkfifo", [path.string]).code == 0)
        case .closed, .foreign:
            _ = manager.createFile(atPath: path.string, contents: Data([1, 2, 3]))
            if oddity == .closed {
                try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path.string)
            }
            if oddity == .foreign, TestUser.isRoot {
                try manager.setAttributes([.ownerAccountID: TestUser.nobody], ofItemAtPath: path.string)
            }
        }
    }

    @Test("An odd entry blocks nothing, counts as damaged and can be discarded", arguments: Oddity.allCases)
    func one(_ oddity: Oddity) async throws {
        let (home, owner, locked) = try await scene()
        try FileManager.default.createDirectory(
            atPath: home.path("inbox").string, withIntermediateDirectories: false)
        try make(oddity, at: home.path(Self.entry), home)
        #expect(try await put("new", "bob", in: locked) == .queued)
        #expect(try await value(owner) == "good")
        #expect(try await value(owner, "bob") == "new")
        #expect(try await value(owner, "nobody") == nil)
        #expect(try await owner.tokens.list().count == 2)
        #expect(try await put("better", in: owner) == .stored(version: 2))
        #expect(try await owner.tokens.reject(id()) == 0)
        #expect(try await owner.tokens.accept(id()) == nil)
        #expect(try await owner.tokens.remove(id("bob")))
        #expect(try await owner.tokens.pending().isEmpty)
        #expect(try await locked.status().corruptTokens == 1)
        #expect(try await locked.tokens.removeCorruptPendingTokens() == 1)
        #expect(!FileManager.default.fileExists(atPath: home.path("inbox").string))
        if oddity == .link {
            #expect(FileManager.default.fileExists(atPath: home.scratch.path.appending("target").string))
        }
    }

    @Test("An odd entry is discarded even before an unlock has seen it", arguments: Oddity.allCases)
    func discarded(_ oddity: Oddity) async throws {
        let (home, _, locked) = try await scene()
        #expect(try await put("new", "bob", in: locked) == .queued)
        try make(oddity, at: home.path("inbox/0000000000000002-1"), home)
        #expect(try await locked.tokens.removeCorruptPendingTokens() == 1)
        #expect(try await locked.tokens.pendingTokens() == PendingTokenCount(pending: 1, corrupt: 0))
    }

    @Test("A pending token without file permissions is still read")
    func closed() async throws {
        let (home, owner, locked) = try await scene()
        #expect(try await put("new", "bob", in: locked) == .queued)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0], ofItemAtPath: home.path(Self.entry).string)
        #expect(try await value(owner, "bob") == "new")
    }

    @Test("A link or pipe in the inbox's place blocks only storing while locked", arguments: [false, true])
    func misplaced(_ isLink: Bool) async throws {
        let (home, owner, locked) = try await scene()
        let elsewhere = home.scratch.path.appending("elsewhere")
        try FileManager.default.createDirectory(
            atPath: elsewhere.string, withIntermediateDirectories: false)
        _ = FileManager.default.createFile(
            atPath: elsewhere.appending("0000000000000001-1").string, contents: Data([1]))
        let odd = home.path("inbox")
        if isLink {
            try FileManager.default.createSymbolicLink(
                atPath: odd.string, withDestinationPath: elsewhere.string)
        } else {
            #expect(try CommandRun.run("mkfifo", [odd.string]).code == 0)
        }
        #expect(try await value(owner) == "good")
        #expect(try await owner.tokens.list().count == 1)
        #expect(try await put("better", in: owner) == .stored(version: 2))
        #expect(try await owner.tokens.reject(id()) == 0)
        #expect(try await owner.tokens.remove(id("nobody")) == false)
        #expect(try await locked.status().corruptTokens == 1)
        #expect(try await locked.securityChecks().contains { $0.name == "damaged-tokens" })
        let error = await refusal { try await put("late", in: locked) }
        #expect(error?.code == .corrupt && error?.remedy == .purgeCorruptTokens)
        #expect(try await locked.tokens.removeCorruptPendingTokens() == 1)
        #expect(FileManager.default.fileExists(atPath: elsewhere.appending("0000000000000001-1").string))
        #expect(try await put("late", in: locked) == .queued)
        #expect(try await locked.status().corruptTokens == 0)
    }

    @Test("An entry of a newer release keeps waiting and is not discarded")
    func newer() async throws {
        let (home, owner, locked) = try await scene()
        #expect(try await put("new", "bob", in: locked) == .queued)
        var bytes = Array(try home.read(Self.entry).dropLast(32))
        bytes[9] = 3
        bytes += try HMAC.authenticate(bytes.span, key: owner.core.device.key(KDFLabel.inboxMAC))
        try home.write(Self.entry, bytes)
        #expect(try await put("newer", "eve", in: locked) == .queued)
        #expect(try await value(owner) == "good")
        #expect(try await value(owner, "eve") == "newer")
        #expect(try await put("better", in: owner) == .stored(version: 2))
        #expect(try await owner.tokens.removeCorruptPendingTokens() == 0)
        #expect(try home.read(Self.entry) == bytes)
    }
}
