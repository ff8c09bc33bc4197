@testable import Coffer
import CofferBase
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing

@Suite("The recorded cause of an interrupted wipe")
struct WipeReasonTests {
    private static let digest = String(repeating: "5a", count: 32)
    private static let cause = WipeReason(reason: "lost on the train", orderDigest: digest)

    private func receipt(of home: TestHome) throws -> [String: Any] {
        let json = try Data(contentsOf: URL(filePath: home.homePath("receipt.json").string))
        return try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
    }

    @Test("The tombstone records reason and order first, and the final receipt has both")
    func finished() async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let inside = session.core.home
        let eraser = VaultEraser(home: inside, clock: session.core.clock, orderDigest: Self.digest)
        try eraser.writeTombstone(.wiping, session.vaultID, reason: "lost on the train")
        #expect(try inside.state()?.cause == Self.cause)
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        let receipt = try receipt(of: home)
        #expect(receipt["reason"] as? String == "lost on the train")
        #expect(receipt["orderDigest"] as? String == Self.digest)
        #expect(receipt["completesInterrupted"] as? Bool == true)
        #expect(try inside.state()?.cause == nil)
    }

    @Test("Every wipe writes its cause with the tombstone", arguments: [WipeScope.all, .tokens])
    func written(scope: WipeScope) async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let inside = session.core.home
        let seen = Mutex<WipeReason?>(nil)
        let eraser = VaultEraser(
            home: inside, clock: session.core.clock,
            report: { progress in
                guard progress.step == .tombstone else { return }
                seen.withLock { $0 = (try? inside.state())??.cause }
            }, orderDigest: Self.digest)
        let receipt = try eraser.wipe(scope, reason: "lost on the train", by: session.core)
        #expect(receipt.orderDigest == Self.digest)
        #expect(seen.withLock { $0 } == Self.cause)
    }

    @Test("A torn or damaged cause is ignored, and the wipe is finished nevertheless", arguments: 0..<8)
    func torn(place: Int) async throws {
        let home = try TestHome()
        let session = try await home.create("correct horse")
        let inside = session.core.home
        try VaultStateFile(phase: .wiping, vaultID: session.vaultID, cause: Self.cause).write(
            in: inside.directory)
        let file = URL(filePath: home.homePath("state").string)
        var bytes = [UInt8](try Data(contentsOf: file))
        let range = 40..<40 + WipeReason.size
        if place == 0 {
            // The first half of the sector is new, the second is as it was.
            for at in 256..<512 { bytes[at] = 0 }
        } else {
            bytes[range.lowerBound + place * (range.count - 1) / 8] ^= 0x20
        }
        try Data(bytes).write(to: file)
        #expect(await refusal { _ = try await home.open() }?.code == .wiped)
        let receipt = try receipt(of: home)
        #expect(receipt["reason"] as? String == "an interrupted wipe")
        #expect(receipt["orderDigest"] == nil)
    }

    @Test("A reason of any length round-trips, truncated at a character boundary")
    func lengths() {
        for count in [0, 1, 254, 255, 256, 1000] {
            let reason = String(repeating: "x", count: count)
            let cause = WipeReason(WipeReason(reason: reason, orderDigest: nil).bytes)
            #expect(cause?.reason == String(reason.prefix(255)) && cause?.orderDigest == nil)
        }
        let cut = WipeReason(reason: String(repeating: "é", count: 200), orderDigest: Self.digest)
        #expect(cut.reason == String(repeating: "é", count: 127))
        #expect(WipeReason(cut.bytes) == cut)
        #expect(WipeReason([UInt8](repeating: 0, count: WipeReason.size)) == nil)
        #expect(WipeReason([]) == nil)
    }
}
