import CofferBase
import CofferEngine
import Synchronization

/// A key for opening files, registered under a token that reveals nothing about the key.
final class KeyEntry: Sendable {
    let format: CodecFormat
    let pageSize: Int
    let trace: AccessTrace?
    /// Whether the VFS refuses to write to files that are opened under this key.
    let isReadOnly: Bool
    /// The costs of deriving the key from a passphrase; `nil` for a raw key.
    private let costs: DerivationCosts?
    /// The number of rounds in SQLCipher's key derivation; `nil` for the format's default.
    private let rounds: Int?
    private let fixedSalt: [UInt8]?
    /// The size in bytes of SQLCipher's plaintext header; 0 for none.
    let plaintextHeader: Int
    private let revoked = Atomic(false)
    /// The pages that SQLite keeps in memory for connections under this key.
    let cachedPages = CachedPages()
    private let isFirstOpen = Atomic(false)

    private struct State: ~Copyable {
        var secret: GuardedBytes?
        var keys: DerivedKeys?
        var newIdentity: [UInt8]?
        var provenIdentity: [UInt8]?
        var diagnosis: OpenDiagnosis?
        /// Whether databases under this key may change their geometry, as the target of `VACUUM INTO` must.
        var isUnpinned = false
        var reserve: Int
        /// Whether the last key derivation failed for lack of memory.
        var lacksMemory = false

        /// Derives the keys. Returns `nil` if the secret has been revoked.
        func derive(
            _ format: CodecFormat, isPassphrase: Bool, rounds: Int?, identity: [UInt8]
        ) throws(CofferError) -> DerivedKeys? {
            switch secret {
            case .some(let secret):
                try DerivedKeys.derive(
                    format, secret: secret, isPassphrase: isPassphrase, rounds: rounds, identity: identity)
            case .none: nil
            }
        }
    }

    private let state: Mutex<State>

    init(
        format: CodecFormat, secret: consuming GuardedBytes, costs: DerivationCosts?, rounds: Int?,
        salt: [UInt8]?, reserve: Int, pageSize: Int, plaintextHeader: Int, isReadOnly: Bool,
        trace: AccessTrace?
    ) {
        self.format = format
        self.isReadOnly = isReadOnly
        self.costs = costs
        self.rounds = rounds
        self.pageSize = pageSize
        self.trace = trace
        fixedSalt = salt
        self.plaintextHeader = plaintextHeader
        state = Mutex(State(secret: secret, reserve: reserve))
    }

    /// Whether the key has been revoked, in which case every further access fails.
    var isRevoked: Bool { revoked.load(ordering: .acquiring) }

    func revoke() {
        revoked.store(true, ordering: .releasing)
        cachedPages.revoke()
        state.withLock { state in
            state.secret = nil
            state.keys = nil
        }
    }

    /// Whether a queue, or the writer of a pool, has a database open under the key.
    var isInUse: Bool { isFirstOpen.load(ordering: .acquiring) }

    /// Records that a database file was opened. Returns whether it is the first open file under the key: the
    /// file of a queue or of a pool's writer, which opens before the pool's readers.
    func noteOpened() -> Bool {
        isFirstOpen.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
            .exchanged
    }

    /// Records that the first database file was closed.
    func noteFirstClosed() { isFirstOpen.store(false, ordering: .releasing) }

    var diagnosis: OpenDiagnosis? {
        get { state.withLock { $0.diagnosis } }
        set { state.withLock { $0.diagnosis = newValue } }
    }

    /// The plaintext bytes of the database that was last opened or created under this key. A copy's plaintext
    /// bytes are never recorded.
    var provenIdentity: [UInt8]? {
        get { state.withLock { $0.provenIdentity } }
        set { state.withLock { $0.provenIdentity = newValue } }
    }

    var isUnpinned: Bool {
        get { state.withLock { $0.isUnpinned } }
        set { state.withLock { $0.isUnpinned = newValue } }
    }

    /// Returns the plaintext bytes for a database that has no page yet. They are the same for every
    /// connection of this process that uses the key.
    private func newIdentity(_ state: inout State) throws(CofferError) -> [UInt8] {
        if let identity = state.newIdentity { return identity }
        let salt = if let fixedSalt { fixedSalt } else { try SecureRandom.bytes(CodecFormat.saltSize) }
        let identity =
            format == .gcm1
            ? GCMHeader(reserve: state.reserve, cost: costs?.own, salt: salt).bytes : salt
        state.newIdentity = identity
        return identity
    }

    /// Returns a codec for the database whose first bytes on the disk are `first`. Pass `nil` for a database
    /// without pages, or if its first page may be torn.
    func codec(first: [UInt8]?) -> PageCodec? {
        guard !isRevoked else { return nil }
        return state.withLock { state -> PageCodec? in
            do throws(CofferError) {
                state.lacksMemory = false
                var identity = try newIdentity(&state)
                if let first, let found = usable(first, identity) {
                    identity = found
                } else if format == .gcm1, let header = first.flatMap({ GCMHeader($0) }),
                    refusal(header) != nil
                {
                    // Derive no key for a refused file: this codec opens and seals nothing.
                    return PageCodec(pageSize: pageSize, reserve: Int(identity[9]), identity: identity)
                }
                if state.keys?.identity != identity {
                    let keys = try state.derive(
                        format, isPassphrase: costs != nil, rounds: rounds, identity: identity)
                    state.keys = keys
                }
                guard let keys = state.keys else { return nil }
                return format == .gcm1
                    ? GCMCodec(pageSize: pageSize, reserve: Int(identity[9]), keys: keys)
                    : SQLCipherCodec(
                        format, pageSize: pageSize, keys: keys, plaintextHeader: plaintextHeader)
            } catch {
                state.lacksMemory = error.code == .outOfMemory
                if state.lacksMemory { state.diagnosis = .noMemory }
                return nil
            }
        }
    }

    /// Returns the plaintext bytes at the start of `first`; `nil` if they cannot belong to a database under
    /// this key.
    private func usable(_ first: [UInt8], _ own: [UInt8]) -> [UInt8]? {
        guard first.count >= CodecFormat.saltSize, !first.starts(with: PageCodec.plainMagic) else {
            return nil
        }
        guard format == .gcm1 else {
            return fixedSalt == nil ? Array(first[..<CodecFormat.saltSize]) : nil
        }
        guard let header = GCMHeader(first), header.reserve >= GCMCodec.leastReserve,
            fixedSalt.map({ header.salt == $0 }) ?? true, refusal(header) == nil,
            header.version == 1 || (header.cost != nil) == (costs != nil)
        else { return nil }
        return header.bytes
    }

    /// Returns the reason not to derive a key for a database with this header; `nil` if the key may be
    /// derived.
    private func refusal(_ header: GCMHeader) -> OpenDiagnosis? {
        guard let cost = header.cost, let costs else { return nil }
        return costs.refusal(cost, lanes: header.lanes)
    }

    /// Returns the reason that a file's first page cannot be opened, judging by the file's first bytes and
    /// its size, if that is known.
    func diagnose(first: [UInt8], size: Int64?, opensAnother: Bool) -> OpenDiagnosis {
        if first.allSatisfy({ $0 == 0 }) { return .unwritten }
        let isGCM = GCMHeader.isGCM(first)
        if isGCM, !GCMHeader.versions.contains(first[8]) { return .otherVersion }
        if isGCM != (format == .gcm1) { return .otherFormat }
        if let size, size < pageSize { return .tooShort }
        if let reason = GCMHeader(first).flatMap({ refusal($0) }) { return reason }
        if state.withLock({ $0.lacksMemory }) { return .noMemory }
        return opensAnother ? .damaged : .wrongKey
    }
}

/// The reason that a database's first page could not be opened.
package enum OpenDiagnosis: Sendable, Equatable {
    /// The database is not encrypted at all.
    case plain
    /// SQLCipher left the beginning of the first page in plaintext.
    case plaintextHeader
    /// The database is in another format.
    case otherFormat
    /// The file is shorter than a page.
    case tooShort
    /// The database uses a version of its format that this release does not support.
    case otherVersion
    /// Deriving the key from the passphrase costs more than the caller has permitted.
    case expensive(DerivationCost)
    /// The derivation cost in the header is out of bounds.
    case impossibleCost
    /// There was not enough memory to derive the key.
    case noMemory
    /// Another page opens under the key, so the first page is damaged.
    case damaged
    /// The beginning of the file was never written, or was overwritten with zeros.
    case unwritten
    /// The database file is empty, but the journal beside it records pages.
    case emptied
    /// The key is wrong, or the first page is damaged and no other page opens to prove that the key is right.
    case wrongKey
}
