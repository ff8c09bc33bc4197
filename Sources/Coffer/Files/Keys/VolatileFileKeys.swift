import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization

/// The keys of session-only files, one for each class, either in this process's memory or in the kernel
/// keyring beside the ephemeral tokens. They are never written to a disk, and every lock destroys them.
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
        guard !isShared.load(ordering: .sequentiallyConsistent) else {
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
        guard let bytes = try ring.read(Self.entry(protection)) else { return nil }
        guard bytes.count == Self.secretSize else { return nil }
        return try SymmetricKey.copying(bytes.span)
    }

    private func currentSecret(_ protection: ProtectionClass) throws(CofferError) -> SymmetricKey {
        if let secret = try secret(protection) { return secret }
        let bytes = try GuardedBytes.random(count: Self.secretSize)
        try cache.makeVolatileRing().store(bytes, description: Self.entry(protection))
        return try SymmetricKey.copying(bytes.span)
    }

    private func context(_ protection: ProtectionClass) -> [UInt8] {
        vaultID.bytes + protection.rawValue.bigEndianBytes + Array(clock.bootIdentifier().utf8)
    }

    private func id(
        of secret: borrowing SymmetricKey, _ protection: ProtectionClass
    ) throws(CofferError) -> [UInt8] {
        let context = context(protection)
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
