import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials
import SystemPackage

/// The index's record of one file. Its cleartext part distinguishes the file's container from an older one;
/// the part sealed under the file's class describes the file.
struct FileIndexRecord: Equatable {
    static let clearSize = 56

    let id: FileID
    let contentGeneration: UInt64
    let commitment: [UInt8]
    let length: Int64
    let modified: Int64
    let name: [UInt8]
    let mediaType: String
    /// Whether the file ends with its session. The frame states this.
    let isVolatile: Bool

    init(_ header: InnerHeader) {
        id = header.id
        contentGeneration = header.contentGeneration
        commitment = header.commitment
        length = header.length
        modified = header.modified
        name = header.name
        mediaType = header.mediaType
        isVolatile = header.keeper != nil
    }

    private init(
        id: FileID, contentGeneration: UInt64, commitment: [UInt8], isVolatile: Bool,
        sealed reader: inout BinaryReader
    ) throws(CofferError) {
        self.id = id
        self.contentGeneration = contentGeneration
        self.commitment = commitment
        self.isVolatile = isVolatile
        length = try reader.number(Int64.self)
        modified = try reader.number(Int64.self)
        name = try reader.take(Int(reader.number(UInt16.self)))
        mediaType = try reader.text()
    }

    var clear: [UInt8] {
        var writer = BinaryWriter()
        writer.append(id.uuid.bytes)
        writer.append(contentGeneration)
        writer.append(commitment)
        return writer.bytes
    }

    var sealed: [UInt8] {
        var writer = BinaryWriter()
        writer.append(length)
        writer.append(modified)
        writer.append(UInt16(name.count))
        writer.append(name)
        writer.appendText(mediaType)
        return writer.bytes
    }

    /// Returns `count` records, decoded from their cleartext and sealed parts.
    static func decode(
        count: Int, clear: [UInt8], sealed: [UInt8], isVolatile: Bool
    ) throws(CofferError) -> [FileIndexRecord] {
        var clear = BinaryReader(clear, name: FileIndex.displayName)
        var sealed = BinaryReader(sealed, name: FileIndex.displayName)
        var records: [FileIndexRecord] = []
        records.reserveCapacity(count)
        for _ in 0..<count {
            let id = try FileID(uuidBytes: clear.take(16), clear)
            let generation = try clear.number(UInt64.self)
            records.append(
                try FileIndexRecord(
                    id: id, contentGeneration: generation, commitment: clear.take(32),
                    isVolatile: isVolatile, sealed: &sealed))
        }
        try sealed.expectPadding()
        return records
    }

    /// Returns the file's public description.
    func info(_ protection: ProtectionClass, _ state: FileState) throws(CofferError) -> FileInfo {
        guard let name = FilePath.Component(bytes: name) else {
            throw CofferError(
                .corrupt,
                "The \(FileIndex.displayName) contains an invalid file name.", remedy: .reindexFiles)
        }
        return FileInfo(
            id: id, name: name, length: length, modified: Date(nanosecondsSince1970: modified),
            protection: protection, state: state, isVolatile: isVolatile)
    }
}
