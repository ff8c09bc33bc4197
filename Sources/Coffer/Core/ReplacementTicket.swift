import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// A key that proves the right to replace one version of a token while the token's class is locked. The
/// ticket is derived from the key under which that version is sealed.
///
/// A process that has read or written that version can derive the ticket. Other processes cannot, because the
/// version's key is wrapped under the class key. The ticket therefore proves that a value stored while the
/// class is locked comes from a process that knew the value it replaces.
final class ReplacementTicket: Sendable {
    private let key: SymmetricKey

    init(of tokenKey: borrowing SymmetricKey, name: [UInt8]) throws(CofferError) {
        let key = try HKDF.deriveKey(from: tokenKey, info: KDFLabel.tokenReplacement, context: name.span)
        self.key = key
    }

    /// Computes the proof for a pending value: an HMAC over everything in its sealed box except the proof.
    func proof(_ head: [UInt8], _ rest: Span<UInt8>) throws(CofferError) -> [UInt8] {
        let message = try GuardedBytes.concatenating(head.span, rest)
        return try HMAC.authenticate(message.span, key: key)
    }

    /// Returns whether `proof` was made with this ticket.
    func isValid(_ proof: [UInt8], _ head: [UInt8], _ rest: Span<UInt8>) throws(CofferError) -> Bool {
        let message = try GuardedBytes.concatenating(head.span, rest)
        return try HMAC.isValid(proof.span, for: message.span, key: key)
    }
}

/// A vault object's tickets for the token versions that it most recently read or wrote. A lock keeps the
/// tickets, because they do not make any value readable. ``VaultCore/close(_:)`` and a wipe remove the
/// tickets.
final class ReplacementTickets: Sendable {
    /// The maximum number of tickets; the oldest are removed first.
    static let maxCount = 128

    private struct Entry {
        let ticket: ReplacementTicket
        /// The version's wrapped key, as stored; `nil` for a pending value.
        let wrapped: WrappedKey?
        /// Whether the version was stored while its class was locked and has the mark of such values.
        let isMarked: Bool
        let order: UInt64
    }

    private struct State {
        var entries: [[UInt8]: Entry] = [:]
        var count: UInt64 = 0
    }

    private let state = Mutex(State())

    /// The ticket for the token with this name; `nil` if there is none.
    subscript(name: [UInt8]) -> ReplacementTicket? { state.withLock { $0.entries[name]?.ticket } }

    /// Returns whether the cached ticket belongs to the version with this wrapped key.
    func has(_ wrapped: WrappedKey, for name: [UInt8]) -> Bool {
        state.withLock { $0.entries[name]?.wrapped == wrapped }
    }

    /// Returns whether this vault object knows that the version with this wrapped key has no mark.
    func isUnmarked(_ wrapped: WrappedKey, for name: [UInt8]) -> Bool {
        state.withLock { $0.entries[name].map { $0.wrapped == wrapped && !$0.isMarked } ?? false }
    }

    func keep(
        _ ticket: ReplacementTicket, for name: [UInt8], wrapped: WrappedKey? = nil, isMarked: Bool = false
    ) {
        state.withLock { state in
            state.count += 1
            state.entries[name] = Entry(
                ticket: ticket, wrapped: wrapped, isMarked: isMarked, order: state.count)
            guard state.entries.count > Self.maxCount else { return }
            let oldest = state.entries.min { $0.value.order < $1.value.order }
            if let oldest { state.entries[oldest.key] = nil }
        }
    }

    func clear() { state.withLock { $0.entries = [:] } }
}
