package import CofferBase
package import CofferCrypto
import CofferEngine
import SystemPackage

/// A vault's wrapped class keys, the cost of deriving their wrapping key, and the settings for passcodes and
/// locking.
///
/// The payload of an ``AuthenticatedRecord`` with 4096-byte slots: flags (1; bit 0: a passcode is set),
/// passcode policy characters (1), attempt delays (1; 0 or 1), whether items of a destroyed class must still
/// be removed (1; 0 or 1), inactivity in seconds (4; 0: lock only by reboot), machine fingerprint (32), key
/// derivation (1; 0: none, 1: Argon2id; plus 128 if ten wrong passcodes do not erase the vault, plus 64 if
/// new files require an encrypted disk, plus 32 if a recovery key exists or is forbidden, plus 16 if new
/// items are movable, plus 8 during a key rotation, plus 4 if features follow), ``KeybagFeatures`` (3),
/// memory in KiB (4), passes (4), salt (16), number of keys (2) and, for each key, its class (2) and a
/// `WrappedKey` (96).
///
/// A keybag from an earlier release may lack all of the following fields, or the last of them: number of
/// public keys (2) and, for each key, its class (2) and an X25519 key (32); number of recovery keys (2) and,
/// for each key, its class (2) and a `WrappedKey` (96); minimum passcode length (1), whether common passcodes
/// are rejected (1; 0 or 1), number of denylist tags (2) and the tags in ascending order (8 each); if the key
/// derivation has 32 added, what the keybag says about recovery keys (see `Keybag+Recovery.swift`); and, if a
/// passcode is set, the passcode's tag (32). During a key rotation, the number of replaced keys (2) and, for
/// each key, its class (2) and a `WrappedKey` (96) under the class's current key follow.
package struct Keybag {
    package static let record = AuthenticatedRecord<Keybag>(
        name: "keybag", magic: FileMagic.keybag, keyLabel: KDFLabel.keybagMAC, slotSize: 4096,
        displayName: "keybag", remedy: .restoreOrWipeVault)

    package struct PasscodeParameters: Equatable {
        package let cost: Argon2id.Cost
        package let salt: [UInt8]

        package init(cost: Argon2id.Cost, salt: [UInt8]) {
            self.cost = cost
            self.salt = salt
        }

        package static func new(_ cost: Argon2id.Cost) throws(CofferError) -> PasscodeParameters {
            PasscodeParameters(cost: cost, salt: try SecureRandom.bytes(Argon2id.saltSize))
        }
    }

    package var passcode: PasscodeParameters?
    /// The passcode's tag, to compare with an attempt's ``DerivedPasscode/tag``; `nil` if no passcode is set
    /// or the keybag is from an earlier release.
    package var passcodeTag: [UInt8]?
    package var policy: PasscodePolicy
    package var delaysAttempts: Bool
    /// Whether the tenth wrong passcode in a row erases the vault; `true` in a keybag from an earlier
    /// release.
    package var erasesAfterTenFailures = true
    /// Whether files may be added only while the disk that holds the vault is known to be encrypted; `false`
    /// in a keybag from an earlier release.
    package var requiresDiskEncryption = false
    /// Whether a new item whose class is not given gets a class that may leave this device; `false` in a
    /// keybag from an earlier release.
    package var newItemsAreMovable = false
    /// The number of seconds without use after which the vault locks; `nil` if inactivity never locks the
    /// vault.
    package var inactivity: Int?
    /// The ``MachineFingerprint`` of the machine and the user that created the vault.
    package var hostBinding: [UInt8]
    package var keys: [ProtectionClass: WrappedKey]
    /// The public keys to which new values are sealed while the vault is locked.
    package var publicKeys: [ProtectionClass: [UInt8]] = [:]
    /// The class keys, wrapped under the recovery key as ``recoverySlots`` describes; empty without one.
    package var recovery: [ProtectionClass: WrappedKey] = [:]
    /// The recovery key's part of the keybag; `nil` if there is no recovery key.
    package internal(set) var recoverySlots: RecoverySlots?
    /// Whether a recovery key may be set.
    package var allowsRecoveryKey = true
    /// The class keys that a key rotation is replacing, each wrapped under its successor; empty if no
    /// rotation is in progress.
    package var former: [ProtectionClass: WrappedKey] = [:]
    /// Whether items of a class whose key was destroyed must still be removed.
    package var hasOrphans = false
    /// The properties of the vault that a release must know.
    package var features: KeybagFeatures = []

    /// The maximum number of keys in each list; a record with more keys is corrupt.
    private static let maxKeyCount = 16
    private static let passcodeTagSize = 32
    /// The number added to the key derivation's value if ten wrong passcodes do not erase the vault. Earlier
    /// releases, which would erase the vault, refuse such a keybag, because they do not recognize the sum as
    /// a key derivation.
    private static let keepsAfterTenFailures: UInt8 = 0x80
    /// The number added to the key derivation's value if files require an encrypted disk. Earlier releases,
    /// which would store files on any disk, refuse such a keybag for the same reason.
    private static let needsDiskEncryption: UInt8 = 0x40
    /// The number added to the key derivation's value if new items are movable. Earlier releases, whose new
    /// items a backup could not restore on another device, refuse such a keybag for the same reason.
    private static let storesMovableItems: UInt8 = 0x10

    /// The number added to the key derivation's value during a key rotation. Earlier releases, which do not
    /// look for the replaced keys, refuse such a keybag for the same reason.
    private static let replacesKeys: UInt8 = 0x08
    /// The number added to the key derivation's value if the keybag has features. Earlier releases, which
    /// know none, refuse such a keybag for the same reason.
    private static let hasFeatures: UInt8 = 0x04

    /// The class of a new item for which none is given.
    package var defaultClass: ProtectionClass { newItemsAreMovable ? .whenUnlocked : .standard }

    /// The number added to the key derivation's value if a recovery key exists or is forbidden. Earlier
    /// releases, which know neither, refuse such a keybag for the same reason.
    private static let hasRecovery: UInt8 = 0x20

    /// Whether the keybag has every class key, every public key and, with a passcode, the passcode's tag. A
    /// keybag from an earlier release may lack some of them.
    package var isComplete: Bool {
        (passcode == nil) == (passcodeTag == nil)
            && ProtectionClass.all(hasPasscode: passcode != nil).allSatisfy {
                keys[$0] != nil && publicKeys[$0] != nil
            }
    }

    /// Derives, from the passcode and the device key, the key that wraps the class keys. The overload without
    /// a passcode uses the device key alone.
    package static func wrappingKey(
        passcode: borrowing SymmetricKey, device: DeviceKey
    ) throws(CofferError) -> SymmetricKey {
        let context = device.vaultID.bytes
        return try HKDF.deriveKey(
            from: passcode, and: device.deviceKey().key, info: KDFLabel.classKeyWrapping,
            context: context.span)
    }

    package static func wrappingKey(device: DeviceKey) throws(CofferError) -> SymmetricKey {
        try device.key(KDFLabel.classKeyWrapping)
    }

    /// Returns the context to which a wrapped class key is bound.
    package static func context(_ protection: ProtectionClass, vaultID: VaultID) -> [UInt8] {
        vaultID.bytes + protection.rawValue.bigEndianBytes + UInt16(1).bigEndianBytes
    }

    package mutating func wrap(
        _ keys: [ProtectionClass: ClassKey], under kek: borrowing SymmetricKey, vaultID: VaultID
    ) throws(CofferError) {
        var wrapped: [ProtectionClass: WrappedKey] = [:]
        for (protection, key) in keys {
            let context = Self.context(protection, vaultID: vaultID)
            wrapped[protection] = try WrappedKey.wrap(
                key.key, under: kek, id: key.id, generation: key.generation, context: context.span)
        }
        self.keys = wrapped
    }

    /// Returns whether a passcode is right. If this function throws, the passcode was not compared.
    package func isRight(_ passcode: DerivedPasscode, vaultID: VaultID) throws(CofferError) -> Bool {
        let tag = passcode.tag
        if let passcodeTag { return ConstantTime.equal(passcodeTag.span, tag.span) }
        // A keybag from an earlier release has no tag: unwrap one class key instead, since all have the same
        // wrapping key.
        guard let (protection, wrapped) = keys.first else {
            throw CofferError(
                .corrupt, "The keybag does not contain any class keys.", remedy: .restoreOrWipeVault)
        }
        let context = Self.context(protection, vaultID: vaultID)
        do throws(CofferError) {
            _ = try wrapped.unwrap(under: passcode.wrappingKey, context: context.span)
            return true
        } catch {
            guard error.code == .notAuthentic else { throw error }
            return false
        }
    }

    /// Unwraps every class key. Throws `notAuthentic` if the wrapping key is wrong, which means that the
    /// passcode was wrong.
    package func unwrap(
        under kek: borrowing SymmetricKey, vaultID: VaultID
    ) throws(CofferError) -> [ProtectionClass: ClassKey] {
        var unwrapped: [ProtectionClass: ClassKey] = [:]
        for (protection, wrapped) in keys {
            let context = Self.context(protection, vaultID: vaultID)
            let key = try wrapped.unwrap(under: kek, context: context.span)
            let classKey = try ClassKey(
                key, id: wrapped.id, generation: wrapped.generation, vaultID: vaultID)
            classKey.former = try formerKey(of: classKey, protection, vaultID: vaultID)
            if let publicKey = publicKeys[protection], try classKey.publicKey(vaultID: vaultID) != publicKey {
                throw CofferError(
                    .corrupt, "A public key in the keybag does not match its class key.",
                    remedy: .restoreOrWipeVault)
            }
            unwrapped[protection] = classKey
        }
        return unwrapped
    }
}

extension Keybag: RecordPayload {
    package func encode(to writer: inout BinaryWriter) {
        writer.append([
            passcode == nil ? 0 : 1, policy.characters.rawValue, delaysAttempts ? 1 : 0, hasOrphans ? 1 : 0,
        ])
        writer.append(UInt32(inactivity ?? 0))
        writer.append(hostBinding)
        var derivation: UInt8 = passcode == nil ? 0 : 1
        if !erasesAfterTenFailures { derivation |= Self.keepsAfterTenFailures }
        if requiresDiskEncryption { derivation |= Self.needsDiskEncryption }
        if newItemsAreMovable { derivation |= Self.storesMovableItems }
        if isRotating { derivation |= Self.replacesKeys }
        if hasRecoveryPart { derivation |= Self.hasRecovery }
        if !features.isEmpty { derivation |= Self.hasFeatures }
        writer.append([derivation] + features.bytes)
        writer.append(UInt32(passcode?.cost.memoryKiB ?? 0))
        writer.append(UInt32(passcode?.cost.passes ?? 0))
        writer.append(passcode?.salt ?? [UInt8](repeating: 0, count: Argon2id.saltSize))
        Self.append(keys.mapValues(\.encoded), to: &writer)
        Self.append(publicKeys, to: &writer)
        Self.append(recovery.mapValues(\.encoded), to: &writer)
        writer.append([UInt8(policy.minimumLength), policy.rejectsCommon ? 1 : 0])
        writer.append(UInt16(policy.denylist.count))
        for tag in policy.denylist.sorted() { writer.append(tag) }
        if hasRecoveryPart { encodeRecovery(to: &writer) }
        if let passcodeTag { writer.append(passcodeTag) }
        if isRotating { Self.append(former.mapValues(\.encoded), to: &writer) }
    }

    private static func append(_ keys: [ProtectionClass: [UInt8]], to writer: inout BinaryWriter) {
        writer.append(UInt16(keys.count))
        for (protection, key) in keys.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            writer.append(protection.rawValue)
            writer.append(key)
        }
    }

    /// Reads the number of keys and then the keys, each of `size` bytes and of a different class.
    private static func keys(
        of size: Int, from reader: inout BinaryReader
    ) throws(CofferError) -> [ProtectionClass: [UInt8]] {
        let count = Int(try reader.number(UInt16.self))
        guard count <= maxKeyCount else { throw reader.corruptError }
        var keys: [ProtectionClass: [UInt8]] = [:]
        for _ in 0..<count {
            let rawClass = try reader.number(UInt16.self)
            let key = try reader.take(size)
            guard let protection = ProtectionClass(rawValue: rawClass) else {
                throw CofferError(
                    .unsupportedVersion,
                    "The keybag contains a protection class that is not supported by this release. Use a "
                        + "newer release.")
            }
            guard keys.updateValue(key, forKey: protection) == nil else { throw reader.corruptError }
        }
        return keys
    }

    private static func wrappedKeys(
        from reader: inout BinaryReader
    ) throws(CofferError) -> [ProtectionClass: WrappedKey] {
        var wrapped: [ProtectionClass: WrappedKey] = [:]
        for (protection, bytes) in try keys(of: WrappedKey.encodedSize, from: &reader) {
            wrapped[protection] = try WrappedKey.decode(bytes.span)
        }
        return wrapped
    }

    /// Reads the replaced keys, of which there is at least one and only of classes that have a key.
    private static func replacedKeys(
        of keys: [ProtectionClass: WrappedKey], from reader: inout BinaryReader
    ) throws(CofferError) -> [ProtectionClass: WrappedKey] {
        let former = try wrappedKeys(from: &reader)
        guard !former.isEmpty, former.keys.allSatisfy({ keys[$0] != nil }) else { throw reader.corruptError }
        return former
    }

    package init(from reader: inout BinaryReader) throws(CofferError) {
        let head = try reader.take(4)
        guard head[0] <= 1, head[2] <= 1, head[3] <= 1,
            let characters = PasscodePolicy.Characters(rawValue: head[1])
        else {
            throw reader.corruptError
        }
        let inactivity = Int(try reader.number(UInt32.self))
        let binding = try reader.take(MachineFingerprint.size)
        let settings = try reader.take(4)
        let derivation = settings[0]
        let memory = Int(try reader.number(UInt32.self))
        let passes = Int(try reader.number(UInt32.self))
        let salt = try reader.take(Argon2id.saltSize)
        let flags =
            Self.keepsAfterTenFailures | Self.needsDiskEncryption | Self.hasRecovery
            | Self.storesMovableItems | Self.replacesKeys | Self.hasFeatures
        guard derivation & ~flags == head[0] else {
            throw CofferError(
                .unsupportedVersion,
                "The keybag uses a key derivation that is not supported by this release. Use a newer "
                    + "release.")
        }
        let features = try Self.features(settings, reader)
        var passcode: PasscodeParameters?
        if head[0] == 1 {
            passcode = PasscodeParameters(
                cost: try Argon2id.Cost(memoryKiB: memory, passes: passes), salt: salt)
        }
        self.init(
            passcode: passcode, policy: .preset(characters), delaysAttempts: head[2] == 1,
            erasesAfterTenFailures: derivation & Self.keepsAfterTenFailures == 0,
            requiresDiskEncryption: derivation & Self.needsDiskEncryption != 0,
            newItemsAreMovable: derivation & Self.storesMovableItems != 0,
            inactivity: inactivity == 0 ? nil : inactivity, hostBinding: binding,
            keys: try Self.wrappedKeys(from: &reader))
        hasOrphans = head[3] == 1
        self.features = features
        try decodeLaterFields(
            from: &reader, hasRecovery: derivation & Self.hasRecovery != 0,
            isRotating: derivation & Self.replacesKeys != 0)
    }

    /// Returns the features in the key derivation's value and the three bytes after it, which are zero
    /// without features.
    private static func features(
        _ settings: [UInt8], _ reader: BinaryReader
    ) throws(CofferError) -> KeybagFeatures {
        let features = KeybagFeatures(bytes: settings.dropFirst())
        guard features.isEmpty == (settings[0] & hasFeatures == 0) else { throw reader.corruptError }
        guard features.isSubset(of: .known) else {
            throw CofferError(
                .unsupportedVersion,
                "This vault has items of a kind that only a newer release knows.",
                remedy: .useNewerRelease)
        }
        return features
    }

    /// Reads the fields that a keybag from an earlier release may lack.
    private mutating func decodeLaterFields(
        from reader: inout BinaryReader, hasRecovery: Bool, isRotating: Bool
    ) throws(CofferError) {
        let isComplete = hasRecovery || isRotating
        // The first release wrote no further fields.
        guard isComplete || reader.remaining > 0 else { return }
        publicKeys = try Self.keys(of: SealedBox.keySize, from: &reader)
        recovery = try Self.wrappedKeys(from: &reader)
        guard isComplete || reader.remaining > 0 else { return }
        policy = try .decode(policy.characters, from: &reader)
        if hasRecovery { try decodeRecovery(from: &reader) }
        guard recovery.isEmpty == (recoverySlots == nil) else { throw reader.corruptError }
        if passcode != nil, isRotating || reader.remaining > 0 {
            passcodeTag = try reader.take(Self.passcodeTagSize)
        }
        if isRotating { former = try Self.replacedKeys(of: keys, from: &reader) }
        guard reader.remaining == 0 else { throw reader.corruptError }
    }
}

extension PasscodePolicy {
    /// Returns the policy with these characters, their preset minimum length and no other requirement.
    fileprivate static func preset(_ characters: Characters) -> PasscodePolicy {
        switch characters {
        case .any: .none
        case .digits: .digits
        case .lettersAndDigits: .alphanumeric
        }
    }

    /// Reads the remaining fields of a policy with these characters and returns the policy.
    fileprivate static func decode(
        _ characters: Characters, from reader: inout BinaryReader
    ) throws(CofferError) -> PasscodePolicy {
        let head = try reader.take(2)
        let count = Int(try reader.number(UInt16.self))
        guard (1...maxMinimumLength).contains(Int(head[0])), head[1] <= 1, count <= PasscodeDenylist.maxCount
        else {
            throw reader.corruptError
        }
        var denied: Set<PasscodeDenylist.Tag> = []
        for _ in 0..<count { denied.insert(try reader.number(UInt64.self)) }
        return PasscodePolicy(
            characters, minimumLength: Int(head[0]), rejectsCommon: head[1] == 1, denylist: denied)
    }
}
