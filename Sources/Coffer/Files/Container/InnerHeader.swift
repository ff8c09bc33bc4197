import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials

/// The part of a container's header that describes the file, readable once the outer layer has been opened.
/// For the byte layout, see FileFormat, "Inner header".
package struct InnerHeader {
    static let size = 1024
    static let wrappedKeySize = 40
    static let maxNameLength = 255
    private static let tagSize = 32
    private static let paddingScheme = 781

    var chunkSizeLog2: UInt8
    var isContextBound = false
    /// The keeper of the session's key that wraps the file key; `nil` for an ordinary file.
    var keeper: VolatileFileKeeper?
    var id: FileID
    var salt: [UInt8]
    var kekID: [UInt8]
    var wrappedKey: [UInt8]
    var commitment: [UInt8]
    var contentGeneration: UInt64 = 1
    var length: Int64
    package var modified: Int64
    package var name: [UInt8]
    var mediaType = ""

    func encode(authenticationKey: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        guard name.count <= Self.maxNameLength, mediaType.utf8.count <= 127 else {
            throw CofferError(
                .invalidInput, "A file name must be at most 255 bytes long, and a media type at most 127.")
        }
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.innerHeader.utf8))
        writer.append(UInt16(1))
        writer.append([ContainerCipherSuite.aes256GCM.rawValue, chunkSizeLog2])
        writer.append(UInt32(isContextBound ? 1 : 0) | (keeper?.rawValue ?? 0))
        writer.append(id.uuid.bytes)
        writer.append(salt)
        writer.append(kekID)
        writer.append(UInt16(1))
        writer.append(UInt16(wrappedKey.count))
        writer.append(wrappedKey)
        writer.pad(to: 340)
        writer.append(commitment)
        writer.append(contentGeneration)
        writer.append(UInt64(length))
        writer.append(modified)
        writer.append(UInt16(name.count))
        writer.append(name)
        writer.pad(to: 653)
        writer.append(UInt8(mediaType.utf8.count))
        writer.append(Array(mediaType.utf8))
        writer.pad(to: Self.size - Self.tagSize)
        let tag = try HMAC.authenticate(writer.bytes.span, key: authenticationKey)
        return writer.bytes + tag
    }

    private static var newer: CofferError {
        CofferError(.unsupportedVersion, "The container was written by a newer release. Use that release.")
    }

    private static func unsupported(_ feature: String) -> CofferError {
        CofferError(
            .unsupportedVersion,
            "The container uses \(feature) that is not supported by this release. Use a newer release.")
    }

    /// Returns the header that is encoded in `bytes`, which the outer layer has already authenticated. Throws
    /// `corrupt` or `unsupportedVersion` if a field is invalid.
    static func decode(_ bytes: [UInt8]) throws(CofferError) -> InnerHeader {
        var reader = BinaryReader(bytes, name: "container header")
        guard bytes.count == size, try reader.take(8) == Array(FileMagic.innerHeader.utf8) else {
            throw reader.corruptError
        }
        let version = try reader.number(UInt16.self)
        let suite = try reader.number(UInt8.self)
        let chunkSizeLog2 = try reader.number(UInt8.self)
        let flags = try reader.number(UInt32.self)
        let keeper = VolatileFileKeeper(rawValue: flags & ~1)
        guard version == 1, suite == ContainerCipherSuite.aes256GCM.rawValue, flags <= 1 || keeper != nil
        else {
            throw newer
        }
        let id = try FileID(uuidBytes: reader.take(16), reader)
        let salt = try reader.take(32)
        let kekID = try reader.take(16)
        guard try reader.number(UInt16.self) == 1, try reader.number(UInt16.self) == wrappedKeySize else {
            throw unsupported("a key-wrapping algorithm")
        }
        let wrappedKey = try reader.take(wrappedKeySize)
        guard try reader.take(340 - reader.position).allSatisfy({ $0 == 0 }) else {
            throw reader.corruptError
        }
        let commitment = try reader.take(32)
        let generation = try reader.number(UInt64.self)
        let length = try reader.number(UInt64.self)
        let modified = try reader.number(Int64.self)
        let nameCount = Int(try reader.number(UInt16.self))
        guard nameCount <= maxNameLength, length <= UInt64(Int64.max) else { throw reader.corruptError }
        let name = try reader.take(nameCount)
        guard try reader.take(653 - reader.position).allSatisfy({ $0 == 0 }) else {
            throw reader.corruptError
        }
        let typeCount = Int(try reader.number(UInt8.self))
        guard typeCount <= 127, let mediaType = String(validating: try reader.take(typeCount), as: UTF8.self)
        else {
            throw reader.corruptError
        }
        guard bytes[paddingScheme] == 0 else {
            throw unsupported("a padding scheme")
        }
        guard try reader.take(size - tagSize - reader.position).allSatisfy({ $0 == 0 }) else {
            throw newer
        }
        return InnerHeader(
            chunkSizeLog2: chunkSizeLog2, isContextBound: flags & 1 != 0, keeper: keeper, id: id, salt: salt,
            kekID: kekID, wrappedKey: wrappedKey, commitment: commitment, contentGeneration: generation,
            length: Int64(length), modified: modified, name: name, mediaType: mediaType)
    }

    /// Derives the inner layer's keys. Returns `nil` unless `bytes`, from which this header was decoded, are
    /// authentic under those keys.
    func layerKeys(
        _ fileKey: borrowing SymmetricKey, context: [UInt8], in bytes: [UInt8]
    ) throws(CofferError) -> LayerKeySchedule? {
        let keys = try LayerKeySchedule.derive(
            fileKey, layer: .inner, suite: .aes256GCM, chunkSizeLog2: chunkSizeLog2, id: id, salt: salt,
            context: context)
        let derived = keys.commitment
        guard ConstantTime.equal(derived.span, commitment.span),
            try Self.isAuthentic(bytes, key: keys.authenticationKey)
        else { return nil }
        return keys
    }

    /// Returns whether the tag at the end of `bytes` is valid.
    private static func isAuthentic(
        _ bytes: [UInt8], key: borrowing SymmetricKey
    ) throws(CofferError) -> Bool {
        let bodyEnd = size - tagSize
        return try HMAC.isValid(
            bytes.span.extracting(bodyEnd...), for: bytes.span.extracting(..<bodyEnd), key: key)
    }
}

extension FileID {
    init(uuidBytes: [UInt8], _ reader: BinaryReader) throws(CofferError) {
        guard let uuid = UUID(bytes: uuidBytes) else { throw reader.corruptError }
        self.init(uuid: uuid)
    }
}
