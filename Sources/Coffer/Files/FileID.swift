public import CofferBase
import CofferEngine
public import FoundationEssentials
import SystemPackage

/// What a stored file is found by: a random UUID, which is also its name on the disk.
public struct FileID: Sendable, Hashable, CustomStringConvertible {
    /// The UUID.
    public let uuid: UUID

    /// The id `uuid`.
    public init(uuid: UUID) { self.uuid = uuid }

    /// The id that `text` stands for.
    ///
    /// - Throws: `invalidInput` when it is not a UUID.
    public init(_ text: String) throws(CofferError) {
        guard let uuid = UUID(uuidString: text) else {
            throw CofferError(.invalidInput, "A file id is a UUID.")
        }
        self.uuid = uuid
    }

    /// Lower case with dashes, 36 characters.
    public var description: String { uuid.uuidString.lowercased() }

    static func random() throws(CofferError) -> FileID { FileID(uuid: try .secureRandom()) }

    private static let suffix = ".coffer"

    /// The container's name in the store's directory.
    var fileName: FilePath { FilePath(description + Self.suffix) }

    /// The id of the container of that name; `nil` for other files.
    init?(fileName: FilePath) {
        let name = fileName.string
        guard name.hasSuffix(Self.suffix),
            let uuid = UUID(uuidString: String(name.dropLast(Self.suffix.count))),
            name == uuid.uuidString.lowercased() + Self.suffix
        else { return nil }
        self.uuid = uuid
    }
}
