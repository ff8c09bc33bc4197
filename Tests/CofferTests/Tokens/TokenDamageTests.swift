@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// Each byte of what a small vault keeps of its tokens, changed: no value is wrong, and every error has a
/// next step.
@Suite("Damage to each byte of the tokens")
struct TokenDamageTests {
    private static let accounts = ["ada", "bob", "eve"]
    /// Every byte; under a sanitizer, where each takes long, every seventh.
    private static let step = Sanitizer.isOn ? 7 : 1

    private func id(_ account: String) throws -> TokenID {
        try TokenID(service: "api.example.org", account: account)
    }

    private func filled() async throws -> (home: TestHome, session: Vault) {
        let home = try TestHome()
        let session = try await home.create()
        for account in Self.accounts {
            try await session.tokens.put(
                Token(copying: "value of \(account)"), for: id(account), class: .whenUnlocked,
                scopes: ["read"], attributes: ["a": "b"])
        }
        return (home, session)
    }

    /// Asks for every token; returns those that are read. No value is another than the one that was stored.
    private func read(_ session: Vault, _ label: String) async throws -> Set<String> {
        var found: Set<String> = []
        for account in Self.accounts {
            let error = await refusal {
                let value = try await session.tokens.withToken(for: id(account)) { token, _ in
                    token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
                }
                #expect(value == "value of \(account)", "\(label)")
                found.insert(account)
            }
            if let error { expectNextStep(error, label) }
        }
        return found
    }

    private func expectNextStep(_ error: CofferError, _ label: String) {
        #expect([.corrupt, .foreign, .unsupportedVersion].contains(error.code), "\(label): \(error)")
        let steps: Set<CofferError.Remedy> = [
            .restoreVault, .restoreOrWipeVault, .restoreOrWipeTokens, .restoreOrReplaceToken,
            .useNewerRelease,
        ]
        #expect(error.remedy.map { steps.contains($0) } == true, "\(label): \(error)")
    }

    @Test("A damaged token file is refused as a whole, with a next step, and stays as it is")
    func file() async throws {
        let (home, session) = try await filled()
        let good = try home.read("tokens")
        for offset in stride(from: 0, to: good.count, by: Self.step) {
            var damaged = good
            damaged[offset] ^= 1 << UInt8(offset % 8)
            // Another file each time: one written over within a tick of the clock would look the same.
            try home.remove("tokens")
            try home.write("tokens", damaged)
            let error = await refusal { _ = try await session.tokens.listing() }
            // Bytes that the format does not use are authenticated, too.
            let refused = try #require(error, "byte \(offset)")
            expectNextStep(refused, "byte \(offset)")
            #expect(try await read(session, "byte \(offset)").isEmpty)
            #expect(try home.read("tokens") == damaged)
        }
        try home.remove("tokens")
        try home.write("tokens", good)
        #expect(try await read(session, "undamaged").count == Self.accounts.count)
    }

    @Test("A stored token of an unknown or wrong class blocks no other token")
    func protectionClass() async throws {
        let (home, session) = try await filled()
        let vault = try session.core.home.openVault()
        let file = TokenFile(device: session.core.device)
        let good = try file.read(in: vault).contents
        let name = try session.tokens.name(of: id("bob"))
        let own = ProtectionClass.whenUnlocked.rawValue
        for rawClass in (0...8).filter({ $0 != own }) {
            var contents = good
            contents.envelopes[name]?[3] = UInt8(rawClass)
            try file.write(contents, in: vault)
            let listing = try await session.tokens.listing()
            #expect(listing.tokens.count == 2 && listing.corrupt.count == 1, "class \(rawClass)")
            #expect(try await read(session, "class \(rawClass)") == ["ada", "eve"])
        }
        extendLifetime(home)
    }

    @Test("Around one damaged token, the others are listed and read, and it is named")
    func stored() async throws {
        let (home, session) = try await filled()
        let vault = try session.core.home.openVault()
        let file = TokenFile(device: session.core.device)
        let good = try file.read(in: vault).contents
        let name = try session.tokens.name(of: id("bob"))
        let hex = name.map { String(format: "%02x", $0) }.joined()
        let envelope = try #require(good.envelopes[name])
        for offset in stride(from: 0, to: envelope.count, by: Self.step) {
            var contents = good
            contents.envelopes[name]?[offset] ^= 1 << UInt8(offset % 8)
            try file.write(contents, in: vault)
            let listing = try await session.tokens.listing()
            let named = listing.corrupt.map(\.name)
            let found = try await read(session, "byte \(offset)")
            #expect(listing.tokens.count + named.count == 3 && (named.isEmpty || named == [hex]))
            #expect(found.isSuperset(of: ["ada", "eve"]), "byte \(offset)")
            // A value is looked at only when it is asked for.
            #expect(named.isEmpty || !found.contains("bob"), "byte \(offset)")
        }
        try file.write(good, in: vault)
        extendLifetime(home)
        #expect(try await read(session, "undamaged").count == Self.accounts.count)
    }

    @Test("An export omits and names a damaged token, unless exactly that one is requested")
    func export() async throws {
        let (home, session) = try await filled()
        let vault = try session.core.home.openVault()
        let file = TokenFile(device: session.core.device)
        let good = try file.read(in: vault).contents
        let names = try Self.accounts.map { try session.tokens.name(of: id($0)) }
        let passphrase = try Passcode(copying: "a passphrase of an export")
        // In the head, in the wrapped key, in the metadata, in the value.
        for (number, offset) in [0, 3, 20, 120, -1].enumerated() {
            var contents = good
            let count = contents.envelopes[names[0]]?.count ?? 0
            contents.envelopes[names[0]]?[offset < 0 ? count - 1 : offset] ^= 0x40
            try file.write(contents, in: vault)
            let path = home.scratch.path.appending("export\(number)")
            let report = try await session.tokens.export(to: path, passphrase: passphrase, cost: .floor)
            let hex = names[0].map { String(format: "%02x", $0) }.joined()
            #expect(report.exported == 2 && report.corrupt.map(\.name) == [hex], "byte \(offset)")
            let wanted = home.scratch.path.appending("wanted\(number)")
            let error = await refusal {
                try await session.tokens.export(
                    to: wanted, passphrase: passphrase, only: [id("ada")], cost: .floor)
            }
            #expect(error?.code == .corrupt || error?.code == .unsupportedVersion, "byte \(offset)")
            #expect(!FileManager.default.fileExists(atPath: wanted.string))
            // Nothing goes over what cannot be read.
            try file.write(good, in: vault)
            let whole = home.scratch.path.appending("whole\(number)")
            try await session.tokens.export(to: whole, passphrase: passphrase, cost: .floor)
            try file.write(contents, in: vault)
            let taken = try await session.tokens.importTokens(
                from: whole, passphrase: passphrase, replacing: true)
            #expect(taken.conflicts == [try id("ada")] && taken.same == 2, "byte \(offset)")
            #expect(try file.read(in: vault).contents.envelopes == contents.envelopes)
        }
    }

    @Test("A damaged pending token is set aside and counted, and the others are stored")
    func pending() async throws {
        let home = try TestHome()
        let owner = try await home.create("correct horse")
        let stranger = try await home.open()
        func put() async throws {
            for account in ["ada", "bob"] {
                let value = try Token(copying: "value of \(account)")
                #expect(try await stranger.tokens.put(value, for: id(account)) == .queued)
            }
        }
        try await put()
        let size = try home.read("inbox/0000000000000001-1").count
        for offset in stride(from: 0, to: size, by: Self.step) {
            if offset > 0 { try await put() }
            var bytes = try home.read("inbox/0000000000000001-1")
            #expect(bytes.count == size)
            bytes[offset] ^= 1 << UInt8(offset % 8)
            try home.write("inbox/0000000000000001-1", bytes)
            #expect(try await owner.tokens.list().map(\.id.account) == ["bob"], "byte \(offset)")
            #expect(
                try await owner.tokens.pendingTokens() == PendingTokenCount(pending: 0, corrupt: 1),
                "byte \(offset)")
            #expect(try await read(owner, only: "bob") == "value of bob", "byte \(offset)")
            #expect(try await owner.tokens.remove(id("bob")))
            #expect(try await owner.tokens.removeCorruptPendingTokens() == 1)
        }
    }

    private func read(_ session: Vault, only account: String) async throws -> String? {
        try await session.tokens.withToken(for: id(account)) { token, _ in
            token.exposing { String(decoding: $0.copied(), as: UTF8.self) }
        }
    }
}
