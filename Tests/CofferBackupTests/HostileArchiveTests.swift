import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import CofferBackup

/// Archives that someone who knows the recipient made.
@Suite("Hostile archives", .timeLimit(.minutes(10)))
struct HostileArchiveTests {
    private let scene: BackupScene

    init() throws { scene = try BackupScene() }

    /// Encrypts an archive for the scene's identity.
    private func seal(_ archive: [UInt8]) throws {
        let file = try Descriptor.open(scene.path, [.readWrite, .create])
        try file.truncate(to: 0)
        var writer = try AgeWriter.start(to: [scene.identity.recipient]) { (bytes) throws(CofferError) in
            try file.append(bytes)
        }
        try writer.write(archive.span) { (bytes) throws(CofferError) in try file.append(bytes) }
        try writer.finish { (bytes) throws(CofferError) in try file.append(bytes) }
    }

    private func isRefused(_ archive: [UInt8]) async throws -> Bool {
        try seal(archive)
        do {
            _ = try await VaultBackup.contents(at: scene.path, with: scene.opening)
            return false
        } catch {
            return error.code == .corrupt
        }
    }

    private static func entry(_ path: String, _ content: [UInt8]) -> [UInt8] {
        TarHeader(path, size: Int64(content.count), modified: 0).encoded + content
            + [UInt8](repeating: 0, count: TarHeader.padding(after: Int64(content.count)))
    }

    private static let manifest = Array(
        """
        {"counts":{"databases":0,"deviceDatabases":0,"deviceFiles":0,"deviceTokens":0,"files":0,"tokens":0},\
        "format":1,"release":"0","reserved":0,"time":0,"vault":"00000000-0000-4000-8000-000000000000"}
        """.utf8)

    /// Returns an archive with a right list of its entries.
    private static func archive(_ entries: [(String, [UInt8])]) throws -> [UInt8] {
        var archive: [UInt8] = []
        var lines: [String] = []
        for (path, content) in entries {
            archive += entry(path, content)
            let digest = HexText.encode(try Digest.sha256.hash(content.span))
            lines.append("\n{\"path\":\"\(path)\",\"size\":\(content.count),\"sha256\":\"\(digest)\"}")
        }
        let list = "{\"format\":1,\"entries\":[" + lines.joined(separator: ",") + "\n]}\n"
        return archive + entry("complete.json", Array(list.utf8)) + [UInt8](repeating: 0, count: 1024)
    }

    @Test("An archive as Coffer writes it is read, and one without its end, its list or its start is not")
    func whole() async throws {
        let good = try Self.archive([("manifest.json", Self.manifest), ("tokens/0000001.json", [0x7B])])
        #expect(try await !isRefused(good))
        for cut in stride(from: 0, to: good.count, by: 512) {
            #expect(try await isRefused(Array(good[..<cut])), "\(cut)")
        }
        #expect(try await isRefused(good + [UInt8](repeating: 0, count: 512)))
        #expect(try await isRefused(Self.archive([])))
        #expect(try await isRefused(Self.archive([("tokens/0000001.json", [1])])))
    }

    @Test(
        "Names other than the format's are refused: traversal, absolute, unknown, and other spellings",
        arguments: [
            "../x", "/etc/passwd", "tokens/../../x", "./tokens/0000001.json", "tokens/1.json", "x",
            "tokens/0000001.json/", "tokens//0000001.json", "tokens/-000001.json", "tokens/+000001.json",
            "files/x/content", "files/AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA/content",
            "files/aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa/other", "databases/evil-x.sqlite",
            "databases/user-../x.sqlite", "databases/user-.x.sqlite", "device/tokens/00",
            "device/keybag", "complete.json.", "Manifest.json",
        ])
    func names(_ name: String) async throws {
        #expect(try await isRefused(Self.archive([("manifest.json", Self.manifest), (name, [1])])))
    }

    @Test("Entries twice or out of order are refused")
    func order() async throws {
        let (one, two) = ("tokens/0000001.json", "tokens/0000002.json")
        for names in [[one, one], [two, one], ["omitted.json", one], ["manifest.json"]] {
            let entries = [("manifest.json", Self.manifest)] + names.map { ($0, [UInt8(1)]) }
            #expect(try await isRefused(Self.archive(entries)), "\(names)")
        }
    }

    @Test("A size or a hash that is not the content's is refused")
    func lies() async throws {
        let good = try Self.archive([("manifest.json", Self.manifest), ("tokens/0000001.json", [1, 2, 3])])
        let place = 512 + 512 + TarHeader.padding(after: 512) + 512
        var changed = good
        changed[place] ^= 1
        #expect(try await isRefused(changed))
        for size in [Int64(0), 2, 4, 512, 1 << 32] {
            var lying = good
            let header = TarHeader("tokens/0000001.json", size: size, modified: 0).encoded
            lying.replaceSubrange(1024..<1536, with: header)
            #expect(try await isRefused(lying), "\(size)")
        }
    }

    @Test("Content that is not in the format changes nothing, and is counted as impossible")
    func content() async throws {
        let vault = try await scene.create()
        let id = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
        let other = "aaaaaaaa-aaaa-4aaa-8aaa-bbbbbbbbbbbb"
        let name = String(repeating: "n", count: 256)
        let longName = "{\"class\":\"whenUnlocked\",\"modified\":0,\"name\":\"\(name)\",\"size\":3}\n"
        let token = { (fields: String) in Array("{\(fields),\"value\":\"eA==\"}\n".utf8) }
        let rest = "\"account\":\"\",\"attributes\":{},\"kind\":\"access\",\"scopes\":[],\"stored\":0"
        let archive = try Self.archive([
            ("manifest.json", Self.manifest),
            (
                "tokens/0000001.json",
                token("\(rest),\"service\":\"oauth-profile:x\",\"class\":\"whenUnlocked\"")
            ),
            ("tokens/0000002.json", token("\(rest),\"service\":\"coffer.soups\",\"class\":\"whenUnlocked\"")),
            (
                "tokens/0000003.json",
                token("\(rest),\"service\":\"s\",\"class\":\"whenUnlockedThisDeviceOnly\"")
            ),
            ("tokens/0000004.json", Array("no JSON".utf8)),
            ("tokens/0000005.json", token("\(rest),\"service\":\"s\",\"class\":\"whenUnlocked\"")),
            ("files/\(id)/content", [1, 2, 3]),
            ("files/\(other)/meta.json", Array(longName.utf8)),
            ("files/\(other)/content", [1, 2, 3]),
            ("databases/user-x.json", Array("{\"class\":\"whenUnlocked\"}\n".utf8)),
            ("databases/user-x.sqlite", [UInt8](repeating: 7, count: 8192)),
            ("device/tokens/" + String(repeating: "00", count: 32), [1]),
        ])
        try seal(archive)
        let report = try await scene.restore(vault)
        #expect(report.added == 1 && report.impossible == 8 && report.total == 9, "\(report)")
        #expect(try await vault.tokens.list().map(\.id.service) == ["s"])
        #expect(try await vault.files.count() == 0)
        let newer = Self.manifest.map { $0 }
        let text = String(decoding: newer, as: UTF8.self).replacingOccurrences(
            of: "\"format\":1", with: "\"format\":2")
        try seal(Self.archive([("manifest.json", Array(text.utf8))]))
        #expect(
            await BackupScene.code { _ = try await scene.restore(vault) } == .unsupportedVersion)
    }
}
