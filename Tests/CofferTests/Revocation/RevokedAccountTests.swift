@testable import Coffer
import CofferBase
import Foundation
import SystemPackage
import Testing
import TestSupport

/// A grant that was taken back takes what it stood for, and nothing of others.
@Suite("Revoked accounts")
struct RevokedAccountTests {
    private static let service = "api.example.org"

    private func id(
        _ service: String = service, _ account: String = "ada", _ kind: TokenKind = .access
    ) throws -> TokenID {
        try TokenID(service: service, account: account, kind: kind)
    }

    /// A vault with tokens of several accounts, and namespaces of two users.
    private func filled() async throws -> (home: TestHome, session: Vault, ada: Vault, bob: Vault) {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        for token in try [
            id(), id(Self.service, "ada", .refresh), id(Self.service, "bob"), id("other.example.org"),
            id(Self.service, "ad\u{e9}"), id(Self.service, "ade\u{301}"),
        ] { try await session.tokens.put(Token(copying: "secret"), for: token) }
        try await session.tokens.put(
            Token(copying: "volatile"), for: id(Self.service, "ada", .other), isEphemeral: true)
        var users: [Vault] = []
        for user in ["ada", "bob"] {
            let inside = try await Vault.create(
                at: home.location.namespace(of: user), options: TestHome.options { _ in }, passcode: nil)
            try await inside.tokens.put(Token(copying: "inside"), for: id())
            users.append(inside)
        }
        return (home, session, users[0], users[1])
    }

    private func left(_ session: Vault) async throws -> [TokenID] {
        try await session.tokens.list().map(\.id)
    }

    private func expectAdaIsGone(
        _ filled: (home: TestHome, session: Vault, ada: Vault, bob: Vault), but more: [TokenID] = []
    ) async throws {
        let others = try [id(Self.service, "bob"), id("other.example.org")] + more
        for other in others { #expect(try await left(filled.session).contains(other)) }
        for kind in TokenKind.allCases {
            #expect(try await !left(filled.session).contains(id(Self.service, "ada", kind)))
        }
        #expect(await refusal { _ = try await filled.ada.tokens.list() }?.code == .wiped)
        #expect(try await filled.bob.tokens.count() == 1)
    }

    @Test("A refresh refused with invalid_grant erases the account's tokens and namespace")
    func refresh() async throws {
        let filled = try await filled()
        let events = filled.session.events
        let error = await refusal {
            _ = try await filled.session.tokens.refresh(id()) { (_, _) throws(CofferError) in
                throw CofferError(.tokenRevoked, "invalid_grant")
            }
        }
        #expect(error?.code == .tokenRevoked)
        try await expectAdaIsGone(
            filled, but: [id(Self.service, "ad\u{e9}"), id(Self.service, "ade\u{301}")])
        for await event in events where event.kind == .revocationProcessed {
            #expect(event.revocation == .accountWiped)
            break
        }
        #expect(filled.session.isUnlocked)
        _ = try await filled.home.unlocked("correct horse").tokens.count()
    }

    @Test("A revocation works while locked, removes pending tokens and can be repeated")
    func locked() async throws {
        let filled = try await filled()
        filled.session.lock()
        try await filled.session.tokens.put(Token(copying: "new"), for: id(Self.service, "ada", .id))
        let grant = Revocation.grantRevoked(
            reason: "dismissed", of: TokenAccount(service: Self.service, account: "ada"))
        guard case .accountWiped(let done) = try await filled.session.handle(grant) else {
            Issue.record("something else was done")
            return
        }
        #expect(done.tokens >= 3 && done.namespace?.reason == "dismissed")
        guard case .accountWiped(let again) = try await filled.session.handle(grant) else {
            Issue.record("something else was done")
            return
        }
        #expect(again.tokens == 0 && again.namespace == nil)
        try await filled.session.unlock(with: Passcode(copying: "correct horse"))
        try await expectAdaIsGone(filled)
    }

    @Test("A grant revoked in the user's own namespace erases only that namespace", arguments: [true, false])
    func inside(_ isLocked: Bool) async throws {
        let filled = try await filled()
        try await filled.bob.tokens.put(Token(copying: "of ada"), for: id())
        let grant = Revocation.grantRevoked(
            reason: "dismissed", of: TokenAccount(service: Self.service, account: "ada"))
        guard case .accountWiped(let others) = try await filled.bob.handle(grant) else {
            Issue.record("something else was done")
            return
        }
        #expect(others.tokens == 1 && others.namespace == nil)
        #expect(try await filled.ada.tokens.count() == 1)
        if isLocked { filled.ada.lock() }
        guard case .accountWiped(let own) = try await filled.ada.handle(grant) else {
            Issue.record("something else was done")
            return
        }
        #expect(own.tokens == 1 && own.namespace?.reason == "dismissed")
        #expect(await refusal { _ = try await filled.ada.tokens.list() }?.code == .wiped)
        // The home around it, and the others' namespaces, are as they were.
        #expect(try await filled.session.tokens.count() == 7)
        #expect(try await filled.bob.tokens.count() == 0)
        #expect(await refusal { _ = try await filled.ada.handle(grant) }?.code == .wiped)
    }

    @Test("Of two accounts that are equal in Unicode, only the revoked one is erased")
    func equivalent() async throws {
        let filled = try await filled()
        let composed = TokenAccount(service: Self.service, account: "ad\u{e9}")
        let decomposed = TokenAccount(service: Self.service, account: "ade\u{301}")
        #expect(composed != decomposed && Set([composed, decomposed]).count == 2)
        _ = try await filled.session.handle(.grantRevoked(reason: "", of: composed))
        #expect(try await filled.session.tokens.count() == 6)
    }
}
