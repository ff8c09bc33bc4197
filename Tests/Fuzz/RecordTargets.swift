@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage
import TestSupport

/// The records of a home. What a tag protects gets a right tag here, so that the fields behind it are read.
extension FuzzTarget {
    static let records = [
        FuzzTarget("keybag") { bytes, _ in
            let encoded = try Keybag.record.decode(bytes).encoded
            try FuzzFinding.require(
                try Keybag.record.decode(encoded).encoded == encoded,
                "a keybag changes when it is written again")
        },
        FuzzTarget("attempts") { bytes, _ in
            let attempts = try AttemptRecord.record.decode(bytes)
            try FuzzFinding.require(
                try AttemptRecord.record.decode(attempts.encoded) == attempts,
                "a counter changes when it is written")
            _ = attempts.remainingDelay(now: .seconds(1), bootIdentifier: "boot")
            try FuzzFinding.require(
                (0...AttemptRecord.limit).contains(attempts.attemptsLeft), "attempts are left")
        },
        FuzzTarget("slots") { bytes, world in try readSlots(bytes, world) },
        FuzzTarget("device") { bytes, world in try readDevice(bytes, world) },
        FuzzTarget("state") { bytes, world in
            try world.scratch.write(VaultStateFile.fileName, bytes)
            _ = try VaultStateFile.read(in: world.scratch.descriptor)
        },
        FuzzTarget("token-file") { bytes, world in try readTokenFile(bytes, world) },
        FuzzTarget("token-envelope") { bytes, world in
            let envelope = try TokenEnvelope.decode(bytes)
            let encoded = envelope.encoded
            try FuzzFinding.require(
                try TokenEnvelope.decode(encoded).encoded == encoded, "an envelope changes")
            let opened = try envelope.open(
                name: [UInt8](repeating: 1, count: 32), under: world.classKey,
                vaultID: world.device.vaultID, withValue: true)
            throw FuzzFinding("an envelope that nobody sealed opens: version \(opened.info.version ?? 0)")
        },
        FuzzTarget("token-info") { bytes, _ in
            let info = try TokenInfo.decode(bytes, protection: .whenUnlocked)
            _ = try TokenInfo.decode(info.encoded, protection: .whenUnlocked)
        },
        FuzzTarget("token-export") { bytes, _ in try readExport(bytes) },
    ]

    /// A record of an export, or its head where the first byte is that of the magic.
    private static func readExport(_ bytes: [UInt8]) throws {
        guard bytes.first != Array(FileMagic.export.utf8).first else {
            let head = try TokenExport.Header.decode(bytes)
            return try FuzzFinding.require(
                head.encoded == Array(bytes.prefix(48)), "the head of an export changes")
        }
        switch try TokenExport.Record.decode(bytes.span) {
        case .token(let info, let token):
            try FuzzFinding.require(info.protection.isExportable, "a token that may not move is in an export")
            let again = try TokenExport.Record.encode(info, token)
            _ = try TokenExport.Record.decode(again.span)
        case .end(let count):
            let again = try TokenExport.Record.encodeEnd(count: count)
            try FuzzFinding.require(again.span.copied() == bytes, "the end of an export changes")
        }
    }

    /// A payload whose bytes are not read.
    private struct Bytes: RecordPayload {
        let bytes: [UInt8]

        init(from reader: inout BinaryReader) throws(CofferError) {
            bytes = try reader.take(reader.remaining)
        }

        func encode(to writer: inout BinaryWriter) { writer.append(bytes) }
    }

    /// Two slots of the attempt counter; bit 0 and 1 of the first byte say which get a right tag.
    private static func readSlots(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        let counter = AttemptRecord.record
        let record = AuthenticatedRecord<Bytes>(
            name: counter.name, magic: counter.magic, keyLabel: "fuzz", slotSize: counter.slotSize,
            displayName: counter.displayName, remedy: counter.remedy)
        let size = record.slotSize
        let key = try world.device.key(record.keyLabel)
        let choice = bytes.first ?? 0
        let slots = Array(bytes.dropFirst()).resized(to: size * 2)
        var file: [UInt8] = []
        for index in 0..<2 {
            let slot = Array(slots[index * size..<(index + 1) * size])
            guard choice >> UInt8(index) & 1 == 1 else {
                file += slot
                continue
            }
            let body = Array(slot.dropLast(32))
            file += body + (try HMAC.authenticate(body.span, key: key))
        }
        try world.scratch.write(record.name, file)
        let contents = try record.read(
            device: world.device, in: world.scratch.descriptor, repairing: choice & 4 == 4)
        try FuzzFinding.require(choice & 3 != 0, "a slot without a right tag is taken")
        try FuzzFinding.require(
            contents.payload.bytes.count <= size - 76, "a payload is longer than its slot")
    }

    /// A device record; bit 0 of the first byte says whether it gets a right tag.
    private static func readDevice(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        var record = Array(bytes.dropFirst())
        let isSealed = (bytes.first ?? 0) & 1 == 1
        if isSealed, record.count >= 96 {
            let body = Array(record.prefix(96))
            let secret = Array(body[32..<64])
            let key = try HKDF.deriveKey(from: SymmetricKey.copying(secret.span), info: KDFLabel.deviceMAC)
            record = body + (try HMAC.authenticate(body.span, key: key))
        }
        try world.scratch.write(DeviceKeyFile.name, record)
        _ = try DeviceKeyFile.read(in: world.scratch.descriptor)
        try FuzzFinding.require(isSealed, "a device record without a right tag is taken")
    }

    /// A token file; bit 0 of the first byte says whether the rest is what it holds or the file itself.
    private static func readTokenFile(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        let rest = Array(bytes.dropFirst())
        var file = rest
        if (bytes.first ?? 0) & 1 == 1 {
            let version = UInt16(1).bigEndianBytes + [UInt8](repeating: 0, count: 6)
            let header = Array(FileMagic.tokens.utf8) + version + world.device.vaultID.bytes
            let key = try world.device.key(KDFLabel.tokenFile)
            file = header + (try XChaCha20Poly1305.seal(rest.span, key: key, associatedData: header.span))
        }
        try world.scratch.write(TokenFile.fileName, file)
        let contents = try TokenFile(device: world.device).read(in: world.scratch.descriptor).contents
        try FuzzFinding.require((bytes.first ?? 0) & 1 == 1, "a token file that nobody sealed is taken")
        let least = 12 + contents.envelopes.values.reduce(0) { $0 + 36 + $1.count }
        try FuzzFinding.require(least == rest.count, "a token file holds more or less than its bytes")
    }
}
