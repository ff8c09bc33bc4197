package import CofferBase
package import CofferCrypto
package import CofferEngine
package import SystemPackage

/// A vault's `recovery` file: the device key, wrapped under a key that is derived from the recovery key.
///
/// Two slots of 512 bytes: magic (8), version (2), 6 zero bytes, vault id (16), a `WrappedKey` (96) whose id
/// is that of the recovery key, and zeros. The seal covers the fields before it. The file must be readable
/// without the device key, so nothing but the recovery key authenticates it.
///
/// The keybag decides which recovery key is current. A change first writes the slot that is not current, then
/// the keybag, and then the other slot. Whatever is interrupted, the current recovery key opens one of the
/// slots; ``settle(_:in:)`` overwrites the other one.
package enum RecoveryRecord {
    package static let name: FilePath = "recovery"
    package static let slotSize = 512
    /// The offset of the vault id in a slot.
    package static let idOffset: Int64 = 16
    private static let headerSize = 32

    /// Returns a slot with the device key under `key`.
    package static func slot(_ key: RecoveryKey, device: DeviceKey) throws(CofferError) -> [UInt8] {
        let vaultID = device.vaultID
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.recovery.utf8))
        writer.append(UInt16(1))
        writer.pad(to: 16)
        writer.append(vaultID.bytes)
        let header = writer.bytes
        let wrapped = try WrappedKey.wrap(
            device.deviceKey().key, under: key.deviceWrappingKey(vaultID: vaultID),
            id: key.identifier(vaultID: vaultID), context: header.span)
        writer.append(wrapped.encoded)
        writer.pad(to: slotSize)
        return writer.bytes
    }

    /// Writes `slot` beside the current slot, before the keybag makes its recovery key the current one.
    ///
    /// - Parameters:
    ///   - slot: The new slot.
    ///   - slots: The keybag's present recovery slots; `nil` if there is no recovery key.
    ///   - vault: The vault's directory, whose lock the caller holds.
    /// - Throws: The system's error if the file cannot be written.
    package static func stage(
        _ slot: [UInt8], beside slots: RecoverySlots?, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard let file = try openForChange(in: vault) else {
            return try DualSlotFile.create(name, in: vault, slot: slot.span)
        }
        let current = try current(slots, in: file)
        guard let current else { return try file.update(slot.span, current: 0) }
        try file.repair(slot.span, slot: 1 - current)
    }

    /// Overwrites what the current recovery key does not need: the slot of an older or unused key or, if the
    /// device key is not kept for the current key, the whole file, which is then removed. Does nothing if the
    /// current slot cannot be told from the other one.
    ///
    /// - Parameters:
    ///   - slots: The keybag's recovery slots; `nil` if there is no recovery key.
    ///   - vault: The vault's directory, whose lock the caller holds.
    /// - Throws: The system's error if the file cannot be read or written.
    package static func settle(
        _ slots: RecoverySlots?, in vault: borrowing Descriptor
    ) throws(CofferError) {
        // Another program's directory under this name is none of ours.
        guard try vault.status(of: name)?.kind == .regular else { return }
        guard let slots, slots.hasDeviceKey else {
            try vault.removeTree(name, overwriting: true)
            return try vault.sync()
        }
        let file = try DualSlotFile.open(name, in: vault, slotSize: slotSize, writable: false)
        guard let current = try current(slots, in: file) else { return }
        let (good, other) = (try file.slot(current), try file.slot(1 - current))
        guard good != other, identifier(of: other) != slots.identifier else { return }
        try DualSlotFile.open(name, in: vault, slotSize: slotSize, writable: true)
            .repair(good.span, slot: 1 - current)
    }

    /// Returns whether the file has the slot that the keybag's recovery key should open.
    package static func isPresent(
        _ slots: RecoverySlots, in vault: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        guard try vault.status(of: name) != nil else { return false }
        let file = try DualSlotFile.open(name, in: vault, slotSize: slotSize, writable: false)
        return try current(slots, in: file) != nil
    }

    /// Returns the device key that a recovery key opens.
    ///
    /// - Parameters:
    ///   - key: The recovery key.
    ///   - vaultID: The vault's id, from a file that is not authenticated either.
    ///   - vault: The vault's directory.
    /// - Returns: The device key.
    /// - Throws: `absent` if there is no file; `notAuthentic` if `key` opens neither slot; `corrupt` if
    ///   neither slot has the form of one; `unsupportedVersion`.
    package static func deviceKey(
        _ key: RecoveryKey, vaultID: VaultID, in vault: borrowing Descriptor
    ) throws(CofferError) -> SymmetricKey {
        let file = try DualSlotFile.open(name, in: vault, slotSize: slotSize, writable: false)
        let kek = try key.deviceWrappingKey(vaultID: vaultID)
        var failure: CofferError?
        for index in 0...1 {
            let slot = try file.slot(index)
            do throws(CofferError) {
                return try deviceKey(in: slot, under: kek, vaultID: vaultID)
            } catch {
                // That a key does not open an undamaged slot says more than that the other slot is damaged.
                if failure == nil || error.code != .corrupt { failure = error }
            }
        }
        guard let failure, failure.code == .notAuthentic else { throw failure ?? damaged }
        throw CofferError(
            .notAuthentic,
            "The recovery key does not open the copy of the device key. It may be an older one, or that of "
                + "another vault. Nothing was changed, and wrong recovery keys are not counted.")
    }

    /// Returns the device key in one slot.
    package static func deviceKey(
        in slot: [UInt8], under kek: borrowing SymmetricKey, vaultID: VaultID
    ) throws(CofferError) -> SymmetricKey {
        let wrapped = try wrapped(in: slot, vaultID: vaultID)
        return try wrapped.unwrap(under: kek, context: slot.span.extracting(..<headerSize))
    }

    private static func wrapped(in slot: [UInt8], vaultID: VaultID) throws(CofferError) -> WrappedKey {
        var reader = BinaryReader(slot, name: "copy of the device key", remedy: .createRecoveryKey)
        guard try reader.take(8) == Array(FileMagic.recovery.utf8) else { throw damaged }
        guard try reader.number(UInt16.self) == 1 else {
            throw CofferError(
                .unsupportedVersion,
                "The copy of the device key was written by a newer release or is damaged.",
                remedy: .useNewerRelease)
        }
        try reader.skip(6)
        guard try reader.take(16) == vaultID.bytes else {
            throw CofferError(
                .foreign, "The copy of the device key belongs to another vault.", remedy: .restoreVault)
        }
        let wrapped = try reader.take(WrappedKey.encodedSize)
        try reader.expectPadding()
        return try WrappedKey.decode(wrapped.span)
    }

    /// Returns the index of the slot under the keybag's recovery key; `nil` if there is none.
    private static func current(
        _ slots: RecoverySlots?, in file: borrowing DualSlotFile
    ) throws(CofferError) -> Int? {
        guard let slots, slots.hasDeviceKey else { return nil }
        for index in 0...1 where try identifier(of: file.slot(index)) == slots.identifier { return index }
        return nil
    }

    /// Returns the identifier of the recovery key in a slot; `nil` if the slot has not the form of one.
    private static func identifier(of slot: [UInt8]) -> [UInt8]? {
        guard Array(slot.prefix(8)) == Array(FileMagic.recovery.utf8) else { return nil }
        let sealed = slot.span.extracting(headerSize..<headerSize + WrappedKey.encodedSize)
        return try? WrappedKey.decode(sealed).id
    }

    /// Opens the file for a change; `nil` if there is none. A file of the wrong size, which a crash during
    /// its creation can leave, is removed: neither of its slots could be read.
    private static func openForChange(in vault: borrowing Descriptor) throws(CofferError) -> DualSlotFile? {
        guard try vault.status(of: name) != nil else { return nil }
        do throws(CofferError) {
            return try DualSlotFile.open(name, in: vault, slotSize: slotSize, writable: true)
        } catch {
            guard error.code == .corrupt else { throw error }
            try vault.removeTree(name, overwriting: true)
            return nil
        }
    }

    private static var damaged: CofferError {
        CofferError(.corrupt, "The copy of the device key is damaged.", remedy: .createRecoveryKey)
    }
}
