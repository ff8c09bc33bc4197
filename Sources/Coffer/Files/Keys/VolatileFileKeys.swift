import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization

/// The keys of session-only files, one for each class, and what keys of session-only databases are derived
/// from, either in this process's memory or in the kernel keyring beside the ephemeral tokens. They are never
/// written to a disk, and every lock destroys them.
///
/// In the kernel keyring there is only a random secret. The key is derived from it and the class key, and the
/// key's identifier from it and the boot, so a secret that another program put there opens no file, and a
/// copy of the secret opens none after a reboot.
package final class VolatileFileKeys: Sendable {
    private static let secretSize = 32

    private let vaultID: VaultID
    private let clock: VaultClock
    private let cache: KernelKeyCache
    /// The sessions in this process's memory.
    private let sessions = Mutex<[ProtectionClass: VolatileFileSession]>([:])
    private let isShared = Atomic(false)

    init(_ core: VaultCore) {
        vaultID = core.device.vaultID
        clock = core.clock
        cache = core.cachedKeys
        core.events.observe { [weak self] event in
            if event.kind.evictsKeys { self?.endSessions { _ in true } }
        }
        core.events.onKeyEviction(while: self) { [weak self] classes in
            self?.endSessions(where: classes.contains)
        }
    }

    /// Keeps the keys of new files in the kernel keyring from now on.
    func share() { isShared.store(true, ordering: .sequentiallyConsistent) }

    /// Whether the keys of new files are kept in the kernel keyring.
    var isSharing: Bool { isShared.load(ordering: .sequentiallyConsistent) }

    static func absentError(_ id: FileID) -> CofferError {
        CofferError(
            .absent, "The session-only file \(id) belongs to a session that has ended, or to another one.")
    }

    // MARK: In a session

    /// Returns a class's session for a new file, and begins one if there is none. Call this method while
    /// holding the vault directory's lock, so that no other process begins another session.
    func current(
        _ protection: ProtectionClass, _ classKey: ClassKey
    ) throws(CofferError) -> VolatileFileSession {
        guard !isSharing else {
            let secret = try currentSecret(protection)
            return VolatileFileSession(try kek(secret, protection, classKey))
        }
        if let session = sessions.withLock({ $0[protection] }) { return session }
        let fresh = FileKEK(id: try SecureRandom.bytes(16), try SymmetricKey.random(), keeper: .process)
        let session = VolatileFileSession(fresh)
        return sessions.withLock { sessions in
            if let other = sessions[protection] { return other }
            sessions[protection] = session
            return session
        }
    }

    /// Throws `locked` if the session has ended.
    func requireCurrent(
        _ session: VolatileFileSession, _ protection: ProtectionClass
    ) throws(CofferError) {
        let id = session.kek.keeper == .process ? memoryID(protection) : try kernelID(protection)
        guard id == session.kek.id else { throw CofferError.locked }
    }

    /// Returns the key that wraps the inner file key of a session-only file; `nil` if this process does not
    /// have the key.
    func kek(
        of header: InnerHeader, _ protection: ProtectionClass, _ classKey: ClassKey
    ) throws(CofferError) -> FileKEK? {
        guard header.keeper == .kernelKeyring else {
            let session = sessions.withLock { $0[protection] }
            return session?.kek.id == header.kekID ? session?.kek : nil
        }
        guard let secret = try secret(protection) else { return nil }
        guard try id(of: secret, protection) == header.kekID else { return nil }
        return try kek(secret, protection, classKey)
    }

    // MARK: After a session

    /// Returns whether the key of a session-only file is gone for good, where `file` is its container.
    func hasEnded(
        _ header: InnerHeader, _ protection: ProtectionClass, _ file: consuming Descriptor
    ) throws(CofferError) -> Bool {
        guard let keeper = header.keeper else { return false }
        switch keeper {
        // A process that has the key holds a lock on the container.
        case .process: return try FileLock.tryAcquire(file) != nil
        case .kernelKeyring: return try kernelID(protection) != header.kekID
        }
    }

    // MARK: Databases

    /// Returns the identifiers of a vault's sessions in the kernel keyring, by class.
    ///
    /// - Throws: An error if the kernel keyring cannot be searched.
    static func sessionsInKernel(
        of vaultID: VaultID, boot: String
    ) throws(CofferError) -> [ProtectionClass: [UInt8]] {
        guard let ring = try KernelKeyCache.volatileRing(of: vaultID) else { return [:] }
        var sessions: [ProtectionClass: [UInt8]] = [:]
        for protection in ProtectionClass.allCases {
            guard let secret = try secret(protection, in: ring) else { continue }
            sessions[protection] = try id(of: secret, context(vaultID, protection, boot))
        }
        return sessions
    }

    /// Returns the identifiers of the sessions in the kernel keyring, by class.
    func sessionsInKernel() throws(CofferError) -> [ProtectionClass: [UInt8]] {
        try Self.sessionsInKernel(of: vaultID, boot: clock.bootIdentifier())
    }

    /// Returns the identifier of a class's session in the kernel keyring, and begins a session if there is
    /// none. Call this method while holding the vault directory's lock.
    func sessionInKernel(_ protection: ProtectionClass) throws(CofferError) -> [UInt8] {
        try id(of: currentSecret(protection), protection)
    }

    /// Returns the key of a database, whose random `number` is part of no other key; `nil` if the class's
    /// session has ended, or is another one than `session`.
    func databaseKey(
        _ number: [UInt8], _ session: [UInt8], _ protection: ProtectionClass, _ classKey: ClassKey
    ) throws(CofferError) -> SecretBytes? {
        guard let secret = try secret(protection), try id(of: secret, protection) == session else {
            return nil
        }
        let context = context(protection) + number
        let key = try HKDF.deriveKey(
            from: classKey.key, and: secret, info: KDFLabel.volatileDatabase, context: context.span)
        return try key.withSpan { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
    }

    /// Closes the container of a file that was removed.
    func release(_ id: FileID) {
        for session in sessions.withLock({ Array($0.values) }) { session.release(id) }
    }

    /// Ends the sessions in the kernel keyring whose keys were derived from a replaced class key.
    func endSharedSessions(of classes: Set<ProtectionClass>) {
        guard let ring = try? cache.volatileRing() else { return }
        for protection in classes { _ = try? ring.remove(Self.entry(protection)) }
    }

    private func endSessions(where matches: (ProtectionClass) -> Bool) {
        sessions.withLock { sessions in sessions = sessions.filter { !matches($0.key) } }
    }

    // MARK: Keys

    private func memoryID(_ protection: ProtectionClass) -> [UInt8]? {
        sessions.withLock { $0[protection]?.kek.id }
    }

    /// Returns the identifier of the key in the kernel keyring; `nil` if there is none.
    private func kernelID(_ protection: ProtectionClass) throws(CofferError) -> [UInt8]? {
        guard let secret = try secret(protection) else { return nil }
        return try id(of: secret, protection)
    }

    /// The description of a class's secret. It is not hexadecimal, so it names no token.
    private static func entry(_ protection: ProtectionClass) -> String { "files:\(protection.name)" }

    private func secret(_ protection: ProtectionClass) throws(CofferError) -> SymmetricKey? {
        guard let ring = try cache.volatileRing() else { return nil }
        return try Self.secret(protection, in: ring)
    }

    private static func secret(
        _ protection: ProtectionClass, in ring: KernelSubkeyring
    ) throws(CofferError) -> SymmetricKey? {
        guard let bytes = try ring.read(entry(protection)), bytes.count == secretSize else { return nil }
        return try SymmetricKey.copying(bytes.span)
    }

    private func currentSecret(_ protection: ProtectionClass) throws(CofferError) -> SymmetricKey {
        if let secret = try secret(protection) { return secret }
        let bytes = try GuardedBytes.random(count: Self.secretSize)
        try cache.makeVolatileRing().store(bytes, description: Self.entry(protection))
        return try SymmetricKey.copying(bytes.span)
    }

    private func context(_ protection: ProtectionClass) -> [UInt8] {
        Self.context(vaultID, protection, clock.bootIdentifier())
    }

    private static func context(
        _ vaultID: VaultID, _ protection: ProtectionClass, _ boot: String
    ) -> [UInt8] {
        vaultID.bytes + protection.rawValue.bigEndianBytes + Array(boot.utf8)
    }

    private func id(
        of secret: borrowing SymmetricKey, _ protection: ProtectionClass
    ) throws(CofferError) -> [UInt8] {
        try Self.id(of: secret, context(protection))
    }

    private static func id(
        of secret: borrowing SymmetricKey, _ context: [UInt8]
    ) throws(CofferError) -> [UInt8] {
        let key = try HKDF.deriveKey(from: secret, info: KDFLabel.volatileFileID, context: context.span)
        return try key.withSpan { (bytes) throws(CofferError) in bytes.extracting(..<16).copied() }
    }

    private func kek(
        _ secret: borrowing SymmetricKey, _ protection: ProtectionClass, _ classKey: ClassKey
    ) throws(CofferError) -> FileKEK {
        let context = context(protection)
        let key = try HKDF.deriveKey(
            from: classKey.key, and: secret, info: KDFLabel.volatileFileKEK, context: context.span)
        return FileKEK(id: try id(of: secret, protection), key, keeper: .kernelKeyring)
    }
}
