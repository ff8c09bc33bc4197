import CofferDatabase
import CofferEngineSQLite
import Foundation
import GRDB
import SystemPackage
import Testing
import TestSupport

/// Tests which databases a connection may attach, and that our reading of a name is SQLite's own.
@Suite("Attached databases")
struct AttachRuleTests {
    private static let accent = "\u{301}"

    @Test(
        "An accent behind a mark hides nothing: no plaintext database is written",
        arguments: [
            "ATTACH 'file:PATH?\(accent)&vfs=unix' AS x; CREATE TABLE x.t AS SELECT 'plain text canary'",
            "ATTACH 'file:PATH?\(accent)=1&vfs=unix' AS x; CREATE TABLE x.t AS SELECT 'plain text canary'",
            "ATTACH 'file:PATH?a=\(accent)&\(accent)b=1&vfs=unix' AS x",
            "ATTACH 'file:\(accent)?vfs=unix' AS x",
            "VACUUM INTO 'file:PATH?\(accent)&vfs=unix'", "VACUUM INTO 'file:PATH?\(accent)=&vfs=unix-none'",
            "VACUUM INTO 'file:PATH?x=\(accent)&vfs=coffer&vfs=unix'",
        ])
    func accents(_ template: String) throws {
        let scene = try DatabaseFixture()
        let queue = try scene.queue()
        try queue.write { _ = try fill($0, count: 10) }
        let outside = scene.scratch.path.appending("outside.db").string
        let statement = template.replacingOccurrences(of: "PATH", with: outside)
        #expect(throws: DatabaseError.self) {
            try queue.writeWithoutTransaction { try $0.execute(sql: statement) }
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path.string)
        #expect(names.filter { !$0.hasPrefix("test.db") }.isEmpty, "\(names)")
    }

    @Test("One vfs, ours and spelt out, and nothing that is not understood")
    func rule() {
        func allows(_ name: String) -> Bool { AttachRule.allows(Array(name.utf8)) }
        let token = "kref=" + String(repeating: "0a", count: 16)
        for name in [
            "", ":memory:", "/a/b", "plain?vfs=unix", "FILE:/a?vfs=unix", "file:/a?vfs=coffer",
            "file:/a?vfs=coffer&\(token)", "file:///a%20b?\(token)&vfs=coffer&mode=ro",
            "file:a?vfs=coffer&cache=private",
            "file://localhost/a%3fvfs=unix?vfs=coffer", "file:/a?immutable=1&vfs=coffer&nolock=1&psow=0",
        ] { #expect(allows(name), "\(name)") }
        for name in [
            "file:", "file:/a", "file:/a?", "file:/a?\(token)", "file:/a?vfs=unix", "file:/a?vfs=coffer2",
            "file:/a?vfs=cofFer", "file:/a?Vfs=coffer", "file:/a?vfs=", "file:/a?vfs",
            "file:/a?vfs=coffer&vfs=coffer",
            "file:/a?vfs=coffer&vfs=unix", "file:/a?vfs=unix&vfs=coffer", "file:/a?vfs=coffer&%76fs=unix",
            "file:/a?vfs=coffer%00&vfs=unix", "file:/a%00?vfs=coffer", "file:/a?vfs=coffer#&vfs=unix",
            "file:/a#?vfs=coffer", "file://host/a?vfs=coffer", "file://Localhost/a?vfs=coffer",
            "file:/a?vfs=coffer&", "file:/a?&vfs=coffer", "file:/a?=x&vfs=coffer", "file:/a?vfs=coffer&x",
            "file:/a?vfs=coffer&modeof=/etc/passwd", "file:/a?vfs=coffer&mode=ro&mode=rwc",
            "file:/a?vfs=coffer&\(token)&\(token)", "file:/a?vfs=coffer\(Self.accent)",
            "file:/a?\(Self.accent)vfs=coffer", "file:/a?vfs=coffer&mode=%72wc",
        ] { #expect(!allows(name), "\(name)") }
        // Bytes that are no text.
        #expect(!AttachRule.allows(Array("file:/a?vfs=coffer&".utf8) + [0xff, 0xcc] + Array("=1".utf8)))
        #expect(AttachRule.allows(Array("file:/".utf8) + [0xff] + Array("?vfs=coffer".utf8)))
    }

    /// 20 000 names here; as many as COFFER_NAMES says by hand.
    private static let count =
        ProcessInfo.processInfo.environment["COFFER_NAMES"].flatMap { Int($0) } ?? 20_000

    @Test("SQLite opens of any name what we read in it, and through no other VFS what we allow")
    func againstSQLite() throws {
        var names = NameGenerator(seed: 20_261_122)
        var (files, elsewhere, allowed, refused) = (0, 0, 0, 0)
        for _ in 0..<Self.count {
            let name = names.next()
            let reading = DatabaseURI.read(name)
            let isAllowed = AttachRule.allows(name, vfs: NameProbe.own)
            switch NameProbe.open(name) {
            case .file(let vfs, let opened):
                files += 1
                try #require(Self.uri(reading, name) == opened, "\(Self.text(name))")
                let wanted = opened.values(of: "vfs").last.map { String(decoding: $0, as: UTF8.self) }
                try #require(vfs == wanted ?? NameProbe.own, "\(Self.text(name))")
                if vfs != NameProbe.own {
                    elsewhere += 1
                    try #require(!isAllowed, "\(Self.text(name))")
                } else if isAllowed {
                    allowed += 1
                }
            case .nothing:
                let uri = Self.uri(reading, name)
                let mode = uri?.values(of: "mode").last
                try #require(
                    uri?.path.isEmpty == true || uri?.path == Array(":memory:".utf8)
                        || mode == Array("memory".utf8), "\(Self.text(name))")
            case .refused:
                refused += 1
            }
            if reading == .refused { try #require(NameProbe.open(name) == .refused, "\(Self.text(name))") }
        }
        // Each kind was among them, so that nothing passed for want of a case.
        for number in [files, elsewhere, allowed, refused] { #expect(number > Self.count / 100) }
    }

    /// Returns what SQLite is expected to open.
    private static func uri(_ reading: DatabaseURI.Reading, _ name: [UInt8]) -> DatabaseURI? {
        switch reading {
        case .path: DatabaseURI(path: name, parameters: [])
        case .uri(let uri): uri
        case .refused: nil
        }
    }

    private static func text(_ name: [UInt8]) -> String {
        String(decoding: name, as: UTF8.self).debugDescription
    }
}

/// Generates database names with characters that are special to SQLite or Unicode, and ordinary ones.
struct NameGenerator {
    private var source: SplitMix

    init(seed: UInt64) { source = SplitMix(state: seed) }

    private static let pieces: [[UInt8]] =
        [
            "?", "?", "&", "&", "=", "#", "%", "%00", "%26", "%3f", "%3D", "%23", "%2", "%zz", "%C3%A9",
            "vfs",
            "vfs=probe-own", "vfs=probe-other", "vfs=probe-other", "%76fs=probe-other", "Vfs=probe-other",
            "vfs=none", "vfs=", "kref=1", "mode=ro", "mode=memory", "mode=x", "cache=shared", "cache=private",
            "nolock=1", "a", "b", "/", "//", "\u{301}", "\u{338}", "e\u{301}", "\u{37e}", "\u{200d}", " ",
            "+",
            "file:", ":memory:", "localhost", "\"", "'", ";",
        ].map { Array($0.utf8) } + [[0xff], [0xcc], [0x81], [0xc0, 0xbf], [0xed, 0xa0, 0x80]]

    private static let starts = [
        "file:", "file:", "file:", "file:", "file:/x", "file:/x?", "file:/x?vfs=probe-own", "file:///x",
        "file://localhost/x", "file://LOCALHOST/x", "file://h/x", "file:\u{301}", "FILE:", "fil", "/x", "",
        "file:x?vfs=probe-own&", "file:x?mode=ro&vfs=probe-other",
    ].map { Array($0.utf8) }

    mutating func next() -> [UInt8] {
        var name = Self.starts[Int.random(in: 0..<Self.starts.count, using: &source)]
        for _ in 0..<Int.random(in: 0...9, using: &source) {
            if Int.random(in: 0..<12, using: &source) == 0 {
                name.append(.random(in: 1...255, using: &source))
            } else {
                name += Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &source)]
            }
        }
        return name
    }
}
