@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// What is done to the token file behind the vault's back.
@Suite struct TokenFileTests {
    private func filled() async throws -> (home: TestHome, session: Session, keyring: TokenFile) {
        let home = try TestHome()
        let session = try await home.create()
        try await session.tokens.put(Token(copying: "value"), for: TokenID(service: "s", account: "a"))
        return (home, session, TokenFile(device: session.core.device))
    }

    @Test func everyFlippedByteIsRefused() async throws {
        let (home, session, keyring) = try await filled()
        let good = try home.read("tokens")
        let vault = try session.core.home.openVault()
        for offset in good.indices {
            for bit in [UInt8(offset % 8), 7] {
                var damaged = good
                damaged[offset] ^= 1 << bit
                try home.write("tokens", damaged)
                let code = failure { _ = try keyring.read(in: vault) }
                let isVersion = (8..<10).contains(offset) && code == .unsupportedVersion
                let isVault = (16..<32).contains(offset) && code == .foreign
                #expect(code == .corrupt || isVersion || isVault, "byte \(offset)")
            }
        }
        try home.write("tokens", good)
        #expect(try await home.unlocked().tokens.count() == 1)
    }

    @Test func everyTruncationAndExtensionIsRefused() async throws {
        let (home, session, keyring) = try await filled()
        let good = try home.read("tokens")
        let vault = try session.core.home.openVault()
        for count in 0..<good.count {
            try home.write("tokens", Array(good.prefix(count)))
            #expect(failure { _ = try keyring.read(in: vault) } == .corrupt, "\(count) bytes")
        }
        for more in [1, 16, 4096] {
            try home.write("tokens", good + [UInt8](repeating: 0, count: more))
            #expect(failure { _ = try keyring.read(in: vault) } == .corrupt)
        }
    }

    /// A session that has read the file sees that it is damaged now, and a change does not hide the damage.
    @Test func damageIsNotWrittenOver() async throws {
        let (home, session, _) = try await filled()
        var damaged = try home.read("tokens")
        damaged[100] ^= 1
        try FileManager.default.removeItem(atPath: home.path("tokens").string)
        try home.write("tokens", damaged)
        let id = try TokenID(service: "s", account: "b")
        #expect(await refusal { _ = try await session.tokens.list() }?.code == .corrupt)
        #expect(
            await refusal { try await session.tokens.put(Token(copying: "x"), for: id) }?.code == .corrupt)
        #expect(try home.read("tokens") == damaged)
        try home.remove("tokens")
        #expect(
            await refusal { try await session.tokens.put(Token(copying: "x"), for: id) }?.code == .corrupt)
        #expect(!FileManager.default.fileExists(atPath: home.path("tokens").string))
    }

    /// Envelopes are bound to their names: swapping two tokens inside the sealed file does not go unnoticed.
    @Test func swappedEnvelopesAreRefused() async throws {
        let (home, session, keyring) = try await filled()
        try await session.tokens.put(Token(copying: "other"), for: TokenID(service: "s", account: "b"))
        let vault = try session.core.home.openVault()
        var contents = try keyring.read(in: vault).contents
        let names = Array(contents.envelopes.keys)
        let first = contents.envelopes[names[0]]
        contents.envelopes[names[0]] = contents.envelopes[names[1]]
        contents.envelopes[names[1]] = first
        try keyring.write(contents, in: vault)
        let opened = try await home.unlocked()
        #expect(await refusal { _ = try await opened.tokens.list() }?.code == .corrupt)
    }

    @Test func damagedEnvelopesAreRefused() async throws {
        let (home, session, keyring) = try await filled()
        let vault = try session.core.home.openVault()
        let good = try keyring.read(in: vault).contents
        let name = try #require(good.envelopes.keys.first)
        let envelope = try #require(good.envelopes[name])
        let opened = try await home.unlocked()
        func read(_ damaged: [UInt8]) async throws -> CofferError.Code? {
            var contents = good
            contents.envelopes[name] = damaged
            try keyring.write(contents, in: vault)
            return await refusal {
                _ = try await opened.tokens.withToken(for: TokenID(service: "s", account: "a")) { _, _ in }
            }?.code
        }
        for offset in stride(from: 0, to: envelope.count, by: 5) {
            var damaged = envelope
            damaged[offset] ^= 1 << UInt8(offset % 8)
            let code = try await read(damaged)
            #expect(code == .corrupt || code == .unsupportedVersion && offset < 12, "byte \(offset)")
        }
        for count in stride(from: 0, to: envelope.count, by: 9) {
            #expect(try await read(Array(envelope.prefix(count))) == .corrupt)
        }
        #expect(try await read(envelope) == nil)
    }

    @Test func aFullDiskLosesNothing() async throws {
        guard let disk = try TinyFileSystem.make() else { return }
        let location = HomeLocation(path: try disk.open().path.appending("home"))
        let error = await refusal {
            _ = try await Session.create(at: location, options: TestHome.options(), passcode: nil)
        }
        #expect(error?.code == .noSpace)
        #expect(await refusal { _ = try await Session.open(at: location) }?.code == .notInitialised)
        extendLifetime(disk)
    }
}
