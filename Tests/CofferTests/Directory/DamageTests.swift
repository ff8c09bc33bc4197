import Coffer
import CofferBase
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Damaged homes throw a typed error and stay as they are")
struct DamageTests {
    private static let files = ["device", "keybag", "attempts", "tokens"]

    /// Does everything that reads the home; gives the first error.
    private func use(_ home: TestHome) async -> CofferError? {
        await refusal {
            let session = try await home.unlocked("correct horse")
            _ = try await session.tokens.list()
            _ = try await session.files.list()
        }
    }

    @Test("A missing file makes the home corrupt and is not created again", arguments: files)
    func aMissingFileIsCorruptAndNotMadeAnew(name: String) async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        try home.remove(name)
        let before = try home.everything()
        #expect(await use(home)?.code == .corrupt)
        #expect(await refusal { _ = try await home.create("new") }?.code == .alreadyExists)
        #expect(try withoutAttempts(home.everything()) == withoutAttempts(before))
    }

    /// Unlocking counts, so that the counter changes where the damage shows later.
    private func withoutAttempts(_ files: [String: [UInt8]]) -> [String: [UInt8]] {
        files.filter { $0.key != "vault/attempts" }
    }

    @Test("A missing state record makes the home corrupt")
    func aMissingStateIsCorrupt() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        try FileManager.default.removeItem(atPath: home.homePath("state").string)
        let before = try home.everything()
        #expect(await use(home)?.code == .corrupt)
        #expect(await refusal { _ = try await home.create("new") }?.code == .alreadyExists)
        #expect(try home.everything() == before)
    }

    @Test("A missing file store is corrupt and is not created again")
    func aMissingStoreOfFilesIsCorrupt() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        try home.remove("files")
        let session = try await home.unlocked("correct horse")
        #expect(await refusal { _ = try await session.files.list() }?.code == .corrupt)
        let id = try FileID("00000000-0000-4000-8000-000000000000")
        #expect(await refusal { _ = try await session.files.remove(id) }?.code == .corrupt)
        let source = FilePath("/etc/passwd")
        #expect(await refusal { _ = try await session.files.add(contentsOf: source) }?.code == .corrupt)
        #expect(!FileManager.default.fileExists(atPath: home.path("files").string))
    }

    @Test("An empty, truncated or longer file is corrupt and stays as it is", arguments: files)
    func anEmptyOrCutOrLongerFileIsCorrupt(name: String) async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let good = try home.read(name)
        for damaged in [[], Array(good.dropLast()), Array(good.prefix(good.count / 2)), good + [0]] {
            try home.write(name, damaged)
            #expect(await use(home)?.code == .corrupt, "\(damaged.count) of \(good.count) bytes")
            #expect(try home.read(name) == damaged)
        }
        try home.write(name, good)
        #expect(await use(home) == nil)
    }

    @Test("A directory in a file's place is refused", arguments: files)
    func aDirectoryInAFilesPlaceIsRefused(name: String) async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        try home.remove(name)
        try FileManager.default.createDirectory(
            atPath: home.path(name).string, withIntermediateDirectories: false)
        let code = await use(home)?.code
        #expect(code == .corrupt || code == .refused)
    }

    /// A pipe must not block a program that opens the vault.
    @Test(
        "A pipe in a file's place is refused and does not block the caller",
        .timeLimit(.minutes(10)), arguments: files)
    func aPipeInAFilesPlaceIsRefused(name: String) async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        try home.remove(name)
        #expect(try Helper.run(["mkfifo", "-m", "600", home.path(name).string]).code == 0)
        let code = await use(home)?.code
        #expect(code == .corrupt || code == .refused)
    }

    @Test("A symbolic link in a file's place is refused", arguments: files)
    func aSymbolicLinkInAFilesPlaceIsRefused(name: String) async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        try FileManager.default.moveItem(
            atPath: home.path(name).string, toPath: home.scratch.path(of: "moved"))
        try FileManager.default.createSymbolicLink(
            atPath: home.path(name).string, withDestinationPath: home.scratch.path(of: "moved"))
        #expect(await use(home)?.code == .corrupt)
    }

    @Test("A flipped bit in any byte of the device record is refused")
    func everyFlippedByteOfTheDeviceRecordIsRefused() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let good = try home.read("device")
        for offset in good.indices {
            var damaged = good
            damaged[offset] ^= 1 << UInt8(offset % 8)
            try home.write("device", damaged)
            let code = await refusal { _ = try await home.open() }?.code
            #expect(
                code == .corrupt || code == .unsupportedVersion && offset == 8 || offset == 9,
                "byte \(offset)")
        }
    }

    /// Zeros after a cut power line, and every byte of the state record that means something.
    @Test("A zeroed, resized or altered state record is refused")
    func aDamagedStateIsRefused() async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let path = URL(filePath: home.homePath("state").string)
        let good = [UInt8](try Data(contentsOf: path))
        for damaged in [[UInt8](repeating: 0, count: 512), Array(good.prefix(31)), good + good] {
            try Data(damaged).write(to: path)
            #expect(await use(home)?.code == .corrupt)
        }
        for offset in Array(0..<10) + Array(32..<40) {
            var damaged = good
            damaged[offset] ^= 1 << UInt8(offset % 8)
            try Data(damaged).write(to: path)
            let code = await use(home)?.code
            #expect(code == .corrupt || code == .unsupportedVersion, "byte \(offset)")
        }
    }

    @Test(
        "A file of another vault is foreign",
        arguments: [("keybag", CofferError.Code.foreign), ("attempts", .foreign), ("tokens", .foreign)])
    func aFileOfAnotherVaultIsForeign(name: String, code: CofferError.Code) async throws {
        let home = try TestHome()
        _ = try await home.create("correct horse")
        let other = try TestHome()
        _ = try await other.create("correct horse")
        try home.write(name, other.read(name))
        let before = try home.everything()
        #expect(await use(home)?.code == code)
        #expect(try withoutAttempts(home.everything()) == withoutAttempts(before))
    }
}
