import Coffer
import CofferBase
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Guarantees of classes and items")
struct ClassAssuranceTests {
    private var nothing: LockTriggers {
        var sources = LockTriggers()
        sources.sessionBus = nil
        sources.systemBus = nil
        return sources
    }

    private func strengths(
        _ protection: ProtectionClass, of session: Vault
    ) async throws -> [ClassAssurance.Promise: ClassAssurance.Strength] {
        let guarantees = try await session.assurances(of: protection, triggers: nothing)
        #expect(guarantees.map(\.promise) == ClassAssurance.Promise.allCases)
        #expect(guarantees.allSatisfy { !$0.reason.isEmpty })
        // What is less than cryptographic says what to do, unless it was asked for.
        for guarantee in guarantees where guarantee.strength == .advisory { #expect(guarantee.remedy != nil) }
        return Dictionary(uniqueKeysWithValues: guarantees.map { ($0.promise, $0.strength) })
    }

    @Test("Each class of a vault with a passcode has its documented guarantees")
    func withAPasscode() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        session.close()
        typealias Row = [ClassAssurance.Promise: ClassAssurance.Strength]
        let table: [ProtectionClass: Row] = [
            .whenPasscodeSetThisDeviceOnly: [
                .passcode: .cryptographic, .lock: .cryptographic, .thisDevice: .advisory,
                .lockSources: .advisory,
            ],
            .whenUnlockedThisDeviceOnly: [
                .passcode: .cryptographic, .lock: .cryptographic, .thisDevice: .advisory,
                .lockSources: .advisory,
            ],
            .whenUnlocked: [
                .passcode: .cryptographic, .lock: .cryptographic, .thisDevice: .absent,
                .lockSources: .advisory,
            ],
            .afterFirstUnlockThisDeviceOnly: [
                .passcode: .cryptographic, .lock: .absent, .thisDevice: .advisory, .lockSources: .absent,
            ],
            .afterFirstUnlock: [
                .passcode: .cryptographic, .lock: .absent, .thisDevice: .absent, .lockSources: .absent,
            ],
        ]
        #expect(table.count == ProtectionClass.allCases.count)
        for (protection, row) in table {
            #expect(try await strengths(protection, of: session) == row, "\(protection)")
        }
    }

    @Test("A missing passcode or one of digits weakens the guarantees")
    func withoutOneAndWithDigits() async throws {
        let home = try TestHome()
        let options = TestHome.options { $0.inactivity = nil }
        let open = try await strengths(
            .whenUnlockedThisDeviceOnly, of: try await home.create(options: options))
        #expect(open[.passcode] == .absent && open[.lock] == .advisory && open[.lockSources] == .absent)
        let other = try TestHome()
        let digits = TestHome.options { $0.policy = .digits }
        let guessable = try await strengths(
            .whenPasscodeSetThisDeviceOnly, of: try await other.create("2468", options: digits))
        #expect(guessable[.passcode] == .advisory)
    }

    @Test("A closed vault still reports the guarantees of one item")
    func ofOneItemAlsoWhileLocked() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let id = try TokenID(service: "api.example.org", account: "ada")
        try await session.tokens.put(Token(copying: "value"), for: id, class: .afterFirstUnlock)
        try home.scratch.write("file.txt", [1])
        let file = try await session.files.add(
            contentsOf: home.scratch.path.appending("file.txt"), class: .whenUnlocked)
        session.close()
        let token = try #require(try await session.assurances(for: id))
        #expect(token.first { $0.promise == .lock }?.strength == .absent)
        let stored = try await session.assurances(for: file)
        #expect(stored.first { $0.promise == .lock }?.strength == .cryptographic)
        #expect(stored.first { $0.promise == .thisDevice }?.strength == .absent)
        let absent = try TokenID(service: "api.example.org", account: "nobody")
        #expect(try await session.assurances(for: absent) == nil)
        #expect(
            await refusal { _ = try await session.assurances(for: FileID(uuid: UUID())) }?.code == .absent)
    }
}
