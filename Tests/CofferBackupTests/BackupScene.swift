import Coffer
import CofferBackup
import CofferBase
import CofferCrypto
import CofferDatabase
import CofferEngine
import Foundation
import GRDB
import SystemPackage
import TestSupport

/// A vault with an item of each kind, and a place for its backups.
final class BackupScene: Sendable {
    let scratch: ScratchDirectory
    let identity: AgeIdentity

    init() throws {
        scratch = try ScratchDirectory.make()
        identity = try AgeIdentity.generate()
    }

    var path: FilePath { scratch.path.appending("vault.age") }
    var key: BackupKey { .recipients([identity.recipient]) }
    var opening: BackupOpeningKey { .identities([identity]) }

    func location(_ name: String = "home") throws -> VaultLocation {
        var location = VaultLocation(path: scratch.path.appending(name))
        location.policyDirectory = PolicyDirectory(
            below: scratch.path, components: ["policy.d"], owner: try scratch.descriptor.status().owner)
        return location
    }

    /// Sets the administrator's policy, as JSON, which vaults obey from their next unlock on.
    func setPolicy(_ policy: String) throws {
        try scratch.descriptor.setPermissions(0o755)
        if try scratch.descriptor.status(of: "policy.d") == nil {
            try scratch.descriptor.makeDirectory("policy.d")
        }
        let folder = try scratch.descriptor.open("policy.d", [.read, .directory])
        try folder.replace("10.json", with: Array(policy.utf8).span, permissions: 0o644)
    }

    /// Creates a vault at the cheapest cost.
    func create(_ name: String = "home", passcode: String? = "2468") async throws -> Vault {
        var options = VaultOptions()
        options.cost = .floor
        options.delaysAttempts = false
        options.inactivity = .seconds(24 * 3600)
        return try await Vault.create(
            at: try location(name), options: options, passcode: passcode.map { try Passcode(copying: $0) })
    }

    /// Stores a token, a file and a database in a class.
    func fill(_ vault: Vault, _ protection: ProtectionClass) async throws -> FileID {
        let name = protection.name
        try await vault.tokens.put(
            Token(copying: [0, 10, 255] + Array("value \(name)".utf8)),
            for: TokenID(service: "s", account: name, kind: .other), class: protection,
            expires: Date(timeIntervalSince1970: 2_000_000_000.25), scopes: ["read", "e\u{301}"],
            attributes: ["colour": "blue \"\\"])
        let id = try await vault.files.add(
            Self.content(protection), name: Self.component("\(name).bin"), class: protection,
            modified: Date(timeIntervalSince1970: 1_600_000_000))
        let databases = VaultDatabases(vault)
        let queue = try await databases.queue("db-\(name)", class: protection)
        try await queue.write { db in
            try db.execute(sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")
            for index in 0..<500 {
                try db.execute(sql: "INSERT INTO t (body) VALUES (?)", arguments: ["row \(index) of \(name)"])
            }
        }
        await databases.close()
        return id
    }

    static func component(_ name: String) throws -> FilePath.Component {
        guard let component = FilePath.Component(name) else {
            throw CofferError(.invalidInput, "The test's file name is not a name.")
        }
        return component
    }

    static func content(_ protection: ProtectionClass) -> [UInt8] {
        (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ Int(protection.rawValue)) }
    }

    func backUp(_ vault: Vault) async throws -> BackupContents {
        try await vault.createBackup(at: path, for: key)
    }

    func restore(
        _ vault: Vault, _ rule: ConflictRule = .keep, isTrial: Bool = false
    ) async throws -> RestoreReport {
        try await vault.restoreBackup(from: path, with: opening, onConflict: rule, isTrial: isTrial)
    }

    /// The code that `body` fails with; `nil` if it succeeds or throws something else.
    static func code(_ body: () async throws -> Void) async -> CofferError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? CofferError)?.code
        }
    }

    /// The rows of a database.
    static func rows(_ vault: Vault, _ name: String) async throws -> Int? {
        let databases = VaultDatabases(vault)
        let queue = try await databases.queue(name)
        let count = try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
        await databases.close()
        return count
    }

    func bytes(_ path: FilePath? = nil) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: (path ?? self.path).string)))
    }

    func write(_ bytes: [UInt8], to path: FilePath? = nil) throws {
        try Data(bytes).write(to: URL(filePath: (path ?? self.path).string))
    }
}
