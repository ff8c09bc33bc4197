import Coffer
import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// A vault that was made before parts of the package got their present names, kept in
/// `Tests/Fixtures/vault-0.1.tar.gz`. The names of types may change; the bytes on the disk do not.
@Suite("A vault that an earlier state of the package made")
struct EarlierVaultTests {
    private static let passcode = "correct horse 7"
    private static let files = (
        small: "0c1f4d7c-f15a-412e-b59f-6dbc2449bc50", big: "4a47ee9a-a558-4247-a918-98ddc38d43b9"
    )

    /// An unpacked copy of the vault.
    private struct Earlier: ~Copyable {
        let scratch: ScratchDirectory
        let location: VaultLocation

        private init(_ scratch: consuming ScratchDirectory) {
            location = VaultLocation(path: scratch.path.appending("vault"))
            self.scratch = scratch
        }

        static func unpacked() throws -> Earlier {
            let scratch = try ScratchDirectory.make()
            let archive = PackageRoot.path + "Tests/Fixtures/vault-0.1.tar.gz"
            let run = try CommandRun.run(
                "tar", ["-xzpf", archive, "--no-same-owner", "-C", scratch.path.string])
            try #require(run.code == 0, "\(run.errorText)")
            return Earlier(scratch)
        }

        func unlocked() async throws -> Vault {
            let vault = try await Vault(at: location)
            try await vault.unlock(with: Passcode(copying: EarlierVaultTests.passcode))
            return vault
        }
    }

    private func text(_ vault: Vault, _ service: String, _ account: String, _ kind: TokenKind = .access)
        async throws -> String?
    {
        try await vault.tokens.get(TokenID(service: service, account: account, kind: kind))?.token
            .exposingString { $0 }
    }

    @Test("Its status is read without the passcode")
    func status() async throws {
        let earlier = try Earlier.unpacked()
        let status = try await Vault.status(at: earlier.location)
        #expect(status.state == .locked && status.hasPasscode && status.keyring == .file)
        #expect(status.vaultID?.description.uppercased() == "B4DDE08A-E38C-4A0F-A762-DD30B51E26EA")
        #expect(status.attemptsLeft == 9 && status.inactivityMinutes == 30)
        #expect(status.erasesAfterTenFailures)
        #expect(status.tokens == 7 && status.files == 2 && status.pendingTokens == 1)
        #expect(status.corruptTokens == 0 && status.missingFiles.isEmpty && status.unlistedFiles.isEmpty)
    }

    @Test("Its attempts go on being counted, and its passcode opens it")
    func attempts() async throws {
        let earlier = try Earlier.unpacked()
        let vault = try await Vault(at: earlier.location)
        let error = try await #require(throws: CofferError.self) {
            try await vault.unlock(with: Passcode(copying: "wrong 654321"))
        }
        #expect(error.code == .wrongPasscode && error.attemptsLeft == 8)
        try await vault.unlock(with: Passcode(copying: Self.passcode))
        #expect(try await vault.status().attemptsLeft == 10)
        // Its policy holds: letters and digits, none of the common passcodes.
        for weak in ["123456", "password1"] {
            await #expect(throws: CofferError.self) {
                try await vault.changePasscode(
                    to: Passcode(copying: weak), current: Passcode(copying: Self.passcode))
            }
        }
    }

    @Test("Its tokens of every class are read, with what describes them, and the pending one is stored")
    func tokens() async throws {
        let earlier = try Earlier.unpacked()
        let vault = try await earlier.unlocked()
        #expect(try await text(vault, "api.example.org", "ada") == "access-1")
        #expect(try await text(vault, "mail.example.org", "bob") == "mail-1")
        #expect(try await text(vault, "only.example.org", "eve") == "only-1")
        #expect(try await text(vault, "late.example.org", "zoe") == "late-1")
        let id = try TokenID(service: "api.example.org", account: "ada", kind: .refresh)
        let refresh = try #require(try await vault.tokens.get(id))
        #expect(refresh.token.exposingString { $0 } == "refresh-2")
        #expect(refresh.info.version == 2 && refresh.info.protection == .whenUnlocked)
        #expect(refresh.info.scopes == ["read", "write"])
        #expect(refresh.info.expires == Date(timeIntervalSince1970: 2_117_016_000))
        let user = try await Vault(at: earlier.location.namespace(of: "ada"))
        try await user.unlock()
        #expect(try await text(user, "api.example.org", "ada") == "of ada")
        let key = try await vault.documentedSecrets.withDeviceSecret("legacy") { (secret, kept) in
            try secret.exposing { bytes in
                try PBKDF2.derive(
                    secret: bytes, salt: kept.salt.span, rounds: kept.rounds, digest: kept.digest,
                    count: kept.keySize
                ).exposing { HexText.encode($0.copied()) }
            }
        }
        #expect(key == "d7170b7a6248f8259cd06a8114c19ccc5e006ab5618f846ebbaa280883adf919")
    }

    @Test("Its files are read, also the one that a context is bound to, and rewrapped")
    func files() async throws {
        let earlier = try Earlier.unpacked()
        let vault = try await earlier.unlocked()
        let (small, big) = (try FileID(Self.files.small), try FileID(Self.files.big))
        func check() async throws {
            let text = try await vault.files.withDecryptedBytes(of: small) { $0.copied() }
            #expect(text == Array("a small file\n".utf8))
            let bytes = try await vault.files.withDecryptedBytes(
                of: big, context: Array("case 7".utf8)
            ) { $0.copied() }
            #expect(bytes == [UInt8](repeating: UInt8(ascii: "x"), count: 70_000))
            await #expect(throws: CofferError.self) {
                try await vault.files.withDecryptedBytes(of: big) { _ in }
            }
        }
        try await check()
        _ = try await vault.files.rotateKeys()
        try await check()
        #expect(try await vault.files.info(for: small).name == "small.txt")
    }

    @Test("Its databases are read: the program's own and that of the soups")
    func databases() async throws {
        let earlier = try Earlier.unpacked()
        let vault = try await earlier.unlocked()
        let notes = try await VaultDatabases(vault).pool("notes")
        let body = try await notes.read { try String.fetchAll($0, sql: "SELECT body FROM note") }
        #expect(body == ["kept by an earlier state"])
        let stores = SoupStores(vault)
        let store = try await stores.store()
        #expect(try await store.soupNames() == ["accounts"])
        #expect(try await store.count(.like("Cloud%", path: "Name"), in: "accounts") == 1)
        await stores.close()
    }

    @Test("Its administrator's order is carried out: the tokens go, files and databases stay")
    func order() async throws {
        let earlier = try Earlier.unpacked()
        let vault = try await earlier.unlocked()
        #expect(try await vault.administratorKeys().map(\.label) == ["admin"])
        #expect(try await vault.deadManSwitch() == DeadManSwitch(.lock, after: .seconds(3650 * 86_400)))
        let order = try SignedCommand.read(earlier.scratch.read("wipe.order"))
        let verified = try await vault.verify(order)
        #expect(verified.content.reason == "lost device" && verified.content.counter == 7)
        _ = try await vault.execute(verified)
        let status = try await Vault.status(at: earlier.location)
        // The keys of its two databases stay with them.
        #expect(status.tokens == 2 && status.files == 2, "\(status)")
        #expect(try await text(vault, "api.example.org", "ada") == nil)
    }

    @Test("Opening it upgrades nothing: keybag, device record, index, containers and databases stay")
    func stays() async throws {
        let earlier = try Earlier.unpacked()
        let paths = [
            "state", "vault/device", "vault/keybag", "vault/filekeys", "vault/fileindex",
            "vault/files/\(Self.files.small).coffer", "vault/files/\(Self.files.big).coffer",
            "vault/soups/database-notes.db",
        ].map { FilePath("vault/" + $0) }
        let before = try paths.map { try earlier.scratch.read($0) }
        let vault = try await earlier.unlocked()
        _ = try await vault.tokens.list()
        _ = try await vault.files.list()
        _ = try await vault.files.withDecryptedBytes(of: try FileID(Self.files.small)) { $0.count }
        vault.close()
        #expect(try paths.map { try earlier.scratch.read($0) } == before)
    }

    @Test("Its export is imported, and a new passcode opens everything")
    func export() async throws {
        let earlier = try Earlier.unpacked()
        let target = try ScratchDirectory.make()
        let new = try await Vault.create(
            at: VaultLocation(path: target.path.appending("vault")), passcode: nil)
        let path = earlier.scratch.path.appending("vault.export")
        let passphrase = try Passcode(copying: "a passphrase 9")
        let report = try await new.tokens.importTokens(from: path, passphrase: passphrase)
        #expect(report.imported == 2)
        #expect(try await text(new, "api.example.org", "ada", .refresh) == "refresh-2")

        let vault = try await earlier.unlocked()
        try await vault.changePasscode(
            to: Passcode(copying: "another horse 8"), current: Passcode(copying: Self.passcode))
        vault.close()
        try await vault.unlock(with: Passcode(copying: "another horse 8"))
        #expect(try await text(vault, "only.example.org", "eve") == "only-1")
        #expect(
            try await VaultDatabases(vault).pool("notes").read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM note")
            } == 1)
    }
}
