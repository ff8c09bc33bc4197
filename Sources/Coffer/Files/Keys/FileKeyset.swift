package import CofferBase
import CofferCrypto
import CofferEngine
package import CofferVault
import Synchronization
import SystemPackage

/// The keys that wrap file keys, stored in a separate record. Destroying a key in that record makes every
/// container whose file key it wraps unreadable, including all copies of the container.
///
/// Payload, with sizes in bytes: flags (4; bit 0: the store has an index, bit 1: keys are being replaced, bit
/// 2: the index's commits are bound to their places); the number of keys (2); and for each key its purpose
/// (2; 0 for the outer layer, otherwise the protection class), the id of the key that protects it (16; the
/// vault id or the class key's id) and the wrapped key (96). Formats describes the record.
package struct FileKeyset: Sendable, RecordPayload {
    static let record = AuthenticatedRecord<FileKeyset>(
        name: "filekeys", magic: FileMagic.fileKeys, keyLabel: KDFLabel.fileKeysMAC, slotSize: 8192,
        displayName: "file keyset record", remedy: .restoreOrWipeVault)
    private static let limit = 64
    private static let outerPurpose: UInt16 = 0

    /// A wrapped key, as stored.
    struct Entry: Sendable, Equatable {
        let purpose: UInt16
        let protector: [UInt8]
        let key: WrappedKey
    }

    var hasIndex = false
    /// Whether the index is in version 3, whose commits authenticate the index's length. If this property is
    /// `true`, an index in an older version counts as damaged.
    var hasIndexCommits = false
    /// Whether a key rotation was started but has not finished.
    var isRotating = false
    private(set) var entries: [Entry] = []
    /// The keys that were unwrapped so far; `nil` if they are unwrapped for each use.
    private var unwrapped: UnwrappedFileKeys?

    package init() {}

    /// Has this keyset and its copies keep every key that they unwrap, for an operation on many files. The
    /// keys are cleared with the last of these values.
    mutating func keepUnwrapped() { unwrapped = UnwrappedFileKeys() }

    // MARK: Finding

    /// Returns the outer key with the given identifier; `nil` if this vault has no such key.
    func outer(_ id: [UInt8], device: DeviceKey) throws(CofferError) -> FileKEK? {
        if id == device.vaultID.bytes { return FileKEK(id: id, try device.key(KDFLabel.fileOuterKEK)) }
        guard let entry = entry(id, Self.outerPurpose, device.vaultID.bytes) else { return nil }
        return try key(of: entry, vaultID: device.vaultID) { () throws(CofferError) in
            try device.key(KDFLabel.fileOuterWrapping)
        }
    }

    /// Returns the inner key with the given identifier; `nil` if the given class has no such key. Looks under
    /// `classKey` and then under the key that it replaces.
    func inner(
        _ id: [UInt8], _ protection: ProtectionClass, classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> FileKEK? {
        if let found = try inner(id, protection, under: classKey, vaultID) { return found }
        guard let former = classKey.former else { return nil }
        return try inner(id, protection, under: former, vaultID)
    }

    private func inner(
        _ id: [UInt8], _ protection: ProtectionClass, under classKey: ClassKey, _ vaultID: VaultID
    ) throws(CofferError) -> FileKEK? {
        let context = vaultID.bytes
        if id == classKey.id {
            let key = try HKDF.deriveKey(
                from: classKey.key, info: KDFLabel.fileInnerKEK, context: context.span)
            return FileKEK(id: id, key)
        }
        guard let entry = entry(id, protection.rawValue, classKey.id) else { return nil }
        return try key(of: entry, vaultID: vaultID) { () throws(CofferError) in
            try Self.wrappingKey(classKey, vaultID)
        }
    }

    private func key(
        of entry: Entry, vaultID: VaultID, _ wrapping: () throws(CofferError) -> SymmetricKey
    ) throws(CofferError) -> FileKEK {
        if let known = unwrapped?.key(of: entry) { return known }
        let key = try Self.unwrap(entry, under: wrapping(), vaultID: vaultID)
        unwrapped?.add(key, of: entry)
        return key
    }

    /// Returns the newest outer key; `nil` if there is none yet.
    func currentOuter(_ device: DeviceKey) throws(CofferError) -> FileKEK? {
        guard let entry = newest(Self.outerPurpose, device.vaultID.bytes) else { return nil }
        return try outer(entry.key.id, device: device)
    }

    /// Returns a class's newest inner key; `nil` if there is none yet.
    func currentInner(
        _ protection: ProtectionClass, classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> FileKEK? {
        guard let entry = newest(protection.rawValue, classKey.id) else { return nil }
        return try inner(entry.key.id, protection, classKey: classKey, vaultID: vaultID)
    }

    /// The classes that have keys in this keyset.
    var classes: [ProtectionClass] {
        ProtectionClass.allCases.filter { own in entries.contains { $0.purpose == own.rawValue } }
    }

    private func entry(_ id: [UInt8], _ purpose: UInt16, _ protector: [UInt8]) -> Entry? {
        entries.first { $0.key.id == id && $0.purpose == purpose && $0.protector == protector }
    }

    private func newest(_ purpose: UInt16, _ protector: [UInt8]) -> Entry? {
        entries.filter { $0.purpose == purpose && $0.protector == protector }
            .max { $0.key.generation < $1.key.generation }
    }

    // MARK: Changing

    /// Adds a new outer key, which becomes the current one.
    mutating func addOuter(_ device: DeviceKey) throws(CofferError) {
        let wrapping = try device.key(KDFLabel.fileOuterWrapping)
        try add(Self.outerPurpose, device.vaultID.bytes, under: wrapping, vaultID: device.vaultID)
    }

    /// Adds a new inner key for a class, which becomes the current one.
    mutating func addInner(
        _ protection: ProtectionClass, classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) {
        let wrapping = try Self.wrappingKey(classKey, vaultID)
        // A key that is taken over from the replaced class key must never be the newest one.
        let former = classKey.former.map { 1 + (newest(protection.rawValue, $0.id)?.key.generation ?? 0) }
        try add(protection.rawValue, classKey.id, under: wrapping, vaultID: vaultID, above: former ?? 0)
    }

    /// Protects the keys in `used` that the replaced class key still protects with `classKey` itself.
    mutating func takeOver(
        _ used: Set<[UInt8]>, of protection: ProtectionClass, by classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) {
        guard let former = classKey.former else { return }
        let wrapping = try Self.wrappingKey(classKey, vaultID)
        let context = Self.context(protection.rawValue, vaultID)
        for id in used where entry(id, protection.rawValue, classKey.id) == nil {
            guard let kek = try inner(id, protection, under: former, vaultID) else { continue }
            let generation = entry(id, protection.rawValue, former.id)?.key.generation ?? 1
            let key = try WrappedKey.wrap(
                kek.key, under: wrapping, id: id, generation: generation, context: context.span)
            entries.removeAll { $0.purpose == protection.rawValue && $0.key.id == id }
            entries.append(Entry(purpose: protection.rawValue, protector: classKey.id, key: key))
        }
    }

    /// Returns whether any file key is still protected by `classKey`.
    func depends(on classKey: ClassKey) -> Bool { entries.contains { $0.protector == classKey.id } }

    private mutating func add(
        _ purpose: UInt16, _ protector: [UInt8], under wrapping: borrowing SymmetricKey, vaultID: VaultID,
        above floor: UInt32 = 0
    ) throws(CofferError) {
        let generation = max(newest(purpose, protector)?.key.generation ?? 0, floor)
        guard entries.count < Self.limit, generation < .max else {
            throw CofferError(.refused, "There are too many file keys. Finish the key rotation first.")
        }
        let context = Self.context(purpose, vaultID)
        let key = try WrappedKey.wrap(
            SymmetricKey.random(), under: wrapping, generation: generation + 1, context: context.span)
        entries.append(Entry(purpose: purpose, protector: protector, key: key))
    }

    /// Removes every key that is neither in `used` nor the newest key for its purpose under one of
    /// `protectors`; returns the number of removed keys.
    mutating func drop(notIn used: Set<[UInt8]>, protectors: Set<[UInt8]>) -> Int {
        let kept = entries.filter { entry in
            used.contains(entry.key.id)
                || protectors.contains(entry.protector) && newest(entry.purpose, entry.protector) == entry
        }
        defer { entries = kept }
        return entries.count - kept.count
    }

    // MARK: At rest

    private static func context(_ purpose: UInt16, _ vaultID: VaultID) -> [UInt8] {
        vaultID.bytes + purpose.bigEndianBytes
    }

    private static func wrappingKey(
        _ classKey: ClassKey, _ vaultID: VaultID
    ) throws(CofferError) -> SymmetricKey {
        let context = vaultID.bytes
        return try HKDF.deriveKey(from: classKey.key, info: KDFLabel.fileInnerWrapping, context: context.span)
    }

    private static func unwrap(
        _ entry: Entry, under wrapping: borrowing SymmetricKey, vaultID: VaultID
    ) throws(CofferError) -> FileKEK {
        let context = context(entry.purpose, vaultID)
        do throws(CofferError) {
            return FileKEK(id: entry.key.id, try entry.key.unwrap(under: wrapping, context: context.span))
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw CofferError(.corrupt, "The \(record.displayName) is damaged.", remedy: record.remedy)
        }
    }

    package func encode(to writer: inout BinaryWriter) {
        writer.append(UInt32((hasIndex ? 1 : 0) | (isRotating ? 2 : 0) | (hasIndexCommits ? 4 : 0)))
        writer.append(UInt16(entries.count))
        for entry in entries {
            writer.append(entry.purpose)
            writer.append(entry.protector)
            writer.append(entry.key.encoded)
        }
    }

    package init(from reader: inout BinaryReader) throws(CofferError) {
        let flags = try reader.number(UInt32.self)
        guard flags <= 7 else {
            throw CofferError(
                .unsupportedVersion,
                "The \(Self.record.displayName) was written by a newer release. Use that release.")
        }
        hasIndex = flags & 1 != 0
        isRotating = flags & 2 != 0
        hasIndexCommits = flags & 4 != 0
        for _ in 0..<(try reader.number(UInt16.self)) {
            let purpose = try reader.number(UInt16.self)
            let protector = try reader.take(16)
            let wrapped = try reader.take(WrappedKey.encodedSize)
            entries.append(
                Entry(purpose: purpose, protector: protector, key: try WrappedKey.decode(wrapped.span)))
        }
    }
}

/// The keys of a keyset that an operation on many files has unwrapped.
private final class UnwrappedFileKeys: Sendable {
    private let keys = Mutex<[(entry: FileKeyset.Entry, key: FileKEK)]>([])

    func key(of entry: FileKeyset.Entry) -> FileKEK? {
        keys.withLock { keys in keys.first { $0.entry == entry }?.key }
    }

    func add(_ key: FileKEK, of entry: FileKeyset.Entry) {
        keys.withLock { $0.append((entry, key)) }
    }
}

/// A key that wraps file keys, with the identifier that containers store for it.
final class FileKEK: Sendable {
    let id: [UInt8]
    let key: SymmetricKey
    /// The keeper of a session's key; `nil` for a key that is recorded or derived.
    let keeper: VolatileFileKeeper?

    init(id: [UInt8], _ key: consuming SymmetricKey, keeper: VolatileFileKeeper? = nil) {
        self.id = id
        self.key = key
        self.keeper = keeper
    }

    func wrap(_ fileKey: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        try KeyWrap.wrap(fileKey, under: key)
    }

    func unwrap(_ wrapped: [UInt8]) throws(CofferError) -> SymmetricKey {
        try KeyWrap.unwrap(wrapped.span, under: key)
    }
}
