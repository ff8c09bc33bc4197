import CofferBase
import CofferEngine

/// The keys of one database, derived from the registered key and the plaintext bytes of the first page.
final class DerivedKeys: Sendable {
    /// The plaintext bytes of page 1, from which the keys were derived.
    let identity: [UInt8]
    let encryption: GuardedBytes
    /// The HMAC key for the pages. Pages in `gcm1` have no HMAC; that format uses this key only for
    /// ``journalKey()``.
    let authentication: GuardedBytes
    /// The ID that `gcm1` binds every page to; empty for other formats.
    let databaseID: [UInt8]

    func withEncryptionKey<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        encryption.withSpan(body)
    }

    func withAuthenticationKey<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        authentication.withSpan(body)
    }

    private init(
        identity: [UInt8], encryption: consuming GuardedBytes, authentication: consuming GuardedBytes,
        databaseID: [UInt8]
    ) {
        self.identity = identity
        self.encryption = encryption
        self.authentication = authentication
        self.databaseID = databaseID
    }

    static func derive(
        _ format: CodecFormat, secret: borrowing GuardedBytes, isPassphrase: Bool, rounds: Int?,
        identity: [UInt8]
    ) throws(CofferError) -> DerivedKeys {
        let key =
            isPassphrase
            ? try deriveKey(format, passphrase: secret.span, salt: identity, rounds: rounds)
            : try GuardedBytes.copying(secret.span)
        return format == .gcm1
            ? try derivedForGCM(key, identity: identity)
            : try derivedForSQLCipher(format, key, identity: identity)
    }

    private static func derivedForGCM(
        _ key: consuming GuardedBytes, identity: [UInt8]
    ) throws(CofferError) -> DerivedKeys {
        guard let context = GCMHeader(identity)?.context else { throw noHeader }
        let authentication = try GuardedBytes.filled(count: 32) { (span) throws(CofferError) in
            try expand(
                key.span, info: Array("coffer/database-authentication/v1".utf8) + context, into: &span)
        }
        let pages = try GuardedBytes.filled(count: 32) { (span) throws(CofferError) in
            try expand(key.span, info: Array("coffer/database-pages/v1".utf8) + context, into: &span)
        }
        var databaseID = [UInt8](repeating: 0, count: 16)
        var span = databaseID.mutableSpan
        try expand(key.span, info: Array("coffer/database-id/v1".utf8) + context, into: &span)
        return DerivedKeys(
            identity: identity, encryption: pages, authentication: authentication, databaseID: databaseID)
    }

    private static let noHeader = CofferError(
        .internalFailure, "The database's first page does not begin with the header of the database's format."
    )

    /// Derives the key for ``JournalSeal``.
    func journalKey() throws(CofferError) -> GuardedBytes {
        try GuardedBytes.filled(count: 32) { (span) throws(CofferError) in
            try authentication.withSpan { (key) throws(CofferError) in
                try Self.expand(key, info: Array("coffer/database-journal/v1".utf8) + identity, into: &span)
            }
        }
    }

    private static func expand(
        _ key: Span<UInt8>, info: [UInt8], into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let none = [UInt8]()
        try HKDFBinding.derive(
            key: key, salt: none.span, info: info.span, digest: .sha256, mode: .extractAndExpand,
            into: &output)
    }

    private static func derivedForSQLCipher(
        _ format: CodecFormat, _ key: consuming GuardedBytes, identity: [UInt8]
    ) throws(CofferError) -> DerivedKeys {
        let salt = identity.map { $0 ^ 0x3a }
        let authentication = try GuardedBytes.filled(count: 32) { (span) throws(CofferError) in
            try PBKDF2Binding.derive(
                secret: key.span, salt: salt.span, rounds: 2, digest: format == .sqlcipher3 ? .sha1 : .sha512,
                into: &span)
        }
        return DerivedKeys(
            identity: identity, encryption: key, authentication: authentication, databaseID: [])
    }

    /// Derives a key from a passphrase with the format's own derivation; `rounds` overrides SQLCipher's
    /// default.
    private static func deriveKey(
        _ format: CodecFormat, passphrase: Span<UInt8>, salt: [UInt8], rounds: Int?
    ) throws(CofferError) -> GuardedBytes {
        var key = try GuardedBytes.zeroed(count: 32)
        var span = key.mutableSpan
        switch format {
        case .gcm1:
            guard let header = GCMHeader(salt) else { throw noHeader }
            let cost = header.cost ?? GCMHeader.firstCost
            try Argon2idBinding.derive(
                secret: passphrase, salt: header.derivationSalt.span, passes: cost.passes,
                memoryBytes: cost.memoryKiB << 10, into: &span)
        case .sqlcipher4:
            try PBKDF2Binding.derive(
                secret: passphrase, salt: salt.span, rounds: rounds ?? 256_000, digest: .sha512, into: &span)
        case .sqlcipher3:
            try PBKDF2Binding.derive(
                secret: passphrase, salt: salt.span, rounds: rounds ?? 64_000, digest: .sha1, into: &span)
        }
        return key
    }
}

extension GuardedBytes {
    /// Passes the bytes to `body`. Use this function for bytes that an object holds, whose span cannot be
    /// accessed directly.
    fileprivate borrowing func withSpan<Result, Failure>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result { try body(span) }
}
