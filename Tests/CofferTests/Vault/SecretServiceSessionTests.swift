#if SecretService
    @testable import Coffer
    import CofferBase
    import CofferEngine
    import Foundation
    import SystemPackage
    import TestSupport
    import Testing

    /// Vaults whose device key and tokens are in a real gnome-keyring.
    @Suite("Vaults in the Secret Service")
    struct SecretServiceSessionTests {
        private let service: PrivateKeyring
        private let scratch: TestHome
        private let location: VaultLocation
        private let id: TokenID

        init() throws {
            service = try #require(try PrivateKeyring())
            scratch = try TestHome()
            location = VaultLocation(path: scratch.location.path, sessionBus: service.address)
            id = try TokenID(service: "s", account: "a")
        }

        private func create(_ passcode: String? = nil) async throws -> Vault {
            try await Vault.create(
                at: location, options: TestHome.options { $0.keyring = .secretService },
                passcode: passcode.map { try Passcode(copying: $0) })
        }

        private func unlocked() async throws -> Vault {
            let session = try await Vault(at: location)
            try await session.unlock()
            return session
        }

        private func read(_ session: Vault) async throws -> [UInt8]? {
            try await session.tokens.withToken(for: id) { token, _ in token.exposing { $0.copied() } }
        }

        @Test("A vault and its tokens outlive the keyring daemon")
        func aVaultOutlivesTheDaemon() async throws {
            let session = try await create()
            let values: [[UInt8]] = [
                [], Array("a\nb\0\\".utf8), [0xff, 0xc0], [UInt8](repeating: 7, count: 64 << 10),
                [UInt8](repeating: 10, count: Token.maxByteCount),
            ]
            for (number, value) in values.enumerated() {
                try await session.tokens.put(Token(copying: value), for: id)
                try service.restart()
                let other = try await unlocked()
                #expect(try await read(other) == value)
                #expect(try await read(session) == value)
                #expect(try await other.tokens.info(for: id)?.version == UInt64(number + 1))
            }
            #expect(try await session.status().keyring == .secretService)
            #expect(try await session.tokens.count() == 1)
            #expect(!FileManager.default.fileExists(atPath: scratch.path("tokens").string))
            // The device key and the token.
            #expect(try service.items(["application": "coffer"]).count == 2)
        }

        @Test("The home alone does not open on another keyring")
        func theHomeAloneDoesNotOpen() async throws {
            let session = try await create()
            try await session.tokens.put(Token(copying: "x"), for: id)
            let other = try #require(try PrivateKeyring())
            let elsewhere = VaultLocation(path: location.path, sessionBus: other.address)
            let error = await refusal { _ = try await Vault(at: elsewhere) }
            #expect(error?.code == .keyringUnavailable)
            // Nothing was made or lost for want of it.
            #expect(try other.items().isEmpty)
            #expect(try await read(unlocked()) == Array("x".utf8))
        }

        @Test("Opening a vault reports the service's own failure")
        func whatTheServiceFailsWithComesThrough() async throws {
            let session = try await create()
            session.close()
            try service.lock()
            #expect(await refusal { _ = try await Vault(at: location) }?.code == .keyringLocked)
            try service.kill()
            #expect(await refusal { _ = try await Vault(at: location) }?.code == .noSecretService)
            let nowhere = VaultLocation(path: location.path, sessionBus: "unix:path=/nonexistent")
            #expect(await refusal { _ = try await Vault(at: nowhere) }?.code == .noSessionBus)
            try service.start()
            _ = try await Vault(at: location)
        }

        @Test("A locked service prevents creation and leaves nothing behind")
        func nothingIsMadeWhereTheServiceCannotBeUsed() async throws {
            try service.lock()
            #expect(await refusal { _ = try await create() }?.code == .keyringLocked)
            #expect(!FileManager.default.fileExists(atPath: location.path.string))
            #expect(await Vault.preferredStorage(at: location) == .file)
            try service.restart()
            #expect(await Vault.preferredStorage(at: location) == .secretService)
            _ = try await create()
        }

        @Test("A damaged device key in the service is reported as corrupt")
        func aDamagedDeviceKeyIsSaid() async throws {
            _ = try await create()
            let item = try #require(try service.items(["application": "coffer"]).first)
            let good = try #require(try service.secret(item))
            var bytes = try Encoding.decodeBase64Text(good)
            bytes[bytes.count - 1] ^= 1
            try service.replace(item, by: Encoding.base64Text(bytes))
            #expect(await refusal { _ = try await Vault(at: location) }?.code == .corrupt)
            try service.replace(item, by: good)
            _ = try await Vault(at: location)
        }

        @Test("The security checks rate the keyring and its device key")
        func protectionsSayWhatIsSo() async throws {
            let session = try await create()
            let checks = try await session.securityChecks()
            #expect(checks.first { $0.name == "device-key" }?.status == .ok)
            #expect(checks.first { $0.name == "secret-service" }?.status == .ok)
            let plain = try #require(try PrivateKeyring(.plainText))
            #expect(Vault.secretService(on: plain.address).status == .advisory)
            #expect(Vault.deviceKey(.secretService, on: plain.address).status == .advisory)
            #expect(Vault.secretService(on: "unix:path=/nonexistent").status == .missing)
        }

        // MARK: Wiping

        @Test("A wipe removes our items from the keyring and no others")
        func aWipeTakesTheItems() async throws {
            let mail = try service.add(["application": "mail"], [1])
            let session = try await create()
            try await session.tokens.put(Token(copying: "x"), for: id)
            let receipt = try await session.wipe()
            #expect(receipt.removed["keyringItems"] == 2)
            #expect(!receipt.unverified.contains { $0.contains("Secret Service") })
            #expect(try service.items() == [mail])
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: location.path.string).sorted()
                    == ["lock", "receipt.json", "state"])
        }

        @Test("A wipe without the service is completed when the service is back")
        func aWipeWithoutTheServiceIsMadeUpForLater() async throws {
            let session = try await create()
            try await session.tokens.put(Token(copying: "x"), for: id)
            try service.kill()
            let receipt = try await session.wipe()
            #expect(receipt.unverified.contains { $0.contains("Secret Service") })
            #expect(try await Vault.status(at: location).state == .wiped)
            try service.start()
            #expect(try service.items(["application": "coffer"]).count == 2)
            #expect(try await Vault.status(at: location).state == .wiped)
            #expect(try service.items(["application": "coffer"]).isEmpty)
            _ = try await create()
            #expect(try service.items(["application": "coffer"]).count == 1)
        }

        // MARK: Moving

        @Test("Tokens move to the service and back while other sessions keep working")
        func movedThereAndBack() async throws {
            let session = try await Vault.create(
                at: location, options: TestHome.options(), passcode: nil)
            let other = try await unlocked()
            for number in 0..<20 {
                try await session.tokens.put(
                    Token(copying: "value \(number)"), for: TokenID(service: "s\(number)", account: "a"))
            }
            let before = try await session.tokens.list()
            let there = try await session.migrateStorage(to: .secretService)
            #expect(there == StorageMigration(from: .file, to: .secretService, tokens: 20, remaining: 0))
            #expect(
                await refusal { _ = try await session.migrateStorage(to: .secretService) }?.code
                    == .alreadyExists)
            #expect(!FileManager.default.fileExists(atPath: scratch.path("tokens").string))
            // A session that was open before goes on, here and there.
            for session in [session, other, try await unlocked()] {
                #expect(try await session.tokens.list() == before)
            }
            try await other.tokens.put(Token(copying: "new"), for: id)
            #expect(try await read(session) == Array("new".utf8))
            let back = try await other.migrateStorage(to: .file)
            #expect(back == StorageMigration(from: .secretService, to: .file, tokens: 21, remaining: 0))
            for session in [session, other, try await unlocked()] {
                #expect(try await session.tokens.count() == 21)
                #expect(try await read(session) == Array("new".utf8))
            }
            #expect(try service.items().isEmpty)
            try service.kill()
            #expect(try await read(unlocked()) == Array("new".utf8))
        }

        @Test("A failed move changes nothing and can be repeated")
        func aMoveThatFailsChangesNothing() async throws {
            let session = try await Vault.create(
                at: location, options: TestHome.options(), passcode: nil)
            try await session.tokens.put(Token(copying: "x"), for: id)
            try service.lock()
            #expect(
                await refusal { _ = try await session.migrateStorage(to: .secretService) }?.code
                    == .keyringLocked)
            #expect(try await read(session) == Array("x".utf8))
            try service.restart()
            // What the failed move may have left is gone with the next opening, and moving works.
            #expect(try await read(unlocked()) == Array("x".utf8))
            #expect(try service.items().isEmpty)
            _ = try await session.migrateStorage(to: .secretService)
            #expect(try await read(unlocked()) == Array("x".utf8))
        }
    }
#endif
