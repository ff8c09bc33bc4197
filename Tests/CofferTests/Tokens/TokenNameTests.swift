import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage
import TestSupport
import Testing

/// Names that Unicode calls equivalent and the store does not.
@Suite("Names of tokens, byte for byte")
struct TokenNameTests {
    private static let pairs = [("andré", "andre\u{301}"), ("K", "\u{212A}"), ("a;b", "a\u{37E}b")]

    @Test(arguments: pairs)
    func equivalentNamesAreDifferentTokens(_ one: String, _ other: String) throws {
        #expect(one == other)
        let accounts = try [one, other].map { try TokenID(service: "s", account: $0) }
        let services = try [one, other].map { try TokenID(service: $0, account: "") }
        #expect(accounts[0] != accounts[1] && services[0] != services[1])
        #expect(Set(accounts + services + accounts).count == 4)
        #expect(try accounts[0] == TokenID(service: "s", account: one))
        // The parts do not run into each other, and the kind counts.
        #expect(try TokenID(service: "ab", account: "c") != TokenID(service: "a", account: "bc"))
        #expect(try TokenID(service: "s", account: one, kind: .refresh) != accounts[0])
    }

    @Test("Accounts that are equal only after normalisation move from one vault to another")
    func exported() async throws {
        let (home, other) = (try TestHome(), try TestHome())
        let session = try await home.create("2468")
        let ids = try Self.pairs.flatMap { [$0.0, $0.1] }.map { try TokenID(service: "s", account: $0) }
        for (number, id) in ids.enumerated() {
            try await session.tokens.put(Token(copying: "value \(number)"), for: id, class: .whenUnlocked)
        }
        let path = home.scratch.path.appending("export")
        let passphrase = try Passcode(copying: "a passphrase of an export")
        let report = try await session.tokens.export(to: path, passphrase: passphrase, cost: .floor)
        #expect(report.exported == ids.count)
        let target = try await other.create("1357")
        let taken = try await target.tokens.importTokens(from: path, passphrase: passphrase)
        #expect(taken.imported == ids.count && taken.conflicts.isEmpty)
        for (number, id) in ids.enumerated() {
            let value = try await target.tokens.withToken(for: id) { token, _ in
                token.exposing { $0.copied() }
            }
            #expect(value == Array("value \(number)".utf8))
        }
    }
}
