import Coffer
import CofferBase
import CofferTesting
import Foundation
import Testing
import TestSupport

@Suite("Tokens as text, data and values")
struct TokenValuesTests {
    /// A type of an app.
    private struct Login: Codable, Equatable {
        let user: String
        var secret: [UInt8]
        var expires: Date?
        var ratio = 0.5
    }

    private static func with(
        _ body: (_ temporary: TemporaryVault, _ id: TokenID) async throws -> Void
    ) async throws {
        let id = try TokenID(service: "s", account: "a")
        try await TemporaryVault.with(passcode: "2468") { try await body($0, id) }
    }

    @Test("Text is stored and read under its name", arguments: ["secret", "", "grüße\u{0}\n", "🔑"])
    func text(_ text: String) async throws {
        try await Self.with { temporary, id in
            let tokens = temporary.vault.tokens
            #expect(try await tokens[id] == nil)
            let result = try await tokens.set(text, for: id)
            #expect(result == .stored(version: 1))
            #expect(try await tokens[id]?.string == text)
            #expect(try await tokens[id]?.token.copyBytes() == Array(text.utf8))
            #expect(try await tokens.set(text, for: id).version == 2)
            #expect(try await tokens[id]?.info.version == 2)
        }
    }

    @Test("Data of any bytes comes back, and is no text unless it is UTF-8")
    func data() async throws {
        try await Self.with { temporary, id in
            let tokens = temporary.vault.tokens
            let data = Data([0x61, 0xC3, 0x28, 0x00, 0xFF])
            try await tokens.put(data, for: id)
            #expect(try await tokens[id]?.data == data)
            #expect(try await tokens[id]?.string == nil)
            // A slice does not begin at 0.
            try await tokens.put(data.dropFirst(2), for: id)
            #expect(try await tokens[id]?.data == Data([0x28, 0x00, 0xFF]))
        }
    }

    @Test("A value of a program's own type comes back as JSON")
    func codable() async throws {
        try await Self.with { temporary, id in
            let tokens = temporary.vault.tokens
            let login = Login(user: "ada", secret: [0, 255], expires: Date(timeIntervalSince1970: 1))
            try await tokens.put(encoding: login, for: id)
            #expect(try await tokens[id]?.decoded(as: Login.self) == login)
            let inferred: Login? = try await tokens[id]?.decoded()
            #expect(inferred == login)
            let json = try #require(try await tokens[id]?.string)
            #expect(json.hasPrefix("{\"expires\":") && json.hasSuffix("\"user\":\"ada\"}"))
            // Text as a value is JSON, text as a token is itself.
            try await tokens.put(encoding: "text", for: id)
            #expect(try await tokens[id]?.string == "\"text\"")
            #expect(try await tokens[id]?.decoded(as: String.self) == "text")
        }
    }

    @Test("What does not encode or decode is refused, and the error does not contain it")
    func failures() async throws {
        try await Self.with { temporary, id in
            let tokens = temporary.vault.tokens
            let impossible = Login(user: "ada", secret: [], ratio: .nan)
            let encoding = await refusal { try await tokens.put(encoding: impossible, for: id) }
            #expect(encoding?.code == .invalidInput)
            #expect(try await tokens[id] == nil)

            for text in ["", "hidden", "{\"user\":\"hidden\"}", "[\"hidden\""] {
                try await tokens.set(text, for: id)
                let found = try #require(try await tokens[id])
                let error = await refusal { _ = try found.decoded(as: Login.self) }
                #expect(error?.code == .invalidInput)
                #expect(error?.description.contains("hidden") == false)
            }
        }
    }

    @Test("The limits and options of guarded tokens hold")
    func options() async throws {
        try await Self.with { temporary, id in
            let tokens = temporary.vault.tokens
            let long = String(repeating: "x", count: Token.maxByteCount)
            try await tokens.set(long, for: id)
            for refused in [
                await refusal { try await tokens.set(long + "x", for: id) },
                await refusal { try await tokens.put(Data((long + "x").utf8), for: id) },
                await refusal { try await tokens.put(encoding: long, for: id) },
            ] {
                #expect(refused?.code == .invalidInput)
            }
            #expect(
                await refusal { try await tokens.put("x", for: id, precondition: .absent) }?.code == .conflict
            )
            let expires = Date(timeIntervalSince1970: 1_900_000_000)
            try await tokens.put(
                Data("x".utf8), for: id, class: .afterFirstUnlock, expires: expires, scopes: ["read"],
                attributes: ["a": "b"], precondition: .version(1))
            let info = try #require(try await tokens[id]?.info)
            #expect(info.protection == .afterFirstUnlock && info.expires == expires && info.version == 2)
            #expect(info.scopes == ["read"] && info.attributes == ["a": "b"])
            try await tokens.put(encoding: [1, 2], for: id, isEphemeral: true)
            #expect(try await tokens[id]?.info.isEphemeral == true)
        }
    }

    @Test("While locked, reading is refused and text waits for the unlock")
    func locked() async throws {
        try await Self.with { temporary, id in
            let tokens = temporary.vault.tokens
            temporary.vault.lock()
            #expect(try await tokens.set("later", for: id) == .queued)
            temporary.vault.close()
            do throws(CofferError) {
                _ = try await tokens[id]
                Issue.record("read while locked")
            } catch {
                #expect(error.code == .locked)
            }
            try await temporary.vault.unlock(with: Passcode(copying: "2468"))
            #expect(try await tokens[id]?.string == "later")
        }
    }
}
