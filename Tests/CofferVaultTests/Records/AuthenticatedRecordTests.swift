import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
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
    func knownPayload() throws {
        let vault = try VaultOnDisk()
        let (record, device) = (Self.record, vault.device)
        try record.create(Number(2), device: device, in: vault.directory)
        let first = try record.read(device: device, in: vault.directory)
        let odd = try record.update(first, to: Number(3), device: device, in: vault.directory)
        let known = try record.read(device: device, in: vault.directory, reusing: odd)
        #expect(known.payload.value == 3 && known.generation == 2)
        let unknown = failure {
            _ = try record.read(device: device, in: vault.directory, reusing: first)
        }
        #expect(unknown == .corrupt)
        let four = try record.update(odd, to: Number(4), device: device, in: vault.directory)
        let changed = try record.read(device: device, in: vault.directory, reusing: first)
        #expect(changed.payload.value == 4 && changed.generation == four.generation)
        #expect(try vault.read("number").count == 1024)
    }

    @Test("An authentic payload that cannot be decoded is an error, even next to an older one")
    func undecodablePayload() throws {
        let vault = try VaultOnDisk()
        let (record, device) = (Self.record, vault.device)
        try record.create(Number(2), device: device, in: vault.directory)
        let old = try vault.read("number")
        let first = try record.read(device: device, in: vault.directory)
        try record.update(first, to: Number(3), device: device, in: vault.directory)
        let new = try vault.read("number")
        try vault.write("number", Array(new.prefix(512) + old.suffix(512)))
        let code = failure { _ = try record.read(device: device, in: vault.directory) }
        #expect(code == .corrupt)
    }

    @Test("After a failed update, the record is settled as the one that its slots show", arguments: 0...4)
    func settled(_ written: Int) throws {
        let vault = try VaultOnDisk()
        let (record, device) = (Self.record, vault.device)
        try record.create(Number(2), device: device, in: vault.directory)
        let first = try record.read(device: device, in: vault.directory)
        let old = try vault.read("number")
        try record.update(first, to: Number(4), device: device, in: vault.directory)
        let new = try vault.read("number")
        // The slots change one after the other; a torn one is of no use.
        let torn = Array(new.prefix(100)) + old[100..<512]
        let half = Array(new[..<512]) + old[512...]
        let states: [[UInt8]] = [old, torn + old[512...], Array(old[..<512]) + torn, half, new]
        try vault.write("number", states[written])
        let settled = try record.settle(afterUpdating: first, device: device, in: vault.directory)
        #expect(settled?.payload.value == (written < 3 ? nil : 4))
        #expect(try vault.read("number") == (written < 3 ? old : new))
        #expect(try record.generation(device: device, in: vault.directory) == (written < 3 ? 1 : 2))
    }

    @Test("The generation of a record that is not there is zero, and that of a damaged one is an error")
    func generation() throws {
        let vault = try VaultOnDisk()
        let (record, device) = (Self.record, vault.device)
        #expect(try record.generation(device: device, in: vault.directory) == 0)
        try record.create(Number(2), device: device, in: vault.directory)
        try vault.write("number", [UInt8](repeating: 7, count: 1024))
        let code = failure { _ = try record.generation(device: device, in: vault.directory) }
        #expect(code == .corrupt)
    }
}
