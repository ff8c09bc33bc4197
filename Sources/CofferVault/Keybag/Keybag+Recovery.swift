package import CofferBase
import CofferCrypto

/// The recovery slots of a keybag: the class keys, wrapped under a recovery key. The class that requires a
/// passcode has none.
extension Keybag {
    /// Wraps the class keys under a new recovery key, in place of the slots of an older one.
    ///
    /// - Parameters:
    ///   - key: The recovery key.
    ///   - keys: The class keys.
    ///   - created: The time, in seconds since 1970.
    ///   - keepingDeviceKey: Whether the vault's ``RecoveryRecord`` has a copy of the device key.
    ///   - device: The device key.
    /// - Throws: `outOfMemory`, or `wiped` if the device key is gone.
    package mutating func setRecoveryKey(
        _ key: RecoveryKey, over keys: [ProtectionClass: ClassKey], created: UInt64, keepingDeviceKey: Bool,
        device: DeviceKey
    ) throws(CofferError) {
        let slots = try RecoverySlots(
            key, created: created, hasDeviceKey: keepingDeviceKey, vaultID: device.vaultID)
        recovery = try Self.wrapped(keys, under: key.wrappingKey(device: device), device)
        recoverySlots = slots
    }

    /// Removes the recovery slots.
    package mutating func removeRecoveryKey() {
        recovery = [:]
        recoverySlots = nil
    }

    /// Makes new recovery slots if the vault has a recovery key and the slots are not those of `keys`. The
    /// recovery key is not needed.
    package mutating func renewRecoverySlots(
        over keys: [ProtectionClass: ClassKey], device: DeviceKey
    ) throws(CofferError) {
        guard var slots = recoverySlots else { return }
        let wanted = Self.recoverable(keys)
        let isCurrent =
            recovery.count == wanted.count
            && wanted.allSatisfy {
                recovery[$0.key]?.id == $0.value.id && recovery[$0.key]?.generation == $0.value.generation
            }
        guard !isCurrent else { return }
        recovery = try Self.wrapped(keys, under: slots.replaceKey(device: device), device)
        recoverySlots = slots
    }

    /// Unwraps the class keys in the recovery slots.
    ///
    /// - Throws: `absent` if there is no recovery key; `notAuthentic` if `key` is not the vault's; `corrupt`
    ///   if the slots are not those of the vault's class keys.
    package func unwrap(
        with key: RecoveryKey, device: DeviceKey
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        guard let slots = recoverySlots else { throw CofferError.noRecoveryKey }
        guard try key.identifier(vaultID: device.vaultID) == slots.identifier else {
            throw CofferError.wrongRecoveryKey(slots)
        }
        let vaultID = device.vaultID
        var unwrapped: [ProtectionClass: ClassKey] = [:]
        do throws(CofferError) {
            let kek = try slots.wrappingKey(key, device: device)
            for (protection, wrapped) in recovery {
                let context = Self.context(protection, vaultID: vaultID)
                let key = try ClassKey(
                    wrapped.unwrap(under: kek, context: context.span), id: wrapped.id,
                    generation: wrapped.generation, vaultID: vaultID)
                key.former = try formerKey(of: key, protection, vaultID: vaultID)
                unwrapped[protection] = key
            }
        } catch {
            // The identifier shows that this is the right key.
            throw error.code == .notAuthentic ? CofferError.damagedRecoverySlots : error
        }
        try checkRecovered(unwrapped, vaultID: vaultID)
        return unwrapped
    }

    /// Throws `corrupt` unless these are the keybag's class keys, except that of the class that requires a
    /// passcode.
    private func checkRecovered(
        _ recovered: [ProtectionClass: ClassKey], vaultID: VaultID
    ) throws(CofferError) {
        let expected = Set(keys.keys.filter { !$0.requiresPasscode })
        guard Set(recovered.keys) == expected else { throw CofferError.damagedRecoverySlots }
        for (protection, key) in recovered {
            guard keys[protection]?.id == key.id,
                try publicKeys[protection] == key.publicKey(vaultID: vaultID)
            else { throw CofferError.damagedRecoverySlots }
        }
    }

    private static func recoverable(
        _ keys: [ProtectionClass: ClassKey]
    ) -> [ProtectionClass: ClassKey] { keys.filter { !$0.key.requiresPasscode } }

    private static func wrapped(
        _ keys: [ProtectionClass: ClassKey], under kek: borrowing SymmetricKey, _ device: DeviceKey
    ) throws(CofferError) -> [ProtectionClass: WrappedKey] {
        var wrapped: [ProtectionClass: WrappedKey] = [:]
        for (protection, key) in recoverable(keys) {
            let context = context(protection, vaultID: device.vaultID)
            wrapped[protection] = try WrappedKey.wrap(
                key.key, under: kek, id: key.id, generation: key.generation, context: context.span)
        }
        return wrapped
    }
}

/// The encoding of what a keybag says about recovery keys: flags (1; bit 0: recovery keys are forbidden, bit
/// 1: there is a recovery key, bit 2: it has a copy of the device key), 3 zero bytes and, if there is a
/// recovery key, ``RecoverySlots``.
extension Keybag {
    private static let isForbidden: UInt8 = 1
    private static let isPresent: UInt8 = 2
    private static let hasDeviceKey: UInt8 = 4

    /// Whether the keybag has anything to say about recovery keys.
    var hasRecoveryPart: Bool { !allowsRecoveryKey || recoverySlots != nil }

    func encodeRecovery(to writer: inout BinaryWriter) {
        var flags: UInt8 = allowsRecoveryKey ? 0 : Self.isForbidden
        if let recoverySlots {
            flags |= Self.isPresent | (recoverySlots.hasDeviceKey ? Self.hasDeviceKey : 0)
        }
        writer.append([flags, 0, 0, 0])
        recoverySlots?.encode(to: &writer)
    }

    mutating func decodeRecovery(from reader: inout BinaryReader) throws(CofferError) {
        let head = try reader.take(4)
        let flags = head[0]
        // A recovery key that is forbidden is removed; there are no other bits.
        guard [Self.isForbidden, Self.isPresent, Self.isPresent | Self.hasDeviceKey].contains(flags),
            head.dropFirst().allSatisfy({ $0 == 0 })
        else { throw reader.corruptError }
        allowsRecoveryKey = flags & Self.isForbidden == 0
        guard flags & Self.isPresent != 0 else { return }
        recoverySlots = try RecoverySlots(from: &reader, hasDeviceKey: flags & Self.hasDeviceKey != 0)
    }
}

extension CofferError {
    package static var noRecoveryKey: CofferError {
        CofferError(.absent, "This vault has no recovery key.", remedy: .createRecoveryKey)
    }

    fileprivate static func wrongRecoveryKey(_ slots: RecoverySlots) -> CofferError {
        CofferError(
            .notAuthentic,
            "This is not the recovery key of this vault, which has the number "
                + "\(RecoveryKey.number(of: slots.identifier)). It may be an older one, or that of another "
                + "vault. Nothing was changed, and wrong recovery keys are not counted.")
    }

    fileprivate static var damagedRecoverySlots: CofferError {
        CofferError(
            .corrupt, "The keybag's recovery slots are damaged, although the recovery key is right.",
            remedy: .createRecoveryKey)
    }
}
