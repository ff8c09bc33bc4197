import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// A file of a version that a later release may write is refused as such, and nothing is touched: not the
/// file, and not what lies beside it.
@Suite("Files of a newer version")
struct NewerVersionTests {
    /// A file of a vault directory, and how a program meets it.
    struct Record: Sendable, CustomStringConvertible {
        let path: String
        /// Where the version is: once, or in both slots.
        let offsets: [Int64]
        let meet: @Sendable (Vault, GoldenHome.Contents) async throws -> Void
        var description: String { path }
    }

    private static func unlock(_ vault: Vault, _ contents: GoldenHome.Contents) async throws {
        try await vault.unlock(with: contents.passcode.map { try Passcode(copying: $0) })
    }

    private static let records: [Record] = [
        Record(path: "state", offsets: [8]) { _, _ in },
        Record(path: "vault/device", offsets: [8]) { _, _ in },
        Record(path: "vault/keybag", offsets: [8, 4104]) { try await unlock($0, $1) },
        Record(path: "vault/attempts", offsets: [8, 520]) { try await unlock($0, $1) },
        Record(path: "vault/tokens", offsets: [8]) { vault, contents in
            try await unlock(vault, contents)
            _ = try await vault.tokens.list()
        },
        Record(path: "vault/filekeys", offsets: [8, 8200]) { vault, contents in
            try await unlock(vault, contents)
            _ = try await vault.files.list()
        },
        // An index is found by its two commits, which those of a newer version are not.
        Record(path: "vault/fileindex", offsets: [8, 512, 1024]) { vault, contents in
            try await unlock(vault, contents)
            _ = try await vault.files.list()
        },
        Record(path: "vault/fileindex", offsets: [8, 512, 1024]) { vault, contents in
            try await unlock(vault, contents)
            _ = try await vault.files.reindex()
        },
        Record(path: "vault/keypairs", offsets: [8]) { vault, contents in
            try await unlock(vault, contents)
            _ = try await vault.keyPairs.list()
        },
        Record(path: "vault/orders", offsets: [8, 4104]) { vault, contents in
            try await unlock(vault, contents)
            _ = try await vault.administratorKeys()
        },
        Record(path: "vault/files/", offsets: [8, 2056]) { vault, contents in
            try await unlock(vault, contents)
            let file = try #require(contents.files.first { $0.name == "small.txt" })
            _ = try await vault.files.withDecryptedBytes(of: try FileID(file.id)) { _ in }
        },
    ]

    private func home() throws -> GoldenHome {
        try GoldenHome.unpacked(try #require(GoldenHome.all.first { $0.description == "v2/passcode" }))
    }

    @Test("Each is refused with its own code, names the way out, and stays as it is", arguments: records)
    func refused(_ record: Record) async throws {
        let home = try home()
        // What is pending would be stored by the unlock, which is no part of this test.
        try await Self.unlock(try await Vault(at: home.location), home.contents)
        var path = record.path
        if path.hasSuffix("/") {
            path += try #require(home.contents.files.first { $0.name == "small.txt" }).id + ".coffer"
        }
        for offset in record.offsets { try home.write([0, 9], at: offset, of: path) }
        let before = try home.bytes()
        let contents = home.contents
        let location = home.location
        let error = await #expect(throws: CofferError.self) {
            let vault = try await Vault(at: location)
            try await record.meet(vault, contents)
        }
        #expect(error?.code == .unsupportedVersion, "\(String(describing: error))")
        let message = error?.message ?? ""
        #expect(message.contains("newer release"), "\(message)")
        #expect(error?.remedy == .useNewerRelease || message.contains("Use that release"), "\(message)")
        let after = try home.bytes()
        #expect(Set(after.keys) == Set(before.keys))
        // An unlock before the record is met counts, and looks at the time without contact.
        let counted = Set(["vault/attempts", "vault/orders"]).subtracting([path])
        for (path, bytes) in before where !counted.contains(path) { #expect(after[path] == bytes, "\(path)") }
    }
}
