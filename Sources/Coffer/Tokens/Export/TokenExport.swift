import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// A token export that another vault can import: a header, followed by a sealed record for each token.
///
/// Header: magic (8), version (2), key derivation (1: 1 is Argon2id), 5 zero bytes, salt (16), memory in KiB
/// (4), passes (4), 8 zero bytes, then HMAC-SHA256 over these 48 bytes (32). The HMAC distinguishes a wrong
/// passphrase from damage after the header and binds the file to one passphrase. Each record: length (4),
/// then nonce ‖ ciphertext ‖ tag of XChaCha20-Poly1305, with the 48 bytes and the record's number (8) as
/// associated data. The last record contains the number of tokens. The record numbers and this count reveal
/// truncation, reordering, omission and insertion.
final class TokenExport: Sendable {
    /// The maximum size of an export: 1 GiB.
    static let sizeLimit = 1 << 30
    /// The minimum passphrase length in bytes. Anyone who has an export can try passphrases without limit,
    /// and only the passphrase protects the export.
    static let shortestPassphrase = 12

    private static let fieldsSize = 48
    private static let tagSize = 32
    private static let displayName = "export"
    /// The maximum size of a record in bytes, which suffices for the longest value and metadata.
    private static let maxRecordLength = Token.maxByteCount + (1 << 18)

    /// An export's header, without its authentication tag.
    struct Header: Equatable {
        let salt: [UInt8]
        let cost: Argon2id.Cost

        var encoded: [UInt8] {
            var writer = BinaryWriter()
            writer.append(Array(FileMagic.export.utf8))
            writer.append(UInt16(1))
            writer.append([1, 0, 0, 0, 0, 0])
            writer.append(salt)
            writer.append(UInt32(cost.memoryKiB))
            writer.append(UInt32(cost.passes))
            writer.pad(to: fieldsSize)
            return writer.bytes
        }

        static func decode(_ bytes: [UInt8]) throws(CofferError) -> Header {
            var reader = BinaryReader(bytes, name: displayName, remedy: .useAnotherCopy)
            guard try reader.take(8) == Array(FileMagic.export.utf8) else { throw noExportError }
            let version = try reader.number(UInt16.self)
            let derivation = try reader.number(UInt8.self)
            guard version == 1, derivation == 1 else {
                throw CofferError(
                    .unsupportedVersion, "The export was written by a newer release. Use that release.")
            }
            guard try reader.take(5) == [0, 0, 0, 0, 0] else { throw reader.corruptError }
            let salt = try reader.take(Argon2id.saltSize)
            let memory = Int(try reader.number(UInt32.self))
            let cost = try Argon2id.Cost(memoryKiB: memory, passes: Int(try reader.number(UInt32.self)))
            guard try reader.take(8) == [UInt8](repeating: 0, count: 8) else { throw reader.corruptError }
            return Header(salt: salt, cost: cost)
        }
    }

    /// The contents of one record.
    enum Record {
        case token(TokenInfo, Token)
        case end(count: UInt64)

        private enum Kind { static let end: UInt8 = 0, token: UInt8 = 1 }

        static func encode(_ info: TokenInfo, _ token: Token) throws(CofferError) -> GuardedBytes {
            var writer = BinaryWriter()
            writer.append([Kind.token])
            writer.append(info.protection.rawValue)
            writer.appendLengthPrefixed(info.encoded)
            let prefix = writer.bytes
            return try token.exposing { (value) throws(CofferError) in
                try GuardedBytes.concatenating(prefix.span, value)
            }
        }

        static func encodeEnd(count: UInt64) throws(CofferError) -> GuardedBytes {
            let bytes = [Kind.end] + count.bigEndianBytes
            return try GuardedBytes.copying(bytes.span)
        }

        static func decode(_ bytes: Span<UInt8>) throws(CofferError) -> Record {
            guard bytes.count >= 7, bytes[0] == Kind.token else {
                guard bytes.count == 9, bytes[0] == Kind.end else { throw corruptError }
                return .end(count: bytes.bigEndian(UInt64.self, at: 1))
            }
            guard let protection = ProtectionClass(rawValue: bytes.bigEndian(UInt16.self, at: 1)) else {
                throw CofferError(
                    .unsupportedVersion,
                    "The export contains a protection class that is not supported by this release. Use a "
                        + "newer release.")
            }
            let length = Int(bytes.bigEndian(UInt32.self, at: 3))
            // An export never contains tokens that must not leave their device.
            guard protection.isExportable, length <= bytes.count - 7 else { throw corruptError }
            let metadata = bytes.extracting(7..<7 + length).copied()
            let info = try TokenInfo.decode(metadata, protection: protection)
            guard !ReservedServices.contains(info.id.service) else { throw corruptError }
            try info.checkLimits()
            let value = try SecretBytes.copying(bytes.extracting((7 + length)...))
            return .token(info, try Token(value))
        }
    }

    /// The keys derived from one passphrase and salt.
    private final class Keys: Sendable {
        let sealing: SymmetricKey
        let tag: SymmetricKey

        init(_ passphrase: Passcode, _ head: Header) throws(CofferError) {
            let salt = head.salt
            let master = try Argon2id.deriveKey(
                secret: passphrase.secret, salt: salt.span, cost: head.cost)
            let sealing = try HKDF.deriveKey(from: master, info: KDFLabel.exportSealing)
            let tag = try HKDF.deriveKey(from: master, info: KDFLabel.exportMAC)
            self.sealing = sealing
            self.tag = tag
        }
    }

    private static var corruptError: CofferError {
        CofferError(.corrupt, "The \(displayName) is damaged.", remedy: .useAnotherCopy)
    }

    private static var noExportError: CofferError {
        CofferError(
            .corrupt, "The file is not an export of Coffer tokens, or its first bytes are damaged.",
            remedy: .useAnotherCopy)
    }

    private static func context(_ head: [UInt8], _ number: Int) -> [UInt8] {
        head + UInt64(number).bigEndianBytes
    }

    // MARK: Writing

    /// A writer that creates an export record by record.
    struct Writer: ~Copyable {
        private let head: [UInt8]
        private let keys: Keys
        private var count = 0

        private init(head: [UInt8], keys: Keys) {
            self.head = head
            self.keys = keys
        }

        /// Starts an export in an empty file.
        static func begin(
            in file: borrowing Descriptor, passphrase: Passcode, cost: Argon2id.Cost
        ) throws(CofferError) -> Writer {
            let head = Header(salt: try SecureRandom.bytes(Argon2id.saltSize), cost: cost)
            let keys = try Keys(passphrase, head)
            let encoded = head.encoded
            let start = encoded + (try HMAC.authenticate(encoded.span, key: keys.tag))
            try file.append(start.span)
            return Writer(head: encoded, keys: keys)
        }

        mutating func add(
            _ info: TokenInfo, _ token: Token, to file: borrowing Descriptor
        ) throws(CofferError) {
            try append(Record.encode(info, token), to: file)
            count += 1
        }

        /// Finishes the export. No tokens can be added afterwards.
        consuming func finish(in file: borrowing Descriptor) throws(CofferError) {
            try append(Record.encodeEnd(count: UInt64(count)), to: file)
        }

        private func append(
            _ record: consuming GuardedBytes, to file: borrowing Descriptor
        ) throws(CofferError) {
            let context = TokenExport.context(head, count)
            let sealed = try XChaCha20Poly1305.seal(
                record.span, key: keys.sealing, associatedData: context.span)
            let framed = UInt32(sealed.count).bigEndianBytes + sealed
            try file.append(framed.span)
        }
    }

    // MARK: Reading

    private let bytes: [UInt8]
    private let head: [UInt8]
    private let keys: Keys

    /// The maximum amount of memory that a file may request before any of it is authenticated: 1 GiB.
    private static let standardMemoryKiB = 1 << 20
    /// The maximum total amount of memory, over all passes, that a file may request: 4 GiB. The total
    /// determines how long the key derivation takes.
    private static let standardWorkKiB = 1 << 22

    /// Returns whether a file may request this cost without the caller's permission.
    static func isStandard(_ cost: Argon2id.Cost) -> Bool {
        cost.memoryKiB <= standardMemoryKiB && cost.passes <= standardWorkKiB / cost.memoryKiB
    }

    /// Reads a complete export. Throws `wrongPasscode` if the export was sealed under a different passphrase.
    init(_ bytes: [UInt8], passphrase: Passcode, allowingExpensive: Bool) throws(CofferError) {
        guard bytes.starts(with: FileMagic.export.utf8) else { throw Self.noExportError }
        guard bytes.count >= Self.fieldsSize + Self.tagSize else { throw Self.corruptError }
        let head = Array(bytes[..<Self.fieldsSize])
        let fields = try Header.decode(head)
        guard Self.isStandard(fields.cost) || allowingExpensive else {
            throw CofferError(
                .refused,
                "Deriving the key for this export requires \(fields.cost.memoryKiB >> 10) MiB of memory and "
                    + "\(fields.cost.passes) passes before anything in it can be checked.",
                remedy: .allowExpensiveDerivation)
        }
        let keys = try Keys(passphrase, fields)
        let tag = bytes.span.extracting(Self.fieldsSize..<Self.fieldsSize + Self.tagSize)
        guard try HMAC.isValid(tag, for: head.span, key: keys.tag) else {
            throw CofferError(
                .wrongPasscode,
                "The passphrase is wrong, or the first bytes of the export are damaged.")
        }
        self.bytes = bytes
        self.head = head
        self.keys = keys
    }

    /// Calls `body` with each token in turn. Throws `corrupt` if any byte of the export is damaged or
    /// missing. Truncation is detected only at the end of the file, so iterate once to validate the export
    /// before storing anything.
    func forEachToken(
        _ body: (TokenInfo, Token) throws(CofferError) -> Void
    ) throws(CofferError) {
        var reader = BinaryReader(
            bytes, from: Self.fieldsSize + Self.tagSize, name: Self.displayName, remedy: .useAnotherCopy)
        var known: Set<TokenID> = []
        for number in 0... {
            let sealed = try reader.lengthPrefixed(limit: Self.maxRecordLength)
            switch try open(sealed, number) {
            case .token(let info, let token):
                guard known.insert(info.id).inserted else { throw Self.corruptError }
                try body(info, token)
            case .end(let count):
                guard count == UInt64(number), reader.remaining == 0 else { throw Self.corruptError }
                return
            }
        }
    }

    private func open(_ sealed: [UInt8], _ number: Int) throws(CofferError) -> Record {
        let context = Self.context(head, number)
        let record: SecretBytes
        do throws(CofferError) {
            record = try XChaCha20Poly1305.open(
                sealed.span, key: keys.sealing, associatedData: context.span)
        } catch {
            guard error.code == .notAuthentic || error.code == .invalidInput else { throw error }
            throw Self.corruptError
        }
        return try record.exposing { (bytes) throws(CofferError) in try Record.decode(bytes) }
    }
}
