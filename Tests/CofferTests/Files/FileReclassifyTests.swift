@testable import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Giving files another class")
struct FileReclassifyTests {
    private static let passcode = "correct horse"

    private func passcode() throws -> Passcode { try Passcode(copying: Self.passcode) }

    private func read(_ vault: Vault, _ id: FileID, context: [UInt8] = []) async throws -> [UInt8] {
        try await vault.files.withDecryptedBytes(of: id, context: context) { $0.copied() }
    }

    @Test("The content, name and date stay; the index and the container agree on the class")
    func changed() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        var ids: [FileID] = []
        for number in 0..<3 { ids.append(try await vault.files.add([UInt8(number)], name: "old")) }
        try await vault.files.rename(ids[0], to: "new")
        let before = try await vault.files.list()
        #expect(await refusal { _ = try await vault.files.reclassify(to: .whenUnlocked) }?.code == .locked)
        #expect(try await vault.files.list() == before)
        let report = try await vault.files.reclassify(to: .whenUnlocked, passcode: passcode())
        #expect(report.changed == 3 && report.kept.isEmpty)
        let other = try await home.unlocked(Self.passcode)
        let after = try await other.files.list()
        #expect(after.map(\.protection) == [.whenUnlocked, .whenUnlocked, .whenUnlocked])
        #expect(after.map(\.name) == before.map(\.name) && after.map(\.modified) == before.map(\.modified))
        for (number, id) in ids.enumerated() {
            #expect(try await read(other, id) == [UInt8(number)])
            #expect(try await other.files.info(for: id).protection == .whenUnlocked)
        }
        #expect(try await vault.files.reclassify(to: .whenUnlocked).unchanged == 3)
        // To a class that protects more, without the passcode.
        #expect(try await vault.files.reclassify([ids[1]], to: .whenUnlockedThisDeviceOnly).changed == 1)
        #expect(try await read(other, ids[1]) == [1])
        #expect(try await other.files.reindex().isEmpty)
        #expect(try await other.files.info(for: ids[0]).name == "new")
    }

    @Test("Files that cannot change say why")
    func obstacles() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let bound = try await vault.files.add([1], name: "bound", context: [7])
        let session = try await vault.files.add([2], name: "session", isVolatile: true)
        let passcoded = try await vault.files.add([3], name: "p", class: .whenPasscodeSetThisDeviceOnly)
        let damaged = try await vault.files.add([4], name: "damaged")
        let name = "files/\(damaged).coffer"
        var bytes = try home.read(name)
        for offset in [500, 2548] { bytes[offset] ^= 1 }
        try home.write(name, bytes)
        let report = try await vault.files.reclassify(to: .whenUnlocked, passcode: passcode())
        let reasons = Dictionary(uniqueKeysWithValues: report.kept.map { ($0.item, $0.reason) })
        #expect(report.changed == 0)
        #expect(
            reasons == [
                bound: .contextBound, session: .sessionOnly, passcoded: .passcodeDependent,
                damaged: .unreadable,
            ])
        let withContext = try await vault.files.reclassify(
            [bound], to: .whenUnlocked, context: [7], passcode: passcode())
        #expect(withContext.changed == 1)
        #expect(try await read(vault, bound, context: [7]) == [1])
        let missing = try FileID.random()
        let absent = await refusal {
            _ = try await vault.files.reclassify([missing], to: .whenUnlocked, passcode: passcode())
        }
        #expect(absent?.code == .absent)
    }

    @Test("A change that a crash left half done is completed by the next reader")
    func interrupted() async throws {
        let home = try TestHome()
        let vault = try await home.create(Self.passcode)
        let id = try await vault.files.add([1, 2, 3], name: "f", class: .afterFirstUnlock)
        let name = "files/\(id).coffer"
        let before = try home.read(name)
        #expect(try await vault.files.reclassify([id], to: .whenUnlocked).changed == 1)
        let after = try home.read(name)
        // The index has the new class, and the container the old one.
        try home.write(name, before)
        vault.lock()
        #expect(await refusal { _ = try await read(vault, id) }?.code == .locked)
        #expect(try home.read(name) == before)
        let other = try await home.unlocked(Self.passcode)
        #expect(try await read(other, id) == [1, 2, 3])
        #expect(try home.read(name) != before)
        #expect(try await other.files.info(for: id).protection == .whenUnlocked)
        try home.write(name, after)
        #expect(try await read(other, id) == [1, 2, 3])
    }

    @Test("A file that another program put there is not made this vault's by a change of its class")
    func foreign() async throws {
        let home = try TestHome()
        let vault = try await home.create()
        let id = try await vault.files.add([1], name: "f")
        let name = "files/\(id).coffer"
        let bytes = try home.read(name)
        #expect(try await vault.files.remove(id))
        try home.write(name, bytes)
        let report = try await vault.files.reclassify(to: .whenUnlocked)
        #expect(report.changed == 0 && report.kept.map(\.reason) == [.unreadable])
        #expect(try home.read(name) == bytes)
    }
}
