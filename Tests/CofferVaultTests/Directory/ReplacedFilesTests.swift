import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Foundation
import SystemPackage
import TestSupport
import Testing

/// Several files of a vault are replaced together or not at all, wherever it is interrupted.
@Suite("Replacing several files in one step")
struct ReplacedFilesTests {
    private static let names: [FilePath] = ["one", "two", "three"]

    /// A home whose vault has three small files.
    private final class Home {
        let scratch: ScratchDirectory
        let location: VaultLocation
        let vaultID: VaultID

        init() throws {
            scratch = try ScratchDirectory.make()
            location = VaultLocation(path: scratch.path.appending("home"))
            var options = VaultOptions()
            options.cost = .floor
            let made = try VaultDirectory.create(at: location, options: options, passcode: nil) { _, _ in }
            vaultID = made.device.vaultID
            for name in names { try write(VaultDirectory.vaultName.pushing(name), [1]) }
        }

        func directory() throws -> VaultDirectory { try VaultDirectory.openDirectory(location) }

        func write(_ path: FilePath, _ bytes: [UInt8]) throws {
            try directory().directory.replace(path, with: bytes.span)
        }

        func values() throws -> [[UInt8]] {
            let vault = try directory().openVault()
            return try names.map { try vault.open($0, .read).readAll(limit: 9) }
        }
    }

    private func next() -> [VaultDirectory.NextFile] { Self.names.map { VaultDirectory.NextFile($0, [2]) } }

    @Test("All are replaced, and the state says which release reads them")
    func replaced() throws {
        let home = try Home()
        let directory = try home.directory()
        let release = try #require(ReleaseNumber("1.4.2-dev"))
        try directory.withExclusiveVault { (_) throws(CofferError) in
            try directory.replaceFiles(next(), needing: release) { (_) throws(CofferError) in }
        }
        #expect(try home.values() == [[2], [2], [2]])
        let state = try #require(try directory.state())
        #expect(state.phase == .active && state.release?.description == "1.4.2")
        let left = try directory.directory.status(of: VaultDirectory.nextName)
        #expect(left == nil)
        // A wipe of the tokens, which changes the phase twice, keeps it.
        for phase in [VaultStateFile.Phase.wipingTokens, .active] {
            try VaultStateFile(phase: phase, vaultID: home.vaultID).write(in: directory.directory)
        }
        #expect(try directory.state()?.release == release)
    }

    @Test(
        "The files that were replaced are overwritten, also by the one that finishes it",
        arguments: [false, true])
    func overwritten(_ isInterrupted: Bool) throws {
        let home = try Home()
        let directory = try home.directory()
        let former = try directory.openVault().open("one", .read)
        if isInterrupted {
            try directory.directory.makeDirectory(VaultDirectory.nextName)
            for name in Self.names { try home.write(VaultDirectory.nextName.pushing(name), [2]) }
            try VaultStateFile(phase: .replacing, vaultID: home.vaultID).write(in: directory.directory)
            #expect(try home.values() == [[2], [2], [2]])
        } else {
            try directory.withExclusiveVault { (_) throws(CofferError) in
                try directory.replaceFiles(next(), needing: nil) { (_) throws(CofferError) in }
            }
        }
        let bytes = try former.readAll(limit: 9)
        #expect(bytes == [0])
    }

    @Test("Files that a killed process had discarded are overwritten and removed by the next")
    func discarded() throws {
        let home = try Home()
        let directory = try home.directory()
        try directory.directory.makeDirectory(VaultDirectory.discardedName)
        try home.write(VaultDirectory.discardedName.pushing(".former-one"), [1])
        let former = try directory.directory.open(
            VaultDirectory.discardedName.pushing(".former-one"), .read)
        try directory.withExclusiveVault { (_) throws(CofferError) in }
        let bytes = try former.readAll(limit: 9)
        #expect(bytes == [0])
        let left = try directory.directory.status(of: VaultDirectory.discardedName)
        #expect(left == nil)
        #expect(try home.values() == [[1], [1], [1]])
    }

    @Test("Files that are not as they should be replace nothing")
    func refused() throws {
        let home = try Home()
        let directory = try home.directory()
        let error = #expect(throws: CofferError.self) {
            try directory.withExclusiveVault { (_) throws(CofferError) in
                try directory.replaceFiles(next(), needing: nil) { (_) throws(CofferError) in
                    throw CofferError(.corrupt, "no")
                }
            }
        }
        #expect(error?.code == .corrupt)
        #expect(try home.values() == [[1], [1], [1]])
        let left = try directory.directory.status(of: VaultDirectory.nextName)
        #expect(left == nil)
    }

    @Test("Before the switch the old files count, after it the new ones", arguments: 0...3, [false, true])
    func interrupted(_ moved: Int, _ isSwitched: Bool) throws {
        let home = try Home()
        let opened = try home.directory()
        try opened.directory.makeDirectory(VaultDirectory.nextName)
        for (number, name) in Self.names.enumerated() {
            // Nothing is moved before the switch; then, some may not be there yet.
            let isMoved = isSwitched && number < moved
            guard isSwitched || number < moved else { continue }
            let folder = isMoved ? VaultDirectory.vaultName : VaultDirectory.nextName
            try home.write(folder.pushing(name), [2])
        }
        if isSwitched {
            try VaultStateFile(phase: .replacing, vaultID: home.vaultID).write(in: opened.directory)
        }
        let expected: [[UInt8]] = Self.names.map { _ in isSwitched ? [2] : [1] }
        #expect(try home.values() == expected)
        try home.directory().withExclusiveVault { (_) throws(CofferError) in }
        #expect(try home.values() == expected)
        #expect(try home.directory().state()?.phase == .active)
        let left = try opened.directory.status(of: VaultDirectory.nextName)
        #expect(left == nil)
    }

    @Test("A switch without its files is damage, and changes nothing")
    func missing() throws {
        let home = try Home()
        let directory = try home.directory()
        try VaultStateFile(phase: .replacing, vaultID: home.vaultID).write(in: directory.directory)
        let error = #expect(throws: CofferError.self) { _ = try directory.openVault() }
        #expect(error?.code == .corrupt && error?.remedy == .restoreOrWipeVault)
        #expect(try directory.state()?.phase == .replacing)
    }

    @Test("A switched vault is of a version that earlier releases refuse, and says which release reads it")
    func versions() throws {
        let home = try Home()
        let opened = try home.directory()
        let release = try #require(ReleaseNumber("2.0.1"))
        try VaultStateFile(phase: .replacing, vaultID: home.vaultID, release: release).write(
            in: opened.directory)
        let file = try opened.directory.open(VaultStateFile.fileName, .readWrite)
        let head = try Array(file.readAll(limit: 512)[8..<16])
        #expect(head == [0, 2, 0, 2, 0, 0, 0, 1])
        let newer: [UInt8] = [0, 3]
        try file.write(newer.span, at: 8)
        let error = #expect(throws: CofferError.self) { _ = try VaultStateFile.read(in: opened.directory) }
        #expect(error?.code == .unsupportedVersion && error?.message.contains("Release 2.0.1") == true)
        // The phase and the version belong together.
        let first: [UInt8] = [0, 1]
        try file.write(first.span, at: 8)
        let other = #expect(throws: CofferError.self) { _ = try VaultStateFile.read(in: opened.directory) }
        #expect(other?.code == .corrupt)
    }

    @Test("A number of a release is read strictly")
    func numbers() {
        for text in ["", "1", "1.2", "1.2.3.4", "1..2", "a.b.c", "1.2.70000", "0.0.0"] {
            #expect(ReleaseNumber(text) == nil, "\(text)")
        }
        #expect(ReleaseNumber("0.2.0-dev")?.description == "0.2.0")
        #expect(ReleaseNumber.current != nil)
    }
}
