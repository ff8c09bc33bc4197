@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage
import TestSupport
import Testing

@Suite("The authenticated record")
struct AuthenticatedRecordTests {
    /// A number that cannot be decoded if it is odd.
    private struct Number: RecordPayload {
        let value: UInt64

        init(_ value: UInt64) { self.value = value }

        init(from reader: inout BinaryReader) throws(CofferError) {
            value = try reader.number()
            guard value.isMultiple(of: 2) else { throw reader.corruptError }
        }

        func encode(to writer: inout BinaryWriter) { writer.append(value) }
    }

    private static let record = AuthenticatedRecord<Number>(
        name: "number", magic: "COFFERN1", keyLabel: "number", slotSize: 512, displayName: "number")

    @Test("A payload that is already known is not decoded again, and any other one is")
    func knownPayload() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let (record, device) = (Self.record, session.core.device)
        let vault = try session.core.home.openVault()
        try record.create(Number(2), device: device, in: vault)
        let first = try record.read(device: device, in: vault)
        let odd = try record.update(first, to: Number(3), device: device, in: vault)
        let known = try record.read(device: device, in: vault, reusing: odd)
        #expect(known.payload.value == 3 && known.generation == 2)
        let unknown = failure {
            _ = try record.read(device: device, in: vault, reusing: first)
        }
        #expect(unknown == .corrupt)
        let four = try record.update(odd, to: Number(4), device: device, in: vault)
        let changed = try record.read(device: device, in: vault, reusing: first)
        #expect(changed.payload.value == 4 && changed.generation == four.generation)
        #expect(try home.read("number").count == 1024)
    }

    @Test("An authentic payload that cannot be decoded is an error, even next to an older one")
    func undecodablePayload() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let (record, device) = (Self.record, session.core.device)
        let vault = try session.core.home.openVault()
        try record.create(Number(2), device: device, in: vault)
        let old = try home.read("number")
        let first = try record.read(device: device, in: vault)
        try record.update(first, to: Number(3), device: device, in: vault)
        let new = try home.read("number")
        try home.write("number", Array(new.prefix(512) + old.suffix(512)))
        let code = failure { _ = try record.read(device: device, in: vault) }
        #expect(code == .corrupt)
    }
}
