import Coffer
import CofferBase
import CofferTesting
import Foundation
import Testing

@Suite("Renaming a token")
struct TokenRenameTests {
    private static let passcode = "correct horse"

    private func id(_ account: String) throws -> TokenID { try TokenID(service: "s", account: account) }

    private func text(_ tokens: TokenStore, _ account: String) async throws -> String? {
        try await tokens.get(id(account))?.string
    }

    @Test("The value and its description have the new name; versions start again")
    func renamed() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let tokens = session.tokens
        let date = Date(timeIntervalSince1970: 2_000_000_000)
        for text in ["one", "two"] {
            try await tokens.put(
                Token(copying: text), for: id("a"), class: .afterFirstUnlock, expires: date, scopes: ["r"],
                attributes: ["k": "v"])
        }
        #expect(try await tokens.rename(id("a"), to: id("b")) == 1)
        #expect(try await text(tokens, "a") == nil)
        let other = try await home.unlocked()
        #expect(try await text(other.tokens, "b") == "two")
        let info = try #require(try await other.tokens.info(for: id("b")))
        #expect(try info.id == id("b") && info.version == 1 && info.protection == .afterFirstUnlock)
        #expect(info.expires == date && info.scopes == ["r"] && info.attributes == ["k": "v"])
        #expect(!info.isEphemeral && !info.isStoredWhileLocked)
        #expect(try await tokens.count() == 1)
    }

    @Test("An ephemeral token stays ephemeral")
    func ephemeral() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let tokens = session.tokens
        try await tokens.put(Token(copying: "x"), for: id("a"), isEphemeral: true)
        let before = try home.everything()
        #expect(try await tokens.rename(id("a"), to: id("b")) == 1)
        #expect(try home.everything() == before)
        #expect(try await tokens.list().map(\.isEphemeral) == [true])
        #expect(try await text(tokens, "b") == "x")
        // A name that an ephemeral token has is taken, too.
        try await tokens.put(Token(copying: "y"), for: id("c"))
        #expect(await refusal { try await tokens.rename(id("c"), to: id("b")) }?.code == .alreadyExists)
        #expect(try await text(tokens, "b") == "x")
        #expect(try await text(tokens, "c") == "y")
    }

    @Test("It replaces nothing, and refuses missing, equal and reserved names and a locked vault")
    func refused() async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        let tokens = session.tokens
        for account in ["a", "b"] { try await tokens.put(Token(copying: account), for: id(account)) }
        let reserved = try TokenID(service: "coffer.soups", account: "a")
        for (old, new, code) in [
            (try id("a"), try id("b"), .alreadyExists), (try id("x"), try id("y"), .absent),
            (try id("x"), try id("b"), .absent), (try id("a"), try id("a"), .invalidInput),
            (try id("a"), reserved, .refused), (reserved, try id("y"), .refused),
        ] as [(TokenID, TokenID, CofferError.Code)] {
            #expect(await refusal { try await tokens.rename(old, to: new) }?.code == code)
        }
        session.lock()
        #expect(await refusal { try await tokens.rename(id("a"), to: id("y")) }?.code == .locked)
        try await session.unlock(with: Passcode(copying: Self.passcode))
        #expect(try await text(tokens, "a") == "a")
        #expect(try await text(tokens, "b") == "b")
        #expect(try await tokens.count() == 2)
    }

    @Test("Values that wait under either name stop it", arguments: ["a", "b"])
    func waiting(account: String) async throws {
        let home = try TestHome()
        let owner = try await home.create(Self.passcode)
        let tokens = owner.tokens
        // Only a stored value makes a new one wait for a decision.
        for account in ["a", "b"] { try await tokens.put(Token(copying: "good"), for: id(account)) }
        let stranger = try await home.open()
        #expect(try await stranger.tokens.put(Token(copying: "new"), for: id(account)) == .queued)
        #expect(try await tokens.pending().count == 1)
        if account == "b" {
            // An ephemeral token takes the stored one's place, and the lock removes it.
            try await tokens.put(Token(copying: "brief"), for: id("b"), isEphemeral: true)
            owner.lock()
            try await owner.unlock(with: Passcode(copying: Self.passcode))
        } else {
            #expect(try await tokens.remove(id("b")))
        }
        #expect(await refusal { try await tokens.rename(id("a"), to: id("b")) }?.code == .conflict)
        #expect(try await text(tokens, "a") == "good")
        #expect(try await text(tokens, "b") == nil)
        #expect(try await tokens.reject(id(account)) == 1)
        #expect(try await tokens.rename(id("a"), to: id("b")) == 1)
        #expect(try await text(tokens, "b") == "good")
    }

    @Test("A value that was stored while locked keeps its mark")
    func marked() async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        session.lock()
        #expect(try await session.tokens.put(Token(copying: "x"), for: id("a")) == .queued)
        try await session.unlock(with: Passcode(copying: Self.passcode))
        #expect(try await session.tokens.rename(id("a"), to: id("b")) == 1)
        #expect(try await session.tokens.info(for: id("b"))?.isStoredWhileLocked == true)
    }

    @Test("Values pending in a locked class stop it", arguments: ["a", "b"])
    func pendingInALockedClass(account: String) async throws {
        let home = try TestHome()
        let session = try await home.create(Self.passcode)
        let tokens = session.tokens
        try await tokens.put(Token(copying: "open"), for: id("a"), class: .afterFirstUnlock)
        session.lock()
        let stranger = try await home.open()
        // A value without a class would keep the class of the value that it replaces, which is open here.
        let put = try await stranger.tokens.put(
            Token(copying: "new"), for: id(account), class: .whenUnlockedThisDeviceOnly)
        #expect(put == .queued)
        #expect(await refusal { try await tokens.rename(id("a"), to: id("b")) }?.code == .locked)
        #expect(try await tokens.pendingTokens().pending == 1)
    }

    @Test("A failure leaves the old name or both, never neither")
    func failures() async throws {
        try await TemporaryVault.with { temporary in
            let tokens = temporary.vault.tokens
            try await tokens.put(Token(copying: "x"), for: id("a"))
            temporary.faults.fail(.changing, with: CofferError(.noSpace, "Full."))
            #expect(await refusal { try await tokens.rename(id("a"), to: id("b")) }?.code == .noSpace)
            #expect(try await text(tokens, "a") == "x")
            #expect(try await text(tokens, "b") == nil)
            temporary.faults.fail(.afterCommit, with: CofferError(.interrupted, "Gone."))
            #expect(await refusal { try await tokens.rename(id("a"), to: id("b")) }?.code == .interrupted)
            #expect(try await text(tokens, "a") == "x")
            #expect(try await text(tokens, "b") == "x")
        }
    }

    @Test("A new value that another session stores meanwhile is not lost")
    func concurrent() async throws {
        let home = try TestHome()
        let sessions = [try await home.create(), try await home.unlocked()]
        let (first, second) = (sessions[0].tokens, sessions[1].tokens)
        for round in 0..<60 {
            let (old, new) = (try id("old \(round)"), try id("new \(round)"))
            try await first.put(Token(copying: "before"), for: old)
            async let renaming = refusal { try await first.rename(old, to: new) }
            try await second.remove(old)
            try await second.put(Token(copying: "after"), for: old)
            let failure = await renaming
            #expect(failure == nil || failure?.code == .absent)
            let values = [try await text(first, old.account), try await text(first, new.account)]
            #expect(values.contains("after"), "round \(round): \(values)")
        }
    }
}

#if SecretService
    @Suite("Renaming a token of the Secret Service", .enabled { await FakeSecretService.isPossible() })
    struct TokenRenameServiceTests {
        @Test("Items move to the new name, and a failure leaves both")
        func moved() async throws {
            try await FakeSecretService.with { service in
                try await TemporaryVault.with(service: service) { temporary in
                    let tokens = temporary.vault.tokens
                    let old = try TokenID(service: "s", account: "a")
                    let new = try TokenID(service: "s", account: "b")
                    try await tokens.put(Token(copying: "x"), for: old)
                    temporary.faults.fail(.afterCommit, with: CofferError(.interrupted, "Gone."))
                    #expect(await refusal { try await tokens.rename(old, to: new) }?.code == .interrupted)
                    #expect(try await tokens.count() == 2)
                    #expect(try await tokens.remove(new))
                    #expect(try await tokens.rename(old, to: new) == 1)
                    #expect(try await tokens.get(new)?.string == "x")
                    #expect(try await tokens.info(for: old) == nil)
                    #expect(try await tokens.count() == 1)
                }
            }
        }
    }
#endif
