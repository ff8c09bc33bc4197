@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// Names are bytes: what Unicode holds for equal are two names everywhere.
@Suite("Names of tokens")
struct TokenNameTests {
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"
    /// Pairs that are equal as strings.
    private static let pairs = [
        (composed, decomposed), ("\u{212A}", "K"), ("\u{37E}", ";"), ("\u{AC00}", "\u{1100}\u{1161}"),
        ("\u{2126}", "\u{3A9}"), ("a\u{323}\u{307}", "a\u{307}\u{323}"),
    ]

    @Test("Identifiers compare and hash by bytes")
    func identity() throws {
        for (left, right) in Self.pairs {
            #expect(left == right)
            let service = try (TokenID(service: left, account: ""), TokenID(service: right, account: ""))
            let account = try (TokenID(service: "s", account: left), TokenID(service: "s", account: right))
            #expect(service.0 != service.1 && account.0 != account.1)
            #expect(Set([service.0, service.1, account.0, account.1]).count == 4)
            #expect(service.0.precedes(service.1) != service.1.precedes(service.0))
        }
        // The end of one part is not taken for the start of the next.
        let ids = try [TokenID(service: "ab", account: "c"), TokenID(service: "a", account: "bc")]
        #expect(Set(ids).count == 2)
        #expect(try TokenID(service: "a", account: "b") == TokenID(service: "a", account: "b"))
    }

    @Test("Both forms of a name are stored, listed, removed and moved as two tokens")
    func both() async throws {
        let (home, other) = (try TestHome(), try TestHome())
        let session = try await home.create()
        let passphrase = try Passcode(copying: "a passphrase of an export")
        var ids: [TokenID] = []
        for (left, right) in Self.pairs {
            for name in [left, right] { ids.append(try TokenID(service: "s", account: name)) }
        }
        for (number, id) in ids.enumerated() {
            try await session.tokens.put(
                Token(copying: "\(number)"), for: id, class: .whenUnlocked, scopes: [id.account],
                attributes: [id.account: id.account], precondition: .absent)
        }
        let path = home.scratch.path.appending("export")
        let report = try await session.tokens.export(to: path, passphrase: passphrase, cost: .floor)
        #expect(report.exported == ids.count)
        let target = try await other.create()
        let imported = TokenImportReport(imported: ids.count, replaced: 0, same: 0, conflicts: [])
        #expect(try await target.tokens.importTokens(from: path, passphrase: passphrase) == imported)
        for vault in [session.tokens, target.tokens] {
            #expect(Set(try await vault.list().map(\.id)) == Set(ids))
            for (number, id) in ids.enumerated() {
                let value = try await vault.withToken(for: id) { token, info in
                    #expect(Array(info.id.account.utf8) == Array(id.account.utf8))
                    return token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
                }
                #expect(value == "\(number)")
            }
        }
        #expect(try await session.tokens.remove(ids[0]))
        #expect(try await session.tokens.list().count == ids.count - 1)
        #expect(try await session.tokens.info(for: ids[1]) != nil)
    }

    @Test("An import detects a difference in bytes that string comparison ignores")
    func differences() async throws {
        let (home, other) = (try TestHome(), try TestHome())
        let (session, target) = (try await home.create(), try await other.create())
        let passphrase = try Passcode(copying: "a passphrase of an export")
        let id = try TokenID(service: "s", account: "a")
        for (vault, form) in [(session.tokens, Self.composed), (target.tokens, Self.decomposed)] {
            try await vault.put(
                Token(copying: "same"), for: id, class: .whenUnlocked, scopes: [form],
                attributes: [form: form])
        }
        let path = home.scratch.path.appending("export")
        try await session.tokens.export(to: path, passphrase: passphrase, cost: .floor)
        let report = try await target.tokens.importTokens(from: path, passphrase: passphrase)
        #expect(report.conflicts == [id] && report.same == 0)
    }

    @Test("An import tells apart normal forms of a scope, an attribute and its name", arguments: 0..<3)
    func oneDifference(_ place: Int) async throws {
        let (home, other) = (try TestHome(), try TestHome())
        let (session, target) = (try await home.create(), try await other.create())
        let passphrase = try Passcode(copying: "a passphrase of an export")
        let id = try TokenID(service: "s", account: "a")
        func put(_ form: String, in vault: TokenStore) async throws {
            let forms = (0..<3).map { $0 == place ? form : Self.composed }
            try await vault.put(
                Token(copying: "same"), for: id, class: .whenUnlocked, scopes: [forms[0]],
                attributes: [forms[1]: forms[2]])
        }
        try await put(Self.composed, in: session.tokens)
        try await put(Self.decomposed, in: target.tokens)
        let path = home.scratch.path.appending("export")
        try await session.tokens.export(to: path, passphrase: passphrase, cost: .floor)
        let refused = try await target.tokens.importTokens(from: path, passphrase: passphrase)
        #expect(refused.conflicts == [id] && refused.same == 0)
        func described(_ form: String) throws -> TokenInfo {
            let forms = (0..<3).map { $0 == place ? form : Self.composed }
            return TokenInfo(
                id: id, version: 1, protection: .whenUnlocked, stored: Date(timeIntervalSince1970: 0),
                expires: nil, scopes: [forms[0]], attributes: [forms[1]: forms[2]])
        }
        #expect(try described(Self.composed) != described(Self.decomposed))
        #expect(try described(Self.decomposed) == described(Self.decomposed))
        let taken = try await target.tokens.importTokens(from: path, passphrase: passphrase, replacing: true)
        #expect(taken.replaced == 1)
        let again = try await target.tokens.importTokens(from: path, passphrase: passphrase)
        #expect(again.same == 1 && again.conflicts.isEmpty)
    }

    @Test("Next to damaged tokens, an intact one is listed and read")
    func damaged() async throws {
        let home = try TestHome()
        let session = try await home.create()
        for account in ["good", "bad", "swapped"] {
            try await session.tokens.put(
                Token(copying: account), for: TokenID(service: "s", account: account))
        }
        let vault = try session.core.home.openVault()
        let file = TokenFile(device: session.core.device)
        var contents = try file.read(in: vault).contents
        func name(_ account: String) throws -> [UInt8] {
            try session.tokens.name(of: TokenID(service: "s", account: account))
        }
        contents.envelopes[try name("bad")] = [9]
        contents.envelopes[try name("swapped")] = contents.envelopes[try name("good")]
        try file.write(contents, in: vault)
        let opened = try await home.unlocked()
        let listing = try await opened.tokens.listing()
        #expect(listing.tokens.map(\.id.account) == ["good"])
        let codes = Dictionary(listing.corrupt.map { ($0.name, $0.code) }) { first, _ in first }
        let hex = try [name("bad"), name("swapped")].map { $0.map { String(format: "%02x", $0) }.joined() }
        #expect(codes[hex[0]] == .unsupportedVersion || codes[hex[0]] == .corrupt)
        #expect(codes[hex[1]] == .corrupt && codes.count == 2)
        #expect(await refusal { _ = try await opened.tokens.list() } != nil)
        let intact = try TokenID(service: "s", account: "good")
        let good = try await opened.tokens.withToken(for: intact) { token, _ in token.count }
        #expect(good == 4)
        #expect(try await opened.tokens.remove(TokenID(service: "s", account: "bad")))
        // Nothing is stored over what cannot be read; once that is removed, it is.
        let swapped = try TokenID(service: "s", account: "swapped")
        let error = await refusal { try await opened.tokens.put(Token(copying: "new"), for: swapped) }
        #expect(error?.code == .corrupt)
        #expect(try await opened.tokens.remove(swapped))
        #expect(try await opened.tokens.put(Token(copying: "new"), for: swapped) == .stored(version: 1))
        #expect(try await opened.tokens.list().count == 2)
    }
}
