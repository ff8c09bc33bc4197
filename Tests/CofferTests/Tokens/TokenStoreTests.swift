import Coffer
import CofferBase
import CofferEngine
import CofferTesting
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("The token store")
struct TokenStoreTests {
    private func id(_ service: String, _ kind: TokenKind = .access) throws -> TokenID {
        try TokenID(service: service, account: "ada", kind: kind)
    }

    private func read(_ session: Vault, _ id: TokenID) async throws -> [UInt8]? {
        try await session.tokens.withToken(for: id) { token, _ in token.exposing { $0.copied() } }
    }

    @Test("The store returns the exact bytes of every value")
    func bytesAreExact() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let values: [[UInt8]] = [
            [], [0], Array("a\nb\r\n\0c\0".utf8), Array(0...255), [0xff, 0xfe, 0xc0],
            (0..<Token.maxByteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) },
        ]
        for (number, value) in values.enumerated() {
            try await session.tokens.put(Token(copying: value), for: id("s\(number)"))
        }
        let other = try await home.unlocked()
        for (number, value) in values.enumerated() {
            #expect(try await read(session, id("s\(number)")) == value)
            #expect(try await read(other, id("s\(number)")) == value)
        }
    }

    @Test("A value longer than a mebibyte is refused")
    func longerThanAMebibyteIsRefused() throws {
        let long = [UInt8](repeating: 1, count: Token.maxByteCount + 1)
        #expect(failure { _ = try Token(copying: long) } == .invalidInput)
    }

    @Test("Identifiers have bounds")
    func idsHaveBounds() throws {
        let long = String(repeating: "ä", count: 512)
        _ = try TokenID(service: long, account: long)
        #expect(failure { _ = try TokenID(service: "", account: "a") } == .invalidInput)
        #expect(failure { _ = try TokenID(service: long + "x", account: "") } == .invalidInput)
        #expect(failure { _ = try TokenID(service: "s", account: long + "x") } == .invalidInput)
    }

    @Test(
        "A new value keeps class, scopes and attributes, not the expiry, unless it has its own",
        arguments: ProtectionClass.allCases)
    func keeps(_ protection: ProtectionClass) async throws {
        let home = try TestHome()
        let tokens = try await home.create("correct horse").tokens
        let id = try id("s")
        try await tokens.put(
            Token(copying: "1"), for: id, class: protection, expires: Date(timeIntervalSince1970: 2e9),
            scopes: ["read"], attributes: ["a": "b"])
        try await tokens.put(Token(copying: "2"), for: id)
        try await tokens.set("3", for: id)
        let kept = try #require(try await tokens.info(for: id))
        #expect(kept.version == 3 && kept.protection == protection && kept.expires == nil)
        #expect(kept.scopes == ["read"] && kept.attributes == ["a": "b"])
        try await tokens.put(Token(copying: "4"), for: id, class: .whenUnlocked, scopes: [], attributes: [:])
        let own = try #require(try await tokens.info(for: id))
        #expect(own.protection == .whenUnlocked && own.scopes.isEmpty && own.attributes.isEmpty)
        try await tokens.put(Token(copying: "new"), for: self.id("t"))
        #expect(try await tokens.info(for: self.id("t"))?.protection == .whenUnlockedThisDeviceOnly)
    }

    @Test("A value stored while locked keeps the class, and a later one what the pending one has")
    func keepsWhileLocked() async throws {
        let home = try TestHome()
        let vault = try await home.create("correct horse")
        let id = try id("s")
        try await vault.tokens.put(
            Token(copying: "1"), for: id, class: .whenPasscodeSetThisDeviceOnly, attributes: ["a": "b"])
        vault.lock()
        #expect(try await vault.tokens.put(Token(copying: "2"), for: id) == .queued)
        let pending = try #require(try await vault.tokens.info(for: id))
        #expect(pending.protection == .whenPasscodeSetThisDeviceOnly && pending.attributes.isEmpty)
        #expect(try await vault.tokens.put(Token(copying: "3"), for: id, scopes: ["own"]) == .queued)
        #expect(try await vault.tokens.put(Token(copying: "4"), for: id) == .queued)
        try await vault.unlock(with: Passcode(copying: "correct horse"))
        let info = try #require(try await vault.tokens.info(for: id))
        #expect(info.version == 4 && info.protection == .whenPasscodeSetThisDeviceOnly)
        #expect(info.scopes == ["own"])
    }

    @Test("Metadata has bounds, and the store refuses more")
    func metadataHasBounds() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try id("s")
        let token = try Token(copying: [1])
        let many = [String](repeating: "x", count: 70_000)
        let pairs = Dictionary(uniqueKeysWithValues: (0..<70_000).map { ("\($0)", "") })
        let long = String(repeating: "x", count: TokenInfo.maxTextLength + 1)
        let refusals = [
            await refusal { try await session.tokens.put(token, for: id, scopes: many) },
            await refusal { try await session.tokens.put(token, for: id, attributes: pairs) },
            await refusal { try await session.tokens.put(token, for: id, scopes: [long]) },
            await refusal {
                try await session.tokens.put(token, for: id, expires: Date(timeIntervalSince1970: 1e12))
            },
        ]
        #expect(refusals.map { $0?.code } == [.invalidInput, .invalidInput, .invalidInput, .invalidInput])
        #expect(try await session.tokens.count() == 0)
        let most = [String](repeating: "x", count: TokenInfo.maxEntryCount)
        try await session.tokens.put(token, for: id, scopes: most)
        #expect(try await session.tokens.info(for: id)?.scopes.count == TokenInfo.maxEntryCount)
    }

    @Test("An absent token reads as nil")
    func whatIsAbsentIsNil() async throws {
        let home = try TestHome()
        let session = try await home.create()
        #expect(try await read(session, id("s")) == nil)
        #expect(try await session.tokens.info(for: id("s")) == nil)
        #expect(try await !session.tokens.remove(id("s")))
        #expect(try await session.tokens.list().isEmpty)
    }

    @Test("Versions count up, and a stale version is a conflict")
    func versionsCountAndConflictsAreSaid() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try id("s")
        func put(_ text: String, if precondition: Precondition) async throws -> PutResult {
            try await session.tokens.put(Token(copying: text), for: id, precondition: precondition)
        }
        #expect(await refusal { _ = try await put("x", if: .version(1)) }?.code == .conflict)
        #expect(try await put("first", if: .absent) == .stored(version: 1))
        let exists = await refusal { _ = try await put("x", if: .absent) }
        #expect(exists?.code == .conflict)
        #expect(exists?.currentVersion == 1)
        #expect(try await put("second", if: .version(1)) == .stored(version: 2))
        #expect(try await put("third", if: .any) == .stored(version: 3))
        for stale: UInt64 in [0, 1, 2, 4, .max] {
            #expect(await refusal { _ = try await put("x", if: .version(stale)) }?.currentVersion == 3)
            #expect(
                await refusal { _ = try await session.tokens.remove(id, ifVersion: stale) }?.code == .conflict
            )
        }
        #expect(try await read(session, id) == Array("third".utf8))
        #expect(try await session.tokens.remove(id, ifVersion: 3))
        #expect(try await read(session, id) == nil)
        #expect(try await put("again", if: .absent) == .stored(version: 1))
    }

    @Test("Kinds and names are separate tokens")
    func kindsAndNamesAreSeparate() async throws {
        let home = try TestHome()
        let session = try await home.create()
        for kind in TokenKind.allCases {
            try await session.tokens.put(Token(copying: kind.name), for: id("s", kind))
        }
        // The same letters, parted elsewhere.
        try await session.tokens.put(Token(copying: "1"), for: TokenID(service: "ab", account: "c"))
        try await session.tokens.put(Token(copying: "2"), for: TokenID(service: "a", account: "bc"))
        for kind in TokenKind.allCases {
            #expect(try await read(session, id("s", kind)) == Array(kind.name.utf8))
        }
        #expect(try await read(session, TokenID(service: "ab", account: "c")) == [UInt8(ascii: "1")])
        #expect(try await session.tokens.remove(id("s", .refresh)))
        #expect(try await session.tokens.count() == 5)
    }

    @Test("The store keeps metadata, and the list contains no secret")
    func metadataIsKeptAndTheListHasNoSecrets() async throws {
        let home = try TestHome()
        let clock = TestClock()
        let session = try await home.create(clock: clock.source)
        let expiry = Date(timeIntervalSince1970: 1_900_000_000)
        try await session.tokens.put(
            Token(copying: "the secret value"), for: id("b"), class: .afterFirstUnlockThisDeviceOnly,
            expires: expiry, scopes: ["read", "write"], attributes: ["name": "Wert\n", "": "ä"])
        try await session.tokens.put(Token(copying: "x"), for: id("a", .id))
        let list = try await home.unlocked().tokens.list()
        #expect(list.map(\.id.service) == ["a", "b"])
        let info = try #require(list.last)
        #expect(info.expires == expiry)
        #expect(info.scopes == ["read", "write"])
        #expect(info.attributes == ["name": "Wert\n", "": "ä"])
        #expect(info.protection == .afterFirstUnlockThisDeviceOnly)
        #expect(info.version == 1)
        #expect(info.stored == Date(timeIntervalSince1970: 1_800_000_000))
        #expect(!info.isExpired(at: Date(timeIntervalSince1970: 1_899_999_999)))
        #expect(info.isExpired(at: expiry))
        #expect(list.first?.expires == nil)
        var shown = ""
        dump(list, to: &shown)
        #expect(!shown.contains("the secret value"))
    }

    @Test("A printed token shows its length and not its value")
    func aTokenDoesNotPrint() throws {
        let token = try Token(copying: "the secret value")
        var shown = "\(token) \(String(describing: token)) \(String(reflecting: token))"
        dump(token, to: &shown)
        #expect(!shown.contains("secret value"))
        #expect(shown.contains("16 bytes"))
    }

    @Test("Neither names nor values appear on the disk")
    func namesAndValuesAreNotInTheFile() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try TokenID(service: "service.example.org", account: "ada.lovelace")
        try await session.tokens.put(
            Token(copying: "the secret value"), for: id, scopes: ["scope-name"],
            attributes: ["key-name": "key-value"])
        for text in [
            "service.example.org", "ada.lovelace", "the secret value", "scope-name", "key-name", "key-value",
        ] {
            #expect(try home.occurrences(of: Array(text.utf8)) == 0, "\(text)")
        }
        // The search itself works: the file's own magic is found.
        #expect(try home.occurrences(of: Array("COFFERT1".utf8)) == 1)
    }

    @Test("A locked session removes tokens, but not by version")
    func removedWhileLocked() async throws {
        let home = try TestHome()
        let made = try await home.create("correct horse")
        try await made.tokens.put(Token(copying: "x"), for: id("s"))
        let session = try await home.open()
        #expect(await refusal { _ = try await session.tokens.remove(id("s"), ifVersion: 1) }?.code == .locked)
        #expect(try await session.tokens.remove(id("s")))
        #expect(try await session.tokens.count() == 0)
    }

    @Test("A session sees the changes of another")
    func anotherSessionsChangesAreSeen() async throws {
        let home = try TestHome()
        let first = try await home.create()
        let second = try await home.unlocked()
        for round in 0..<20 {
            try await first.tokens.put(Token(copying: "f\(round)"), for: id("s"))
            #expect(try await read(second, id("s")) == Array("f\(round)".utf8))
            try await second.tokens.put(Token(copying: "s\(round)"), for: id("s"))
            #expect(try await read(first, id("s")) == Array("s\(round)".utf8))
        }
        #expect(try await first.tokens.info(for: id("s"))?.version == 40)
    }

    @Test("Errors of the caller's closure are rethrown")
    func errorsOfTheBodyComeThrough() async throws {
        let home = try TestHome()
        let session = try await home.create()
        try await session.tokens.put(Token(copying: "x"), for: id("s"))
        let error = await refusal {
            _ = try await session.tokens.withToken(for: id("s")) { (_, _) throws(CofferError) in
                throw CofferError(.timedOut, "the body")
            }
        }
        #expect(error?.message == "the body")
    }
}
