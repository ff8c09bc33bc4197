import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// The stored form of a session's state: the record, its DPoP key, and during a sign-in also those of the
/// next session, which replace them as soon as the next refresh token is stored.
///
/// The form is one byte for the version and one for the number of parts, then each part: a byte for its role,
/// and the record and the key, each after its length in four bytes. Zero bytes may follow: they hold space on
/// the disk that a new token can take.
struct GrantRow: Sendable {
    /// A record with its key.
    struct Part: Sendable {
        var record: GrantRecord
        let dpopKey: Token?
    }

    private static let version: UInt8 = 1
    private static let maxKeyByteCount = 1 << 14

    /// The session that is stored; `nil` during a first sign-in.
    var current: Part?
    /// The session whose sign-in was begun last; `nil` if none is unfinished.
    var next: Part?

    /// Returns the part to which the stored refresh token belongs.
    ///
    /// - Parameter generation: The name of the sign-in that the refresh token carries; `nil` if there is no
    ///   refresh token or if it carries none.
    /// - Returns: The part; `nil` if the first sign-in was interrupted.
    func part(for generation: String?) -> Part? {
        if let next, let generation, next.record.generation.hasSameBytes(as: generation) { return next }
        return current
    }

    /// Returns a session as it is stored here, which others may have changed; `nil` if it is not.
    func noted(_ part: Part) -> Part? {
        [current, next].compactMap { $0 }
            .first { $0.record.generation.hasSameBytes(as: part.record.generation) }
    }

    /// Returns the stored form, followed by so many bytes that hold space.
    func encoded(ballast: Int) throws(CofferError) -> Token {
        let parts = [(UInt8(0), current), (UInt8(1), next)]
        var buffer = try GuardedBuffer.make(limit: Token.maxByteCount)
        try buffer.append([Self.version, UInt8(parts.count { $0.1 != nil })].span)
        for case (let role, let part?) in parts {
            let record = try part.record.encoded()
            try buffer.append(([role] + UInt32(record.count).bigEndianBytes + record).span)
            try buffer.append(UInt32(part.dpopKey?.count ?? 0).bigEndianBytes.span)
            guard let key = part.dpopKey else { continue }
            let bytes = try key.guardedCopy()
            try buffer.append(bytes.guarded.span)
        }
        if ballast > 0 { try buffer.append([UInt8](repeating: 0, count: ballast).span) }
        return try Token(SecretBytes(buffer.finish()))
    }

    init(current: Part?, next: Part? = nil) {
        self.current = current
        self.next = next
    }

    /// Reads the stored form.
    ///
    /// - Throws: `corrupt` if it is invalid; `unsupportedVersion` if a newer release stored it.
    init(decoding token: Token) throws(CofferError) {
        self = try token.exposing { (bytes) throws(CofferError) -> GrantRow in
            guard bytes.count >= 2 else { throw Self.corrupt }
            guard bytes[0] <= Self.version else {
                throw CofferError(
                    .unsupportedVersion, "A newer release stored this session.", remedy: .useNewerRelease)
            }
            guard bytes[0] == Self.version, bytes[1] <= 2 else { throw Self.corrupt }
            var row = GrantRow(current: nil)
            var at = 2
            for _ in 0..<bytes[1] {
                guard at < bytes.count, bytes[at] <= 1 else { throw Self.corrupt }
                let isNext = bytes[at] == 1
                let record = try Self.field(bytes, after: at + 1, atMost: GrantRecord.maxByteCount)
                let key = try Self.field(bytes, after: record.upperBound, atMost: Self.maxKeyByteCount)
                at = key.upperBound
                let part = Part(
                    record: try GrantRecord(decoding: bytes.extracting(record).copied()),
                    dpopKey: key.isEmpty
                        ? nil : try Token(SecretBytes.copying(bytes.extracting(key))))
                if isNext { row.next = part } else { row.current = part }
            }
            return row
        }
    }

    /// Returns the range of a field whose length stands at `start`.
    private static func field(
        _ bytes: Span<UInt8>, after start: Int, atMost limit: Int
    ) throws(CofferError) -> Range<Int> {
        guard bytes.count - start >= 4 else { throw corrupt }
        let count = Int(bytes.bigEndian(UInt32.self, at: start))
        guard count <= limit, count <= bytes.count - start - 4 else { throw corrupt }
        return start + 4..<start + 4 + count
    }

    private static var corrupt: CofferError {
        CofferError(
            .corrupt, "A new sign-in is needed: the state of a session is damaged.", remedy: .signIn)
    }
}
