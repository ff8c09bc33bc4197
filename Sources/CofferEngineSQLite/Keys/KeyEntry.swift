import CofferBase
import CofferEngine
import Synchronization

/// A key that files may be opened with, under a token that says nothing about it.
final class KeyEntry: Sendable {
    let format: CodecFormat
    let pageSize: Int
    let trace: ShapeTrace?
    /// Whether what is opened with it is never written.
    let isReadOnly: Bool
    private let isPassphrase: Bool
    private let fixedSalt: [UInt8]?
    /// The size of SQLCipher's plaintext header; 0 without.
    let plaintextHeader: Int
    private let revoked = Atomic(false)

    private struct State: ~Copyable {
        var secret: GuardedBytes?
        var keys: DerivedKeys?
        var newIdentity: [UInt8]?
        var diagnosis: OpenDiagnosis?
        /// What `VACUUM INTO` opens must not have its geometry pinned.
        var isUnpinned = false
        var reserve: Int

        /// The keys; `nil` when the secret was taken back.
        func derive(
            _ format: CodecFormat, isPassphrase: Bool, identity: [UInt8]
        ) throws(CofferError) -> DerivedKeys? {
            switch secret {
            case .some(let secret):
                try DerivedKeys.derive(
                    format, secret: secret, isPassphrase: isPassphrase, identity: identity)
            case .none: nil
            }
        }
    }

    private let state: Mutex<State>

    init(
        format: CodecFormat, secret: consuming GuardedBytes, isPassphrase: Bool, salt: [UInt8]?, reserve: Int,
        pageSize: Int, plaintextHeader: Int, isReadOnly: Bool, trace: ShapeTrace?
    ) {
        self.format = format
        self.isReadOnly = isReadOnly
        self.isPassphrase = isPassphrase
        self.pageSize = pageSize
        self.trace = trace
        fixedSalt = salt
        self.plaintextHeader = plaintextHeader
        state = Mutex(State(secret: secret, reserve: reserve))
    }

    /// Whether the key was taken back: every further access fails.
    var isRevoked: Bool { revoked.load(ordering: .acquiring) }

    func revoke() {
        revoked.store(true, ordering: .releasing)
        state.withLock { state in
            state.secret = nil
            state.keys = nil
        }
    }

    var diagnosis: OpenDiagnosis? {
        get { state.withLock { $0.diagnosis } }
        set { state.withLock { $0.diagnosis = newValue } }
    }

    /// The identity that keys were derived for last.
    var identity: [UInt8]? { state.withLock { $0.keys?.identity } }

    var isUnpinned: Bool {
        get { state.withLock { $0.isUnpinned } }
        set { state.withLock { $0.isUnpinned = newValue } }
    }

    /// The clear bytes of a database that has no page yet, the same for every connection of this process.
    private func newIdentity(_ state: inout State) throws(CofferError) -> [UInt8] {
        if let identity = state.newIdentity { return identity }
        let salt = if let fixedSalt { fixedSalt } else { try SecureRandom.bytes(format.saltSize) }
        let identity = Self.identity(format, salt: salt, reserve: state.reserve)
        state.newIdentity = identity
        return identity
    }

    static func identity(_ format: CodecFormat, salt: [UInt8], reserve: Int) -> [UInt8] {
        guard format == .gcm1 else { return salt }
        return GCMCodec.magic + [GCMCodec.version, UInt8(truncatingIfNeeded: reserve)] + salt
    }

    /// A codec for the database whose first bytes on the disk are `first`; `nil` there for one without pages
    /// or whose first page may be torn.
    func codec(first: [UInt8]?) -> PageCodec? {
        guard !isRevoked else { return nil }
        return state.withLock { state -> PageCodec? in
            do throws(CofferError) {
                var identity = try newIdentity(&state)
                if let first, let found = usable(first, identity) { identity = found }
                if state.keys?.identity != identity {
                    let keys = try state.derive(format, isPassphrase: isPassphrase, identity: identity)
                    state.keys = keys
                }
                guard let keys = state.keys else { return nil }
                return format == .gcm1
                    ? GCMCodec(pageSize: pageSize, reserve: Int(identity[9]), keys: keys)
                    : SQLCipherCodec(
                        format, pageSize: pageSize, keys: keys, plaintextHeader: plaintextHeader)
            } catch {
                return nil
            }
        }
    }

    /// The clear bytes on the disk, if they can be those of this key's database.
    private func usable(_ first: [UInt8], _ own: [UInt8]) -> [UInt8]? {
        guard first.count == PageCodec.clearSize, first != PageCodec.plainMagic else { return nil }
        guard format == .gcm1 else { return fixedSalt == nil ? first : nil }
        guard first[..<8] == GCMCodec.magic[...], first[8] == GCMCodec.version,
            first[9] >= GCMCodec.leastReserve, fixedSalt.map({ Array(first[10...]) == $0 }) ?? true
        else { return nil }
        return first
    }

    /// What the first bytes of a file say of it when its first page cannot be opened.
    func diagnose(first: [UInt8], opensAnother: Bool) -> OpenDiagnosis {
        let isGCM = first[..<8] == GCMCodec.magic[...]
        if isGCM, first[8] != GCMCodec.version { return .otherVersion }
        if isGCM != (format == .gcm1) { return .otherFormat }
        return opensAnother ? .damaged : .wrongKey
    }
}

/// Why a database's first page could not be opened.
package enum OpenDiagnosis: Sendable {
    /// It is not encrypted at all.
    case plain
    /// SQLCipher left the beginning of its first page in clear.
    case plaintextHeader
    /// It is in another format.
    case otherFormat
    /// It is in a later version of the format.
    case otherVersion
    /// Another page opens under the key: the first is damaged.
    case damaged
    /// Nothing is left of it but a journal.
    case emptied
    /// The key is not the database's, or there is no other page to tell.
    case wrongKey
}
