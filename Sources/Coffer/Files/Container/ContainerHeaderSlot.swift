import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials

/// One slot of a container's header. For the byte layout, see FileFormat, "Slot".
struct ContainerHeaderSlot {
    static let size = ContainerLayout.slotSize
    static let wrappedKeySize = 40
    private static let tagSize = 32
    private static let nonceRange = 376..<388
    private static let sealedRange = 388..<1428

    var suite: ContainerCipherSuite
    var chunkSizeLog2: UInt8
    var generation: UInt32
    var id: FileID
    var salt: [UInt8]
    var protection: ProtectionClass
    var kekID: [UInt8]
    var wrappedKey: [UInt8]
    var commitment: [UInt8]

    /// Returns the slot's bytes, with the inner header sealed under a new nonce and a tag that authenticates
    /// the whole slot.
    func encode(innerHeader: [UInt8], keys: borrowing LayerKeySchedule) throws(CofferError) -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.container.utf8))
        writer.append(UInt16(1))
        writer.append([suite.rawValue, chunkSizeLog2])
        writer.append(generation)
        writer.append(id.uuid.bytes)
        writer.append(salt)
        writer.append(protection.rawValue)
        writer.append(UInt16(1))
        writer.append(kekID)
        writer.append(UInt16(wrappedKey.count))
        writer.append(UInt16(0))
        writer.append(wrappedKey)
        writer.pad(to: 344)
        writer.append(commitment)
        var cipher = try keys.headerCipher()
        let data = Self.associatedData(writer.bytes)
        writer.append(try cipher.seal(innerHeader.span, associatedData: data.span))
        writer.pad(to: Self.size - Self.tagSize)
        let tag = try HMAC.authenticate(writer.bytes.span, key: keys.authenticationKey)
        return writer.bytes + tag
    }

    /// Returns a slot with the fields that are readable without a key; returns `nil` for a slot that was
    /// never used.
    static func decode(_ bytes: [UInt8]) throws(CofferError) -> ContainerHeaderSlot? {
        guard bytes.contains(where: { $0 != 0 }) else { return nil }
        var reader = BinaryReader(bytes, name: "container header")
        guard bytes.count == size, try reader.take(8) == Array(FileMagic.container.utf8) else {
            throw reader.corruptError
        }
        let version = try reader.number(UInt16.self)
        let rawSuite = try reader.number(UInt8.self)
        let chunkSizeLog2 = try reader.number(UInt8.self)
        guard version == 1, let suite = ContainerCipherSuite(rawValue: rawSuite) else {
            throw CofferError(
                .unsupportedVersion, "The container was written by a newer release. Use that release.")
        }
        guard ContainerLayout.chunkSizeLog2Range.contains(chunkSizeLog2) else { throw reader.corruptError }
        let generation = try reader.number(UInt32.self)
        let id = try FileID(uuidBytes: reader.take(16), reader)
        let salt = try reader.take(32)
        let rawClass = try reader.number(UInt16.self)
        let algorithm = try reader.number(UInt16.self)
        guard let protection = ProtectionClass(rawValue: rawClass), algorithm == 1 else {
            throw CofferError(
                .unsupportedVersion,
                "The container uses a class or an algorithm that is not supported by this release. Use a "
                    + "newer release.")
        }
        let kekID = try reader.take(16)
        guard try reader.number(UInt16.self) == wrappedKeySize, try reader.number(UInt16.self) == 0 else {
            throw reader.corruptError
        }
        let wrappedKey = try reader.take(wrappedKeySize)
        try reader.skip(344 - reader.position)
        return ContainerHeaderSlot(
            suite: suite, chunkSizeLog2: chunkSizeLog2, generation: generation, id: id, salt: salt,
            protection: protection,
            kekID: kekID,
            wrappedKey: wrappedKey, commitment: try reader.take(32))
    }

    /// Returns the outer layer's keys after verifying them against the commitment and the slot's tag; `nil`
    /// if either does not verify.
    func keys(_ bytes: [UInt8], kek: FileKEK) throws(CofferError) -> LayerKeySchedule? {
        let fileKey: SymmetricKey
        do throws(CofferError) {
            fileKey = try kek.unwrap(wrappedKey)
        } catch {
            guard error.code == .notAuthentic else { throw error }
            return nil
        }
        let keys = try LayerKeySchedule.derive(
            fileKey, layer: .outer, suite: suite, chunkSizeLog2: chunkSizeLog2, id: id, salt: salt,
            context: [])
        let expected = keys.commitment
        guard ConstantTime.equal(expected.span, commitment.span) else { return nil }
        let bodyEnd = Self.size - Self.tagSize
        let authentic = try HMAC.isValid(
            bytes.span.extracting(bodyEnd...), for: bytes.span.extracting(..<bodyEnd),
            key: keys.authenticationKey)
        guard authentic, Self.hasZeroReserve(bytes) else { return nil }
        return consume keys
    }

    /// Returns whether all bytes that this version reserves are zero.
    private static func hasZeroReserve(_ bytes: [UInt8]) -> Bool {
        [88 + wrappedKeySize..<344, sealedRange.upperBound..<size - tagSize].allSatisfy { range in
            bytes[range].allSatisfy { $0 == 0 }
        }
    }

    /// Returns the decrypted inner header from the slot `bytes`.
    static func openInnerHeader(_ bytes: [UInt8], keys: borrowing LayerKeySchedule) throws(CofferError)
        -> [UInt8]
    {
        var cipher = try keys.headerCipher()
        var header = [UInt8](repeating: 0, count: InnerHeader.size)
        var span = header.mutableSpan
        let data = associatedData(bytes)
        try cipher.open(
            bytes.span.extracting(sealedRange), nonce: bytes.span.extracting(nonceRange),
            associatedData: data.span, into: &span)
        return header
    }

    /// Returns the associated data for the inner header: the bytes before the nonce, except the generation,
    /// because slots with different generations describe the same file.
    private static func associatedData(_ bytes: [UInt8]) -> [UInt8] { Array(bytes[0..<12] + bytes[16..<376]) }

    /// Returns whether both slots agree in the fields that updates never change. If two valid slots differ in
    /// these fields, the file is damaged.
    func isSameFile(as other: ContainerHeaderSlot) -> Bool {
        suite == other.suite && chunkSizeLog2 == other.chunkSizeLog2 && id == other.id && salt == other.salt
    }
}
