import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// One part of the index: records of one class, or the identifiers of files that were removed.
///
/// Layout, with sizes in bytes: the frame's length (4); its kind (2; 1 for records, 2 for removals); the
/// protection class (2; 0 for removals; the highest bit marks session-only files, whose records releases that
/// do not know them refuse); the number n of entries (4). Removals continue with n ids (16 each). Records
/// continue with n times an id (16), a content generation (8) and an inner commitment (32), and then with the
/// nonce, ciphertext and tag of XChaCha20-Poly1305 over their remaining fields, under the class's index key.
/// Each frame ends with an HMAC-SHA256 under the device's index key (32). It covers the previous
/// frame's HMAC, or 32 zeros for the first frame, and this frame up to the HMAC, so no frame can be left out,
/// repeated or moved.
struct FileIndexFrame {
    static let headSize = 12
    static let tagSize = 32
    static let maxByteCount = 1 << 24
    /// The maximum number of records in a frame.
    static let capacity = 256

    enum Kind: UInt16 { case records = 1, tombstones = 2 }

    /// The bit of ``protection`` that marks session-only files.
    private static let volatileBit: UInt16 = 0x8000

    let kind: Kind
    let protection: UInt16
    let count: Int
    /// The frame's bytes except its tag.
    let body: [UInt8]

    /// Returns the value of ``protection`` for files of one class.
    static func field(_ protection: ProtectionClass, isVolatile: Bool) -> UInt16 {
        protection.rawValue | (isVolatile ? volatileBit : 0)
    }

    /// Returns the class in a value of ``protection``; `nil` if this release does not know it.
    static func protectionClass(_ field: UInt16) -> ProtectionClass? {
        ProtectionClass(rawValue: field & ~volatileBit)
    }

    /// Whether the records describe session-only files.
    var isVolatile: Bool { kind == .records && protection & Self.volatileBit != 0 }

    /// The part of the frame that is readable with the device key alone.
    var cleartextHeader: [UInt8] { Array(body[Self.headSize..<Self.headSize + clearCount]) }

    private var clearCount: Int { count * (kind == .records ? FileIndexRecord.clearSize : 16) }

    private init(kind: Kind, protection: UInt16, count: Int, body: [UInt8]) {
        self.kind = kind
        self.protection = protection
        self.count = count
        self.body = body
    }

    // MARK: Writing

    /// Returns a frame with records that are either all of ordinary files or all of session-only files.
    static func records(
        _ records: [FileIndexRecord], _ protection: ProtectionClass, classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> FileIndexFrame {
        let field = field(protection, isVolatile: records.first?.isVolatile == true)
        let clear = records.flatMap(\.clear)
        let plaintext = records.flatMap(\.sealed)
        let size = headSize + clear.count + plaintext.count + 40 + tagSize
        let head = head(size, .records, field, records.count)
        var cipher = try cipher(classKey, vaultID)
        let data = vaultID.bytes + head + clear
        let sealed = try cipher.seal(plaintext.span, associatedData: data.span)
        return FileIndexFrame(
            kind: .records, protection: field, count: records.count, body: head + clear + sealed)
    }

    static func tombstones(_ ids: [FileID]) -> FileIndexFrame {
        let clear = ids.flatMap { $0.uuid.bytes }
        let head = head(headSize + clear.count + tagSize, .tombstones, 0, ids.count)
        return FileIndexFrame(kind: .tombstones, protection: 0, count: ids.count, body: head + clear)
    }

    private static func head(_ size: Int, _ kind: Kind, _ protection: UInt16, _ count: Int) -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(UInt32(size))
        writer.append(kind.rawValue)
        writer.append(protection)
        writer.append(UInt32(count))
        return writer.bytes
    }

    /// Computes this frame's tag, where `previous` is the previous frame's tag.
    func tag(after previous: [UInt8], key: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        let message = previous + body
        return try HMAC.authenticate(message.span, key: key)
    }

    // MARK: Reading

    /// Returns the length that the frame at `offset` states; `nil` if that length is impossible.
    static func size(_ bytes: Span<UInt8>, at offset: Int) -> Int? {
        guard bytes.count - offset >= headSize + tagSize else { return nil }
        let size = Int(bytes.bigEndian(UInt32.self, at: offset))
        guard size >= headSize + tagSize, size <= maxByteCount, size <= bytes.count - offset else {
            return nil
        }
        return size
    }

    /// Returns the bytes of the frame at `offset`, except its tag.
    static func body(_ bytes: Span<UInt8>, at offset: Int, size: Int) -> [UInt8] {
        bytes.extracting(offset..<offset + size - tagSize).copied()
    }

    /// Returns the frame at `offset` in `bytes`, with its tag; returns `nil` if the frame is invalid, for
    /// example because a crash cut it short.
    static func read(
        _ bytes: Span<UInt8>, at offset: Int, after previous: [UInt8], key: borrowing SymmetricKey
    ) throws(CofferError) -> (frame: FileIndexFrame, tag: [UInt8])? {
        guard let size = size(bytes, at: offset) else { return nil }
        let body = body(bytes, at: offset, size: size)
        let tag = bytes.extracting(offset + body.count..<offset + size).copied()
        let message = previous + body
        guard try HMAC.isValid(tag.span, for: message.span, key: key) else { return nil }
        let rawKind = body.span.bigEndian(UInt16.self, at: 4)
        let count = Int(body.span.bigEndian(UInt32.self, at: 8))
        guard let kind = Kind(rawValue: rawKind) else {
            throw CofferError(
                .unsupportedVersion,
                "The \(FileIndex.displayName) was written by a newer release. Use that release.")
        }
        let protection = body.span.bigEndian(UInt16.self, at: 6)
        let frame = FileIndexFrame(kind: kind, protection: protection, count: count, body: body)
        guard count <= maxByteCount, frame.clearCount <= body.count - headSize else {
            throw FileIndex.corruptError
        }
        return (frame, tag)
    }

    /// Returns the identifiers in the frame, with the fields that distinguish a container from an older one.
    /// For removals, these fields are zero and empty.
    func entries() throws(CofferError) -> [(id: FileID, generation: UInt64, commitment: [UInt8])] {
        var reader = BinaryReader(cleartextHeader, name: FileIndex.displayName)
        var entries: [(id: FileID, generation: UInt64, commitment: [UInt8])] = []
        for _ in 0..<count {
            let id = try FileID(uuidBytes: reader.take(16), reader)
            guard kind == .records else {
                entries.append((id, 0, []))
                continue
            }
            entries.append((id, try reader.number(UInt64.self), try reader.take(32)))
        }
        return entries
    }

    /// Decrypts the sealed part and returns the frame's records.
    func open(classKey: ClassKey, vaultID: VaultID) throws(CofferError) -> [FileIndexRecord] {
        let sealed = Array(body[(Self.headSize + clearCount)...])
        guard kind == .records, sealed.count >= 40 else {
            throw FileIndex.corruptError
        }
        let data = vaultID.bytes + body[..<(Self.headSize + clearCount)]
        let plaintext: [UInt8]
        do throws(CofferError) {
            plaintext = try classKey.withEitherKey { (key) throws(CofferError) in
                var cipher = try Self.cipher(key, vaultID)
                var plaintext = [UInt8](repeating: 0, count: sealed.count - 40)
                var output = plaintext.mutableSpan
                try cipher.open(
                    sealed.span.extracting(24...), nonce: sealed.span.extracting(..<24),
                    associatedData: data.span, into: &output)
                return plaintext
            }
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw FileIndex.corruptError
        }
        return try FileIndexRecord.decode(
            count: count, clear: cleartextHeader, sealed: plaintext, isVolatile: isVolatile)
    }

    private static func cipher(_ classKey: ClassKey, _ vaultID: VaultID) throws(CofferError) -> AEAD {
        let context = vaultID.bytes
        let key = try HKDF.deriveKey(
            from: classKey.key, info: KDFLabel.fileIndexSealing, context: context.span)
        return try AEAD.prepare(.xChaCha20Poly1305, key: key)
    }
}
