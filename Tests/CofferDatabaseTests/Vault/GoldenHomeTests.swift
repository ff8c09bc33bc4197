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

/// Homes of every format that was ever written are opened and read, and stay as they are.
@Suite("Golden homes")
struct GoldenHomeTests {
    /// The files that may change although nothing is upgraded: the counter of attempts, the record of orders
    /// with the time without contact, and the empty file of the lock.
    private static let counters: Set<String> = ["vault/attempts", "vault/orders", "lock"]

    @Test("There is a home with a passcode and one without, of every version since the first")
    func homes() throws {
        let names = Set(GoldenHome.all.map(\.description))
        #expect(names.isSuperset(of: ["v0/passcode", "v1/open", "v1/passcode", "v2/open", "v2/passcode"]))
        #expect(names.count == GoldenHome.all.count)
    }

    @Test("The status of each is read without its passcode, and counts everything", arguments: GoldenHome.all)
    func status(_ name: GoldenHome.Name) async throws {
        let home = try GoldenHome.unpacked(name)
        let before = Self.comparable(try home.bytes())
        let status = try await Vault.status(at: home.location)
        let contents = home.contents
        let pending = contents.tokens.count { $0.pending == true }
        #expect(status.hasPasscode == (contents.passcode != nil) && status.keyring == .file)
        #expect(status.files == contents.files.count && status.pendingTokens == pending)
        #expect(status.keyPairs == contents.keyPairs?.count ?? 0)
        #expect(status.corruptTokens == 0 && status.missingFiles.isEmpty && status.unlistedFiles.isEmpty)
        #expect(status.attemptsLeft == (contents.passcode == nil ? nil : contents.attemptsLeft ?? 9))
        #expect(status.availableUpgrades.map(\.rawValue) == contents.upgrades ?? [])
        #expect(Self.comparable(try home.bytes()) == before)
    }

    @Test("Everything in each is read", arguments: GoldenHome.all)
    func contents(_ name: GoldenHome.Name) async throws {
        let home = try GoldenHome.unpacked(name)
        let vault = try await home.unlocked()
        try await read(home.contents, vault)
        for user in home.contents.users {
            let inner = try await Vault(at: home.location.namespace(of: user.name))
            try await inner.unlock(with: user.passcode.map { try Passcode(copying: $0) })
            #expect(try await text(inner, "user.example.org", "u") == user.token)
        }
        if let administrator = home.contents.administrator {
            #expect(try await vault.administratorKeys().map(\.label) == [administrator])
            let order = try SignedCommand.read(home.scratch.read("wipe.order"))
            #expect(try await vault.verify(order).content.reason == "lost device")
            #expect(try await vault.deadManSwitch() == DeadManSwitch(.lock, after: .seconds(3650 * 86_400)))
        }
        if let export = home.contents.export {
            let target = try ScratchDirectory.make()
            let new = try await Vault.create(
                at: VaultLocation(path: target.path.appending("vault")), passcode: nil)
            let report = try await new.tokens.importTokens(
                from: home.scratch.path.appending("tokens.export"),
                passphrase: try Passcode(copying: export.passphrase))
            #expect(report.imported == export.tokens)
        }
    }

    @Test("Reading everything upgrades nothing: the bytes stay as they were", arguments: GoldenHome.all)
    func stays(_ name: GoldenHome.Name) async throws {
        let home = try GoldenHome.unpacked(name)
        let before = Self.comparable(try home.bytes())
        try await readAll(home)
        let once = Self.comparable(try home.bytes())
        // The first unlock stores what is pending, which is what the user asked for.
        let isPending = home.contents.tokens.contains { $0.pending == true }
        let stored = isPending ? Set(["vault/tokens", "vault/inbox/0000000000000001-1"]) : []
        #expect(Set(before.keys).subtracting(stored) == Set(once.keys).subtracting(stored))
        for (path, bytes) in before where !stored.contains(path) { #expect(once[path] == bytes, "\(path)") }
        try await readAll(home)
        #expect(Self.comparable(try home.bytes()) == once)
    }

    @Test("Each is upgraded, and then everything is read and can be stored", arguments: GoldenHome.all)
    func upgrades(_ name: GoldenHome.Name) async throws {
        let home = try GoldenHome.unpacked(name)
        let passcode = { try home.contents.passcode.map { try Passcode(copying: $0) } }
        let vault = try await Vault(at: home.location)
        let done = try await vault.upgrade(passcode: try passcode(), requiringBackup: false)
        #expect(done.map(\.rawValue) == home.contents.upgrades ?? [])
        #expect(try await vault.upgrade(passcode: nil).isEmpty)
        vault.close()
        let again = try await home.unlocked()
        try await read(home.contents, again)
        for protection in ProtectionClass.allCases
        where home.contents.passcode != nil || !protection.requiresPasscode {
            let id = try TokenID(service: "later.example.org", account: protection.name)
            try await again.tokens.put(Token(copying: "later"), for: id, class: protection)
            #expect(try await text(again, id.service, id.account) == "later")
        }
    }

    /// Leaves out what counts and measures. Of databases, only the head with the version and the salt stays:
    /// GRDB writes and drops a table whenever it opens a pool.
    private static func comparable(_ files: [String: [UInt8]]) -> [String: [UInt8]] {
        var kept: [String: [UInt8]] = [:]
        for (path, bytes) in files where !counters.contains(path) && !path.hasPrefix("vault/leases/") {
            guard path.hasPrefix("vault/soups/") else {
                kept[path] = bytes
                continue
            }
            if path.hasSuffix(".db") { kept[path] = Array(bytes.prefix(32)) }
        }
        return kept
    }

    private func readAll(_ home: borrowing GoldenHome) async throws {
        let vault = try await home.unlocked()
        try await read(home.contents, vault)
        vault.close()
    }

    private func text(_ vault: Vault, _ service: String, _ account: String) async throws -> String? {
        try await vault.tokens.get(TokenID(service: service, account: account))?.token.exposingString { $0 }
    }

    private func read(_ contents: GoldenHome.Contents, _ vault: Vault) async throws {
        for token in contents.tokens {
            let kind = try #require(TokenKind.allCases.first { $0.name == token.kind })
            let id = try TokenID(service: token.service, account: token.account, kind: kind)
            let stored = try #require(try await vault.tokens.get(id), "\(token.service)")
            let value = String(repeating: token.value, count: token.count)
            #expect(stored.token.exposingString { $0.hasSameBytes(as: value) } == true, "\(token.service)")
            let protection = token.class ?? "whenUnlockedThisDeviceOnly"
            #expect(stored.info.protection.name == protection)
            #expect(stored.info.scopes == token.scopes ?? [])
            #expect((stored.info.expires == nil) == (token.expires == nil))
            #expect(stored.info.attributes["label"] == token.label)
            #expect(stored.info.version == 1)
        }
        for file in contents.files {
            let context = Array((file.context ?? "").utf8)
            let bytes = try await vault.files.withDecryptedBytes(of: try FileID(file.id), context: context) {
                $0.copied()
            }
            #expect(bytes == Array(String(repeating: file.value, count: file.count).utf8), "\(file.name)")
        }
        let listed = try await vault.files.list().map(\.name.string)
        #expect(listed.sorted() == contents.files.map(\.name).sorted())
        let message: [UInt8] = [1, 2, 3]
        for stored in contents.keyPairs ?? [] {
            let pair = try #require(try await vault.keyPairs.keyPair(stored.alias), "\(stored.alias)")
            #expect(pair.algorithm.name == stored.algorithm && pair.protection.name == stored.class)
            #expect(pair.confirmsEachUse == stored.confirm)
            #expect(try SSHPublicKey.line(pair.publicKey, comment: pair.alias) == stored.public)
            let signature = try await vault.keyPairs.sign(message, with: stored.alias) { _ in true }
            let scheme = SigningScheme.standard(for: pair.algorithm)
            #expect(
                try pair.publicKey.isValid(signature: signature.span, for: message.span, scheme: scheme))
        }
        // Opening a database that is not there would make one.
        guard !contents.notes.isEmpty else { return }
        let databases = VaultDatabases(vault)
        let notes = try await databases.pool("notes").read { db in
            try String.fetchAll(db, sql: "SELECT body FROM note ORDER BY rowid")
        }
        #expect(notes == contents.notes)
        await databases.close()
        let stores = SoupStores(vault)
        let store = try await stores.store()
        #expect(try await store.soupNames() == ["accounts"])
        for name in contents.accounts {
            #expect(try await store.count(.like(name + "%", path: "Name"), in: "accounts") == 1, "\(name)")
        }
        await stores.close()
    }
}
