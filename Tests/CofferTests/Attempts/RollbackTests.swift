import CofferCrypto

#if SecretService
    import Coffer
    import CofferBase
    import Foundation
    import SystemPackage
    import TestSupport
    import Testing

    /// With the device key in a real gnome-keyring, an older copy of the home is refused.
    @Suite("Older copies of a home whose device key is in the Secret Service")
    struct RollbackTests {
        private let service: PrivateKeyring
        private let home: TestHome
        private let location: VaultLocation

        init() throws {
            service = try #require(try PrivateKeyring())
            home = try TestHome()
            location = VaultLocation(path: home.location.path, sessionBus: service.address)
        }

        private func create() async throws -> Vault {
            try await Vault.create(
                at: location, options: TestHome.options { $0.keyring = .secretService },
                passcode: Passcode(copying: "correct horse"))
        }

        private func attempt(_ passcode: String) async throws -> CofferError? {
            let session = try await Vault(at: location)
            return await refusal(of: passcode, by: session)
        }

        private func copy(to name: String) throws {
            try FileManager.default.copyItem(
                atPath: home.location.path.string, toPath: home.scratch.path(of: name))
        }

        private func putBack(_ name: String) throws {
            try FileManager.default.removeItem(atPath: home.location.path.string)
            try FileManager.default.copyItem(
                atPath: home.scratch.path(of: name), toPath: home.location.path.string)
        }

        @Test("Every guess on an older copy of the home is refused")
        func everyGuessOnAnOlderCopyIsRefused() async throws {
            _ = try await create()
            try copy(to: "fresh")
            #expect(try await attempt("wrong 1")?.attemptsLeft == 9)
            try copy(to: "one")
            #expect(try await attempt("wrong 2")?.attemptsLeft == 8)
            for copy in ["fresh", "one"] {
                try putBack(copy)
                for passcode in ["wrong 3", "correct horse"] {
                    #expect(try await attempt(passcode)?.code == .rolledBack, "\(copy)")
                }
            }
        }

        @Test("An older counter alone is refused, too")
        func theCounterAloneIsNoOlderEither() async throws {
            _ = try await create()
            let fresh = try home.read("attempts")
            #expect(try await attempt("wrong 1")?.attemptsLeft == 9)
            let newest = try home.read("attempts")
            try home.write("attempts", fresh)
            #expect(try await attempt("correct horse")?.code == .rolledBack)
            try home.write("attempts", newest)
            #expect(try await attempt("correct horse") == nil)
        }

        @Test("A copy of the newest state opens")
        func theNewestCopyOpens() async throws {
            _ = try await create()
            #expect(try await attempt("wrong 1")?.attemptsLeft == 9)
            try copy(to: "newest")
            try putBack("newest")
            #expect(try await attempt("wrong 2")?.attemptsLeft == 8)
            #expect(try await attempt("correct horse") == nil)
        }

        /// Counted on the disk, and then the power went before the service was told.
        @Test("A counter ahead of the service is accepted")
        func aCounterAheadOfTheServiceIsTaken() async throws {
            _ = try await create()
            #expect(try await attempt("wrong 1")?.attemptsLeft == 9)
            let directory = try VaultDirectory.openDirectory(location)
            let vault = try directory.openVault()
            let device = try DeviceKey.read(in: vault, service: directory.service)
            let contents = try AttemptRecord.record.read(device: device, in: vault)
            try AttemptRecord.record.update(contents, to: contents.payload, device: device, in: vault)
            #expect(try await attempt("wrong 2")?.attemptsLeft == 8)
        }

        /// Moved to files, there is nothing that remembers.
        @Test("After a move to files, an older counter is accepted")
        func filesAloneForget() async throws {
            let session = try await create()
            #expect(try await attempt("wrong 1")?.attemptsLeft == 9)
            _ = try await session.migrateStorage(to: .file, passcode: Passcode(copying: "correct horse"))
            #expect(try service.items(["application": "coffer"]).isEmpty)
            let old = try home.read("attempts")
            #expect(try await attempt("wrong 2")?.attemptsLeft == 9)
            try home.write("attempts", old)
            #expect(try await attempt("wrong 3")?.attemptsLeft == 9)
        }

        @Test("Moving the device key to a file requires the passcode, locked or unlocked")
        func movingToFilesTakesThePasscode() async throws {
            let session = try await create()
            #expect(session.isUnlocked)
            #expect(await refusal { _ = try await session.migrateStorage(to: .file) }?.code == .locked)
            let wrong = await refusal {
                _ = try await session.migrateStorage(to: .file, passcode: Passcode(copying: "wrong"))
            }
            #expect(wrong?.code == .wrongPasscode && wrong?.attemptsLeft == 9)
            #expect(try await session.status().keyring == .secretService)
            session.lock()
            let passcode = try Passcode(copying: "correct horse")
            #expect(try await session.migrateStorage(to: .file, passcode: passcode).to == .file)
            #expect(!session.isUnlocked)
            // Back to the stronger place it needs none.
            #expect(try await session.migrateStorage(to: .secretService).to == .secretService)
        }

        @Test("The security checks report whether the attempts have a rollback guard")
        func protectionsSayWhichItIs() async throws {
            let session = try await create()
            let service = try await session.securityChecks().first { $0.name == "attempts" }
            #expect(service?.status == .ok)
            let file = try TestHome()
            let other = try await file.create("correct horse").securityChecks().first {
                $0.name == "attempts"
            }
            #expect(other?.status == .advisory)
        }
    }
#endif
