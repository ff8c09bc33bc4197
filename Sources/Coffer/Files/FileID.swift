public import CofferBase
import CofferEngine
public import FoundationEssentials
import SystemPackage

/// A stored file's identifier: a random UUID, which is also part of the container's name on disk.
public struct FileID: Sendable, Hashable, CustomStringConvertible {
    /// The identifier's UUID.
    public let uuid: UUID

    /// Creates an identifier from a UUID.
    public init(uuid: UUID) { self.uuid = uuid }

    /// Creates an identifier from the text form of a UUID.
    ///
    /// - Parameter text: A UUID of 36 characters, such as the value of ``description``.
    /// - Throws: `invalidInput` if `text` is not a UUID.
    public init(_ text: String) throws(CofferError) {
        guard let uuid = UUID(uuidString: text) else {
            throw CofferError(.invalidInput, "A file id must be a UUID.", remedy: .listFiles)
        }
        self.uuid = uuid
    }

    /// The UUID in lowercase with hyphens: 36 characters.
    public var description: String { uuid.uuidString.foldedASCII }

    static func random() throws(CofferError) -> FileID { FileID(uuid: try .secureRandom()) }

    private static let suffix = ".coffer"

    /// The container's name in the store's directory.
    var fileName: FilePath { FilePath(description + Self.suffix) }

    /// Creates an identifier from a container's name; returns `nil` for the name of any other file.
    init?(fileName: FilePath) {
        let bytes = FileNameBytes.of(fileName)
        guard bytes.count == 36 + Self.suffix.utf8.count, bytes[36...].elementsEqual(Self.suffix.utf8),
            [8, 13, 18, 23].allSatisfy({ bytes[$0] == UInt8(ascii: "-") })
        else { return nil }
        self.init(digits: bytes[..<8] + bytes[9..<13] + bytes[14..<18] + bytes[19..<23] + bytes[24..<36])
    }

    /// The name of the container while it is being added, replaced or removed.
    var temporaryName: FilePath {
        FilePath(Descriptor.temporaryPrefix + description.parts(between: "-").joined())
    }

    /// Creates an identifier from the name of a container that is being added, replaced or removed; returns
    /// `nil` for the name of any other file.
    init?(temporaryName: FilePath) {
        let prefix = Array(Descriptor.temporaryPrefix.utf8)
        let bytes = FileNameBytes.of(temporaryName)
        guard bytes.starts(with: prefix) else { return nil }
        self.init(digits: bytes[prefix.count...])
    }

    /// Creates an identifier from 32 lowercase hexadecimal digits; returns `nil` for any other text.
    private init?(digits: ArraySlice<UInt8>) {
        guard digits.count == 32 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        for (position, digit) in digits.enumerated() {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            bytes[position / 2] |= value << (position % 2 == 0 ? 4 : 0)
        }
        guard let uuid = UUID(bytes: bytes) else { return nil }
        self.uuid = uuid
    }
}

extension Sequence where Element == FileID {
    /// Returns the identifiers sorted by their descriptions.
    func sorted() -> [FileID] { sorted { $0.description < $1.description } }
}
