@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// Tokens on their way from one vault to another, and what may happen to them on it.
@Suite("Export and import of tokens")
struct TokenExportTests {
    private let passphrase: Passcode
    private let home: TestHome
    private let other: TestHome
    private let path: FilePath

    init() throws {
        passphrase = try Passcode(copying: "a passphrase of an export")
        home = try TestHome()
        other = try TestHome()
        path = home.scratch.path.appending("export")
    }

    private func id(_ number: Int) throws -> TokenID { try TokenID(service: "s\(number)", account: "a") }

    /// A vault with one token of each class, and one with everything that a token can have.
    private func filled() async throws -> Vault {
        let session = try await home.create("2468")
        for protection in ProtectionClass.allCases {
            try await session.tokens.put(
                Token(copying: "value \(protection.name)"), for: id(Int(protection.rawValue)),
                class: protection)
        }
        try await session.tokens.put(
            Token(copying: [0, 10, 255]), for: id(9), class: .whenUnlocked,
            expires: Date(timeIntervalSince1970: 2_000_000_000), scopes: ["read", "write"],
            attributes: ["colour": "blue"])
        return session
    }

    private func export(_ session: Vault, only: [TokenID]? = nil) async throws -> TokenExportReport {
        try await session.tokens.export(to: path, passphrase: passphrase, only: only, cost: .floor)
    }

    private func take(
        _ session: Vault, _ passphrase: Passcode? = nil, replacing: Bool = false
    ) async throws -> TokenImportReport {
        try await session.tokens.importTokens(
            from: path, passphrase: passphrase ?? self.passphrase, replacing: replacing)
    }

    private func value(_ number: Int, in session: Vault) async throws -> [UInt8]? {
        try await session.tokens.withToken(for: id(number)) { token, _ in token.exposing { $0.copied() } }
    }

    private func bytes() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path.string))) }

    private func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: path.string)) }

    @Test("An export and import carry over every movable token with its metadata")
    func whatMayMoveMovesWithAllThatIsKnownOfIt() async throws {
        let session = try await filled()
        try await session.tokens.put(
            Token(copying: "volatile"), for: id(20), class: .whenUnlocked, isEphemeral: true)
        // Databases stay, and so do their keys.
        try await session.tokens.putReserved(
            Token(copying: "key"), for: DatabaseKeyNaming.id("user", "notes"), class: .whenUnlocked)
        #expect(try await export(session) == TokenExportReport(exported: 3, thisDeviceOnly: 3, corrupt: []))
        let status = try FileManager.default.attributesOfItem(atPath: path.string)
        #expect(status[.posixPermissions] as? Int == 0o600)
        let target = try await other.create("1357")
        try await target.tokens.put(Token(copying: "own"), for: id(30))
        #expect(try await take(target) == TokenImportReport(imported: 3, replaced: 0, same: 0, conflicts: []))
        #expect(try await value(4, in: target) == Array("value whenUnlocked".utf8))
        #expect(try await value(9, in: target) == [0, 10, 255])
        let info = try #require(try await target.tokens.info(for: id(9)))
        let before = try #require(try await session.tokens.info(for: id(9)))
        #expect(info.protection == .whenUnlocked && info.expires == before.expires && info.version == 1)
        #expect(info.scopes == before.scopes && info.attributes == before.attributes)
        // The other classes stayed, and so did what was there.
        for number in 1...3 { #expect(try await target.tokens.info(for: id(number)) == nil) }
        #expect(try await target.tokens.count() == 4)
        #expect(try await value(30, in: target) == Array("own".utf8))
        // Once more changes nothing.
        #expect(try await take(target) == TokenImportReport(imported: 0, replaced: 0, same: 3, conflicts: []))
        #expect(try await target.tokens.info(for: id(9))?.version == 1)
    }

    @Test("An export never contains a token bound to this device")
    func nothingOfThisDeviceOnlyIsInTheFile() async throws {
        let session = try await filled()
        _ = try await export(session)
        let file = try bytes()
        for text in ["value when", "colour", "whenUnlocked", session.vaultID.description] {
            #expect(!file.contains(Array(text.utf8)), "\(text)")
        }
        var classes: Set<ProtectionClass> = []
        try TokenExport(file, passphrase: passphrase, allowingExpensive: false).forEachToken {
            (info, _) throws(CofferError) in
            classes.insert(info.protection)
        }
        #expect(classes == [.whenUnlocked, .afterFirstUnlock])
        // Not when it is asked for by name either.
        let another = home.scratch.path.appending("another")
        for number in 1...3 {
            let error = await refusal {
                _ = try await session.tokens.export(
                    to: another, passphrase: passphrase, only: [id(4), id(number)], cost: .floor)
            }
            #expect(error?.code == .refused)
        }
        #expect(!FileManager.default.fileExists(atPath: another.string))
        // Nor from a file made to contain it.
        let record = try TokenExport.Record.encode(
            try #require(try await session.tokens.info(for: id(1))), Token(copying: "x"))
        #expect(failure { _ = try TokenExport.Record.decode(record.span) } == .corrupt)
    }

    @Test("An import reports conflicts and replaces values only on request")
    func aConflictIsSaidAndNothingIsLost() async throws {
        let session = try await filled()
        _ = try await export(session)
        let target = try await other.create()
        try await target.tokens.put(Token(copying: "mine"), for: id(4), class: .whenUnlocked)
        // The same value in another class is another thing too.
        try await target.tokens.put(Token(copying: [0, 10, 255]), for: id(9))
        let report = try await take(target)
        #expect(report.imported == 1 && report.replaced == 0 && report.same == 0)
        #expect(try Set(report.conflicts) == [id(4), id(9)])
        #expect(try await value(4, in: target) == Array("mine".utf8))
        #expect(
            try await target.tokens.info(for: id(9))?.protection == .whenUnlockedThisDeviceOnly)
        let replaced = try await take(target, replacing: true)
        #expect(replaced == TokenImportReport(imported: 0, replaced: 2, same: 1, conflicts: []))
        #expect(try await value(4, in: target) == Array("value whenUnlocked".utf8))
        #expect(try await target.tokens.info(for: id(4))?.version == 2)
    }

    @Test("An import detects every flipped byte")
    func everyFlippedByteIsFound() async throws {
        let session = try await home.create()
        try await session.tokens.put(Token(copying: "a"), for: id(1), class: .whenUnlocked)
        _ = try await export(session)
        let good = try bytes()
        let target = try await other.create()
        for position in good.indices where position < 96 || position % 7 == 0 {
            var bad = good
            bad[position] ^= 0x40
            // A cost that would take the machine's memory is not tried.
            if (32..<40).contains(position), (try? TokenExport.Header.decode(Array(bad[..<48]))) != nil {
                continue
            }
            try write(bad)
            let code = await refusal { _ = try await take(target) }?.code
            let expected: Set<CofferError.Code> =
                switch position {
                case 0..<8, 11..<16, 40..<48: [.corrupt]
                case 8..<11: [.unsupportedVersion]
                case 16..<32, 48..<80: [.wrongPasscode]
                case 32..<40: [.refused]
                default: [.corrupt]
                }
            #expect(code.map { expected.contains($0) } == true, "\(position): \(code?.name ?? "none")")
        }
        #expect(try await target.tokens.count() == 0)
    }

    @Test("An import detects truncated, moved and added records")
    func whatIsCutMovedOrAddedIsFound() async throws {
        let session = try await filled()
        _ = try await export(session)
        let good = try bytes()
        var records: [[UInt8]] = []
        var position = 80
        while position < good.count {
            let length = Int(good.span.bigEndian(UInt32.self, at: position))
            records.append(Array(good[position..<position + 4 + length]))
            position += 4 + length
        }
        #expect(records.count == 4)
        let head = Array(good[..<80])
        let (a, b, c, end) = (records[0], records[1], records[2], records[3])
        let damages: [[[UInt8]]] = [
            [], [a], [a, b, c], [a, b, end], [b, a, c, end], [a, a, b, c, end], [end], [a, b, c, end, end],
            [a, b, c, end, [0]], [a, b, c, Array(end.dropLast())], [a, b, c, [0, 0, 0, 0]],
            [a, b, c, [0xff, 0xff, 0xff, 0xff]],
        ]
        let target = try await other.create()
        for (number, damage) in damages.enumerated() {
            try write(head + damage.joined())
            #expect(await refusal { _ = try await take(target) }?.code == .corrupt, "\(number)")
        }
        for count in [0, 1, 47, 48, 79] {
            try write(Array(good[..<count]))
            #expect(await refusal { _ = try await take(target) }?.code == .corrupt, "\(count)")
        }
        #expect(try await target.tokens.count() == 0)
    }

    @Test("An import refuses a costly file unless the caller allows it")
    func aFileThatAsksForMuchMemoryIsAskedAbout() async throws {
        let session = try await filled()
        _ = try await export(session)
        let good = try bytes()
        let target = try await other.create()
        func file(_ memoryKiB: UInt32, _ passes: UInt32) -> [UInt8] {
            Array(good[..<32]) + memoryKiB.bigEndianBytes + passes.bigEndianBytes + Array(good[40...])
        }
        let costs: [(UInt32, UInt32)] = [
            (1 << 20 + 1, 2), (4 << 20, 64), (2 << 20, 64), (1 << 20, 64), (1 << 20, 5), (1 << 16 + 1, 64),
        ]
        for (memory, passes) in costs {
            try write(file(memory, passes))
            let error = await refusal { _ = try await take(target) }
            #expect(error?.code == .refused && error?.message.contains("anything in it") == true)
        }
        for (memory, passes) in [(1 << 20, 4), (1 << 16, 64), (1 << 16, 3)] {
            #expect(try TokenExport.isStandard(Argon2id.Cost(memoryKiB: memory, passes: passes)))
        }
        // Beyond all bounds also where it is allowed.
        try write(file(4 << 20 + 1, 2))
        let beyond = await refusal {
            try await target.tokens.importTokens(
                from: path, passphrase: passphrase, allowingExpensive: true)
        }
        #expect(beyond?.code == .refused && beyond?.message.contains("anything in it") == false)
        let small = try TokenExport(good, passphrase: passphrase, allowingExpensive: true)
        try small.forEachToken { (_, _) in }
        #expect(try await target.tokens.count() == 0)
    }

    @Test("An export opens only with its passphrase, which must be long enough")
    func withoutThePassphraseItDoesNotOpen() async throws {
        let session = try await filled()
        let short = try Passcode(copying: "eleven byte")
        let refused = await refusal {
            try await session.tokens.export(to: path, passphrase: short, cost: .floor)
        }
        #expect(refused?.code == .refused && !FileManager.default.fileExists(atPath: path.string))
        _ = try await export(session)
        let target = try await other.create("1357")
        for wrong in ["a passphrase of an exporT", "a passphrase of an export ", "x"] {
            let error = await refusal { _ = try await take(target, Passcode(copying: wrong)) }
            #expect(error?.code == .wrongPasscode && error?.attemptsLeft == nil)
        }
        // The vault's own count of wrong passcodes is another.
        #expect(try await target.status().attemptsLeft == AttemptRecord.limit)
    }

    @Test("A locked vault neither imports nor exports")
    func aLockedVaultTakesAndGivesNothing() async throws {
        let session = try await filled()
        _ = try await export(session)
        let before = try bytes()
        // Nothing is replaced.
        #expect(await refusal { _ = try await export(session) }?.code == .alreadyExists)
        #expect(try bytes() == before)
        let target = try await other.create("1357")
        target.lock()
        #expect(await refusal { _ = try await take(target) }?.code == .locked)
        #expect(try await target.tokens.count() == 0)
        session.lock()
        let another = home.scratch.path.appending("another")
        let locked = await refusal {
            _ = try await session.tokens.export(to: another, passphrase: passphrase, cost: .floor)
        }
        #expect(locked?.code == .locked)
        // Nothing unfinished is left either.
        let names = try FileManager.default.contentsOfDirectory(atPath: home.scratch.path.string)
        #expect(Set(names) == ["export", "home"])
    }

    @Test("A vault without movable tokens refuses to export")
    func aVaultWithNothingThatMayMoveSaysSo() async throws {
        let session = try await home.create()
        #expect(await refusal { _ = try await export(session) }?.code == .refused)
        try await session.tokens.put(Token(copying: "x"), for: id(1))
        #expect(await refusal { _ = try await export(session) }?.code == .refused)
        #expect(await refusal { _ = try await export(session, only: [id(2)]) }?.code == .absent)
        #expect(await refusal { _ = try await take(session) }?.code == .absent)
        #expect(!FileManager.default.fileExists(atPath: path.string))
    }
}
