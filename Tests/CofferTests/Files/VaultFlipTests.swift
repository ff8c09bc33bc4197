@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// One flipped bit in any file of a small home: no wrong content, no file that vanishes silently, no error
/// without its type, and nothing destroyed. 200 places here, 40 under a sanitizer; COFFER_FLIPS says another
/// number.
@Suite("One flipped bit in a vault with files")
struct VaultFlipTests {
    private static let count =
        ProcessInfo.processInfo.environment["COFFER_FLIPS"].flatMap { Int($0) } ?? (Sanitizer.isOn ? 40 : 200)

    /// The refusals that damage may lead to. The word in the state record may become another.
    private static let refusals: Set<CofferError.Code> = [.corrupt, .foreign, .unsupportedVersion]

    /// A home as it is before each flip.
    private struct Fixture {
        let home: TestHome
        let files: [String: [UInt8]]
        let infos: [FileInfo]
        let contents: [[UInt8]]

        static func make() async throws -> Fixture {
            let home = try TestHome()
            _ = try await home.create()
            let session = try await home.unlocked()
            var contents: [[UInt8]] = []
            for (name, protection) in zip(
                ["a", "b", "c", "d"],
                [ProtectionClass.whenUnlocked, .afterFirstUnlock, .whenUnlockedThisDeviceOnly, .whenUnlocked])
            {
                let content = Array("the content of \(name)".utf8)
                try home.scratch.write(FilePath(name), content)
                let id = try await session.files.add(
                    contentsOf: home.scratch.path.appending(name), class: protection)
                if name == "b" { try await session.files.remove(id) } else { contents.append(content) }
            }
            let infos = try await session.files.list()
            let rewrapped = try await session.files.rotateKeys()
            try #require(rewrapped.unreadable.isEmpty)
            return Fixture(home: home, files: try home.everything(), infos: infos, contents: contents)
        }

        /// Writes `changed` and every other file as it was.
        func restore(_ changed: String? = nil, _ bytes: [UInt8] = []) throws {
            let now = try home.everything()
            for name in now.keys where files[name] == nil {
                try FileManager.default.removeItem(atPath: home.homePath(name).string)
            }
            for (name, old) in files {
                let wanted = name == changed ? bytes : old
                if now[name] != wanted {
                    try Data(wanted).write(to: URL(filePath: home.homePath(name).string))
                }
            }
        }
    }

    /// A place in each file in turn, so that short files get as many as long ones, and in the last quarter of
    /// them places that hold something.
    private static func places(_ files: [String: [UInt8]]) -> [(name: String, offset: Int)] {
        var random = SystemRandomNumberGenerator()
        let names = files.filter { !$0.value.isEmpty }.keys.sorted()
        return (0..<count).map { number in
            let name = names[number % names.count]
            let bytes = files[name] ?? []
            let used = bytes.indices.filter { bytes[$0] != 0 }
            let isUsed = number % 4 > 0 && !used.isEmpty
            let place =
                isUsed ? used.randomElement(using: &random) : bytes.indices.randomElement(using: &random)
            return (name, place ?? 0)
        }
    }

    @Test(
        "Listing, reading and verifying succeed or are refused with a typed error", .timeLimit(.minutes(60)))
    func everyFile() async throws {
        let scene = try await Fixture.make()
        var outcomes: [String: Int] = [:]
        for (name, offset) in Self.places(scene.files) {
            var bytes = try #require(scene.files[name])
            bytes[offset] ^= 1 << UInt8.random(in: 0..<8)
            try scene.restore(name, bytes)
            let outcome = try await judge(scene, "\(name) \(offset)")
            outcomes[outcome, default: 0] += 1
            // Nothing that could be put right is destroyed: with the bit put back, everything is there.
            let containers = scene.files.keys.filter { $0.hasSuffix(".coffer") }
            let now = try scene.home.everything()
            for container in containers { #expect(now[container] != nil, "\(name) \(offset): \(container)") }
            for kept in ["vault/device", "vault/keybag"] where kept != name {
                #expect(now[kept]?.isEmpty == false, "\(name) \(offset)")
            }
        }
        try scene.restore()
        #expect(try await scene.home.unlocked().files.list() == scene.infos)
        #expect(outcomes["whole", default: 0] > 0 && outcomes["said", default: 0] > 0, "\(outcomes)")
    }

    /// Whether the damage changed nothing, or was said.
    private func judge(_ scene: Fixture, _ place: String) async throws -> String {
        let files: FileStore
        do {
            files = try await scene.home.unlocked().files
        } catch let error as CofferError {
            // The record says another word, or another vault.
            let isState = place.utf8.starts(with: "state ".utf8)
            #expect(
                Self.refusals.contains(error.code) || isState && error.code == .wiped, "\(place): \(error)")
            return "said"
        }
        var isWhole = try await list(files, scene, place)
        for (info, content) in zip(scene.infos, scene.contents) {
            let result = await attempt(place) {
                let found = try await files.withDecryptedBytes(of: info.id) { $0.copied() }
                #expect(found == content, "\(place)")
            }
            isWhole = isWhole && result
        }
        let result = await attempt(place) {
            let report = try await files.verifyAll()
            #expect(report.missing.isEmpty, "\(place)")
            #expect(report.authentic + report.corrupt.count + report.orphans.count == 3, "\(place)")
            guard report.isClean else { throw CofferError(.corrupt, "named") }
        }
        return isWhole && result ? "whole" : "said"
    }

    /// Each file is listed as it is, or named, or the list is refused.
    private func list(_ files: FileStore, _ scene: Fixture, _ place: String) async throws -> Bool {
        await attempt(place) {
            let listing = try await files.listing()
            let isDamaged = listing.isIndexDamaged || listing.isIndexBehind
            #expect(
                Set(listing.files.map(\.id)).union(listing.unlisted) == Set(scene.infos.map(\.id)), "\(place)"
            )
            for info in listing.files { #expect(scene.infos.contains(info), "\(place)") }
            guard !isDamaged else { throw CofferError(.corrupt, "named") }
            #expect(listing.files == scene.infos, "\(place)")
        }
    }

    /// Whether it succeeds; it may fail with what damage leads to alone.
    private func attempt(_ place: String, _ body: () async throws -> Void) async -> Bool {
        guard let error = await refusal(body) else { return true }
        #expect(Self.refusals.contains(error.code), "\(place): \(error)")
        return false
    }
}
