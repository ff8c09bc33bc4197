import Coffer
import CofferEngine
import Foundation
import SystemPackage
import TestSupport

/// An unpacked copy of one of the homes in `Tests/Golden`, which keep every format that was ever written.
struct GoldenHome: ~Copyable {
    /// The items that `Tests/Golden/make.py` put into a home, as in its `contents.json`.
    struct Contents: Decodable, Sendable {
        struct StoredToken: Decodable, Sendable {
            let service: String
            let account: String
            let kind: String
            let value: String
            let count: Int
            let `class`: String?
            let scopes: [String]?
            let expires: String?
            let label: String?
            let pending: Bool?
        }
        struct StoredFile: Decodable, Sendable {
            let name: String
            let id: String
            let value: String
            let count: Int
            let context: String?
        }
        struct User: Decodable, Sendable {
            let name: String
            let passcode: String?
            let token: String
        }
        struct StoredKeyPair: Decodable, Sendable {
            let alias: String
            let algorithm: String
            let `class`: String
            let confirm: Bool
            let `public`: String
        }
        struct Export: Decodable, Sendable {
            let passphrase: String
            let tokens: Int
        }

        let name: String
        let passcode: String?
        let tokens: [StoredToken]
        let files: [StoredFile]
        let users: [User]
        let keyPairs: [StoredKeyPair]?
        let notes: [String]
        let accounts: [String]
        let administrator: String?
        let export: Export?
        let documented: String?
        /// The attempts that are left; 9 if it is not given.
        let attemptsLeft: Int?
        /// The parts that an upgrade brings to the present format; none if they are not given.
        let upgrades: [String]?
    }

    /// The version of the format and the name of a home.
    struct Name: Sendable, CustomStringConvertible {
        let version: String
        let contents: Contents
        var description: String { version + "/" + contents.name }
    }

    private struct All: Decodable { let homes: [Contents] }

    private static let folder = PackageRoot.path + "Tests/Golden/"

    /// Every home of every version.
    static let all: [Name] = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return versions.sorted().flatMap { version in
            let path = folder + version + "/contents.json"
            guard let data = FileManager.default.contents(atPath: path),
                let all = try? JSONDecoder().decode(All.self, from: data)
            else { return [Name]() }
            return all.homes.map { Name(version: version, contents: $0) }
        }
    }()

    let scratch: ScratchDirectory
    let location: VaultLocation
    let contents: Contents

    private init(_ scratch: consuming ScratchDirectory, _ contents: Contents) {
        location = VaultLocation(path: scratch.path.appending("home"))
        self.scratch = scratch
        self.contents = contents
    }

    static func unpacked(_ name: Name) throws -> GoldenHome {
        let scratch = try ScratchDirectory.make()
        let archive = folder + name.description + ".tar.gz"
        let run = try CommandRun.run(
            "tar", ["-xzpf", archive, "--no-same-owner", "-C", scratch.path.string])
        guard run.code == 0 else { throw CocoaError(.fileReadUnknown) }
        return GoldenHome(scratch, name.contents)
    }

    /// The open vault, unlocked.
    func unlocked() async throws -> Vault {
        let vault = try await Vault(at: location)
        try await vault.unlock(with: contents.passcode.map { try Passcode(copying: $0) })
        return vault
    }

    /// The bytes of every file of the home, by path.
    func bytes() throws -> [String: [UInt8]] {
        let root = scratch.path(of: "home")
        var found: [String: [UInt8]] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: root) {
            let attributes = try FileManager.default.attributesOfItem(atPath: root + "/" + path)
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            found[path] = [UInt8](try Data(contentsOf: URL(filePath: root + "/" + path)))
        }
        return found
    }

    /// Writes `bytes` at `offset` of a file of the home.
    func write(_ bytes: [UInt8], at offset: Int64, of path: String) throws {
        let file = try Descriptor.open(FilePath(scratch.path(of: "home") + "/" + path), .readWrite)
        try file.write(bytes.span, at: offset)
    }
}
