package import CofferBase
package import CofferCrypto
package import CofferEngine
package import SystemPackage

/// A small record, stored in two slots that are updated in place and authenticated under a key derived from
/// the device key.
///
/// Slot: magic (8), version (2), 6 zero bytes, generation (8), vault id (16), payload length (4), payload,
/// zeros, and an HMAC-SHA256 (32) over everything before it. The valid slot with the higher generation is
/// current. An update writes and flushes one slot, and then writes and flushes the other. At least one slot
/// is therefore always intact, and no older payload stays readable after an update.
///
/// Reading the record decodes the payload of the current slot after authenticating the slot. If the payload
/// cannot be decoded, the read fails; an older slot is never used instead.
package struct AuthenticatedRecord<Payload: RecordPayload>: Sendable {
    package let name: FilePath
    package let magic: String
    /// The label from which the authentication key is derived.
    package let keyLabel: String
    package let slotSize: Int
    package let displayName: String
    package var remedy: CofferError.Remedy?

    package init(
        name: FilePath, magic: String, keyLabel: String, slotSize: Int, displayName: String,
        remedy: CofferError.Remedy? = nil
    ) {
        self.name = name
        self.magic = magic
        self.keyLabel = keyLabel
        self.slotSize = slotSize
        self.displayName = displayName
        self.remedy = remedy
    }

    private static var headerSize: Int { 44 }
    /// The vault id's offset in a slot.
    package var idOffset: Int64 { 24 }
    private static var tagSize: Int { 32 }

    package struct Contents {
        package let payload: Payload
        package let generation: UInt64
        /// The slot from which the payload was read.
        fileprivate let slot: Int
        /// The encoded payload.
        fileprivate let bytes: [UInt8]
    }

    /// Creates the record; throws `alreadyExists` if the file already exists.
    package func create(
        _ payload: Payload, device: DeviceKey, in directory: borrowing Descriptor
    ) throws(CofferError) {
        let slot = try encodeSlot(
            payload.encoded, generation: 1, vaultID: device.vaultID, key: device.key(keyLabel))
        try DualSlotFile.create(name, in: directory, slot: slot.span)
    }

    /// Creates the record in a directory that other processes may read. The file appears only when it is
    /// complete.
    package func createAtomically(
        _ payload: Payload, device: DeviceKey, in directory: borrowing Descriptor
    ) throws(CofferError) {
        let content = try newFile(payload, device: device)
        try directory.replace(name, with: content.span)
    }

    /// Returns the content of a new file with this payload, which follows the contents `old`, if there are
    /// any.
    package func newFile(
        _ payload: Payload, after old: Contents? = nil, device: DeviceKey
    ) throws(CofferError) -> [UInt8] {
        let slot = try encodeSlot(
            payload.encoded, generation: (old?.generation ?? 0) + 1, vaultID: device.vaultID,
            key: device.key(keyLabel))
        return slot + slot
    }

    /// Reads the record. If `repairing` is `true`, which requires the vault directory's lock, also completes
    /// an interrupted update. If the encoded payload equals that of `earlier`, reuses the decoded payload of
    /// `earlier`.
    package func read(
        device: DeviceKey, in directory: borrowing Descriptor, repairing: Bool = false,
        reusing earlier: Contents? = nil
    ) throws(CofferError) -> Contents {
        let key = try device.key(keyLabel)
        let file = try CofferError.addingRemedy(remedy) { () throws(CofferError) in
            try DualSlotFile.open(name, in: directory, slotSize: slotSize, writable: repairing)
        }
        let slots = try CofferError.addingRemedy(remedy) { () throws(CofferError) in
            [try file.slot(0), try file.slot(1)]
        }
        var best: (bytes: [UInt8], generation: UInt64, slot: Int)?
        var failure = CofferError(.corrupt, "The \(displayName) is damaged.", remedy: remedy)
        for index in slots.indices {
            do throws(CofferError) {
                let decoded = try decodeSlot(slots[index], vaultID: device.vaultID, key: key)
                if let best, best.generation >= decoded.generation { continue }
                best = (decoded.payload, decoded.generation, index)
            } catch {
                if error.code != .corrupt { failure = error }
            }
        }
        guard let best else { throw failure }
        // The slots differ if an update was interrupted, which may have been before the current slot was
        // flushed. Until it is, the other slot may be the only one that a power cut leaves.
        if repairing, slots[0] != slots[1] {
            let whole = slots[best.slot]
            try file.repair(whole.span, slot: best.slot)
            try file.repair(whole.span, slot: 1 - best.slot)
        }
        let payload: Payload
        if let earlier, earlier.bytes == best.bytes {
            payload = earlier.payload
        } else {
            payload = try decode(best.bytes)
        }
        return Contents(payload: payload, generation: best.generation, slot: best.slot, bytes: best.bytes)
    }

    /// Returns the generation of the record; 0 if the file does not exist. Does not decode the payload.
    package func generation(
        device: DeviceKey, in directory: borrowing Descriptor
    ) throws(CofferError) -> UInt64 {
        guard try directory.status(of: name) != nil else { return 0 }
        let file = try DualSlotFile.open(name, in: directory, slotSize: slotSize, writable: false)
        let key = try device.key(keyLabel)
        var generations: [UInt64] = []
        for index in 0...1 {
            let slot = try file.slot(index)
            guard let decoded = try? decodeSlot(slot, vaultID: device.vaultID, key: key) else { continue }
            generations.append(decoded.generation)
        }
        guard let newest = generations.max() else {
            throw CofferError(.corrupt, "The \(displayName) is damaged.", remedy: remedy)
        }
        return newest
    }

    /// Reads the payload of the first slot without authenticating it; `nil` if it cannot be read. Use it only
    /// to inform the user: anyone who can write to the directory can forge it.
    package func unauthenticated(in directory: borrowing Descriptor) -> Payload? {
        do throws(CofferError) {
            let file = try DualSlotFile.open(name, in: directory, slotSize: slotSize, writable: false)
            var reader = BinaryReader(try file.slot(0), name: displayName, remedy: remedy)
            guard try reader.take(8) == Array(magic.utf8) else { return nil }
            // The fields between the magic and the payload's length.
            _ = try reader.take(Self.headerSize - 12)
            return try decode(reader.lengthPrefixed(limit: slotSize - Self.tagSize - Self.headerSize))
        } catch {
            return nil
        }
    }

    /// Decodes a payload. Errors contain the record's name.
    package func decode(_ payload: [UInt8]) throws(CofferError) -> Payload {
        var reader = BinaryReader(payload, name: displayName, remedy: remedy)
        return try Payload(from: &reader)
    }

    /// Replaces `old` with `payload` and returns the new contents. Call this function only while you hold the
    /// vault directory's lock.
    @discardableResult
    package func update(
        _ old: Contents, to payload: Payload, device: DeviceKey, in directory: borrowing Descriptor
    ) throws(CofferError) -> Contents {
        try update(old, to: payload, vaultID: device.vaultID, key: device.key(keyLabel), in: directory)
    }

    /// Replaces `old` with `payload` under a record key that the caller has already derived, for an update
    /// that must not fail for lack of guarded memory.
    package func update(
        _ old: Contents, to payload: Payload, vaultID: VaultID, key: borrowing SymmetricKey,
        in directory: borrowing Descriptor
    ) throws(CofferError) -> Contents {
        let generation = old.generation + 1
        let bytes = payload.encoded
        let slot = try encodeSlot(bytes, generation: generation, vaultID: vaultID, key: key)
        let file = try DualSlotFile.open(name, in: directory, slotSize: slotSize, writable: true)
        try file.update(slot.span, current: old.slot)
        return Contents(payload: payload, generation: generation, slot: 0, bytes: bytes)
    }

    /// Makes certain which contents count after an update of `old` failed: writes the current slot again, and
    /// then the other one. Call this function only while you hold the vault directory's lock.
    ///
    /// - Returns: The new contents if the update was made after all; `nil` if `old` is still current.
    /// - Throws: The system's error if neither is certain, because the disk keeps failing.
    package func settle(
        afterUpdating old: Contents, device: DeviceKey, in directory: borrowing Descriptor
    ) throws(CofferError) -> Contents? {
        let kept = try read(device: device, in: directory, reusing: old)
        let file = try DualSlotFile.open(name, in: directory, slotSize: slotSize, writable: true)
        let whole = try file.slot(kept.slot)
        try file.repair(whole.span, slot: kept.slot)
        try file.repair(whole.span, slot: 1 - kept.slot)
        return kept.generation == old.generation ? nil : kept
    }

    private func encodeSlot(
        _ payload: [UInt8], generation: UInt64, vaultID: VaultID, key: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(Array(magic.utf8))
        writer.append(UInt16(1))
        writer.pad(to: 16)
        writer.append(generation)
        writer.append(vaultID.bytes)
        writer.appendLengthPrefixed(payload)
        writer.pad(to: slotSize - Self.tagSize)
        let tag = try HMAC.authenticate(writer.bytes.span, key: key)
        return writer.bytes + tag
    }

    private func decodeSlot(
        _ slot: [UInt8], vaultID: VaultID, key: borrowing SymmetricKey
    ) throws(CofferError) -> (payload: [UInt8], generation: UInt64) {
        var reader = BinaryReader(slot, name: displayName, remedy: remedy)
        guard try reader.take(8) == Array(magic.utf8) else { throw reader.corruptError }
        let version = try reader.number(UInt16.self)
        try reader.skip(6)
        let generation = try reader.number(UInt64.self)
        let owner = try reader.take(16)
        let bodyEnd = slotSize - Self.tagSize
        let authentic = try HMAC.isValid(
            slot.span.extracting(bodyEnd...), for: slot.span.extracting(..<bodyEnd), key: key)
        guard authentic else {
            // Unauthenticated fields only determine the error code.
            if owner != vaultID.bytes, owner.contains(where: { $0 != 0 }) {
                throw CofferError(
                    .foreign, "The \(displayName) belongs to another vault.",
                    remedy: remedy.map { _ in .restoreVault })
            }
            if version > 1 { throw newer(" or is damaged") }
            throw reader.corruptError
        }
        guard version == 1 else { throw newer("") }
        return (try reader.lengthPrefixed(limit: bodyEnd - Self.headerSize), generation)
    }

    private func newer(_ addition: String) -> CofferError {
        CofferError(
            .unsupportedVersion, "The \(displayName) was written by a newer release\(addition).",
            remedy: .useNewerRelease)
    }
}
