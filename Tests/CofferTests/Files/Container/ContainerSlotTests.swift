@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("The two header slots of a container")
struct ContainerSlotTests {
    private let plaintext = ContainerFixture.plaintext(40)

    /// The slot of `bytes` with what `change` makes of it, authentic again.
    private func slot(
        _ bytes: [UInt8], _ fixture: ContainerFixture, _ change: (inout ContainerHeaderSlot) -> Void
    ) throws -> [UInt8] {
        let old = Array(bytes.prefix(ContainerHeaderSlot.size))
        let decoded = try ContainerHeaderSlot.decode(old)
        var slot = try #require(decoded)
        let derived = try FileKeyset().outer(slot.kekID, device: fixture.device)
        let kek = try #require(derived)
        guard let keys = try slot.keys(old, kek: kek) else { throw CofferError.notAuthentic }
        let header = try ContainerHeaderSlot.openInnerHeader(old, keys: keys)
        let fileKey = try kek.unwrap(slot.wrappedKey)
        change(&slot)
        let changed = try LayerKeySchedule.derive(
            fileKey, layer: .outer, suite: slot.suite, chunkSizeLog2: slot.chunkSizeLog2, id: slot.id,
            salt: slot.salt, context: [])
        slot.commitment = changed.commitment
        return try slot.encode(innerHeader: header, keys: changed)
    }

    private func join(_ a: [UInt8], _ b: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        a + b + bytes.dropFirst(4096)
    }

    private let none = [UInt8](repeating: 0, count: ContainerHeaderSlot.size)

    @Test("The reader prefers the newer slot, and either is enough")
    func theNewerSlotIsPreferredAndEitherIsEnough() async throws {
        let fixture = try await ContainerFixture()
        let bytes = try fixture.seal(plaintext)
        let first = Array(bytes.prefix(ContainerHeaderSlot.size))
        let second = try slot(bytes, fixture) {
            $0.generation = 2
            $0.protection = .afterFirstUnlockThisDeviceOnly
        }
        for (container, protection) in [
            (join(first, second, bytes), ProtectionClass.afterFirstUnlockThisDeviceOnly),
            (join(second, first, bytes), .afterFirstUnlockThisDeviceOnly),
            (join(none, second, bytes), .afterFirstUnlockThisDeviceOnly),
            (join(none, first, bytes), .whenUnlockedThisDeviceOnly),
        ] {
            let reader = try fixture.reader(container)
            #expect(reader.protection == protection)
            #expect(try fixture.read(reader) == plaintext)
        }
        #expect(failure { _ = try fixture.open(join(none, none, bytes)) } == .corrupt)
        // The newer one damaged: the older one still opens the same content.
        var damaged = second
        damaged[1000] ^= 1
        let reader = try fixture.reader(join(first, damaged, bytes))
        #expect(reader.protection == .whenUnlockedThisDeviceOnly)
        #expect(try fixture.read(reader) == plaintext)
    }

    @Test("Slots that disagree in immutable fields are refused")
    func slotsThatDisagreeInImmutableFieldsAreRefused() async throws {
        let fixture = try await ContainerFixture()
        let bytes = try fixture.seal(plaintext)
        let first = Array(bytes.prefix(ContainerHeaderSlot.size))
        let otherID = try FileID.random()
        let changes: [(inout ContainerHeaderSlot) -> Void] = [
            { $0.suite = .aes256GCM }, { $0.chunkSizeLog2 = 5 }, { $0.id = otherID }, { $0.salt[0] ^= 1 },
        ]
        for (number, change) in changes.enumerated() {
            let second = try slot(bytes, fixture) {
                $0.generation = 2
                change(&$0)
            }
            #expect(
                failure { _ = try fixture.open(join(first, second, bytes)) } == .corrupt, "change \(number)")
            #expect(
                failure { _ = try fixture.open(join(second, first, bytes)) } == .corrupt, "change \(number)")
            // Alone it contradicts the inner header or the chunks.
            #expect(
                failure { _ = try fixture.open(join(second, none, bytes)) } == .corrupt, "change \(number)")
        }
    }

    @Test("A slot of another container is refused")
    func aSlotOfAnotherContainerIsRefused() async throws {
        let fixture = try await ContainerFixture()
        let bytes = try fixture.seal(plaintext)
        let other = Array(try fixture.seal(plaintext).prefix(ContainerHeaderSlot.size))
        #expect(failure { _ = try fixture.open(join(Array(bytes.prefix(2048)), other, bytes)) } == .corrupt)
    }
}
