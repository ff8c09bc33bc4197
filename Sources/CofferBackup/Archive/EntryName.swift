import Coffer
import CofferBase

/// The name of a file in a backup. There are no other names, and in a backup they ascend, so that no name
/// occurs twice.
enum EntryName: Hashable {
    /// The list of what the backup contains and what it leaves out: the first entry.
    case manifest
    /// A token, with its number.
    case token(Int)
    case fileDescription(FileID)
    case fileContent(FileID)
    case databaseDescription(DatabaseName)
    case databaseContent(DatabaseName)
    /// A sealed token, by its keyed name.
    case deviceToken([UInt8])
    /// A sealed file container.
    case deviceFile(FileID)
    /// The sealed key of a database, and the database as it is encrypted under that key.
    case deviceDatabaseKey(DatabaseName)
    case deviceDatabase(DatabaseName)
    /// The items that the manifest counts and that could not be written.
    case omitted
    /// The size and the hash of every other entry: the last entry.
    case complete

    /// The maximum number of tokens, and of entries.
    static let countLimit = 1_000_000
    private static let tokenDigits = 7
    /// The maximum size of a description.
    private static let documentLimit: Int64 = 1 << 20

    /// The path in the archive, without leading slash.
    var path: String {
        switch self {
        case .manifest: "manifest.json"
        case .token(let number): "tokens/" + Self.digits(number) + ".json"
        case .fileDescription(let id): "files/\(id)/meta.json"
        case .fileContent(let id): "files/\(id)/content"
        case .databaseDescription(let name): "databases/\(name.text).json"
        case .databaseContent(let name): "databases/\(name.text).sqlite"
        case .deviceToken(let name): "device/tokens/" + HexText.encode(name)
        case .deviceFile(let id): "device/files/\(id)"
        case .deviceDatabaseKey(let name): "device/databases/\(name.text).key"
        case .deviceDatabase(let name): "device/databases/\(name.text).db"
        case .omitted: "omitted.json"
        case .complete: "complete.json"
        }
    }

    /// The maximum size of the entry's content in bytes.
    var sizeLimit: Int64 {
        switch self {
        case .manifest, .fileDescription, .databaseDescription: Self.documentLimit
        case .token: Int64(Token.maxByteCount) * 2 + Self.documentLimit
        case .deviceToken, .deviceDatabaseKey: Int64(Token.maxByteCount) + Self.documentLimit
        case .fileContent, .databaseContent, .deviceFile, .deviceDatabase: 1 << 60
        case .omitted: 32 << 20
        case .complete: 256 * Int64(Self.countLimit)
        }
    }

    /// Creates a name from a path; returns `nil` for a path that no entry has.
    init?(path: String) {
        guard let found = Self.parsed(path.parts(between: "/")), found.path.hasSameBytes(as: path) else {
            return nil
        }
        self = found
    }

    /// Returns the name that may have this path. The caller compares the paths.
    private static func parsed(_ parts: [String]) -> EntryName? {
        guard let first = parts.first, let last = parts.last else { return nil }
        switch (first, parts.count) {
        case ("manifest.json", 1): return .manifest
        case ("omitted.json", 1): return .omitted
        case ("complete.json", 1): return .complete
        case ("tokens", 2): return Int(last.prefix(tokenDigits)).map { .token($0) }
        case ("files", 3):
            guard let id = try? FileID(parts[1]) else { return nil }
            return last.hasSameBytes(as: "content") ? .fileContent(id) : .fileDescription(id)
        case ("databases", 2):
            if let name = DatabaseName(last, suffix: ".json") { return .databaseDescription(name) }
            return DatabaseName(last, suffix: ".sqlite").map { .databaseContent($0) }
        case ("device", 3): return parsedDevice(parts[1], last)
        default: return nil
        }
    }

    private static func parsedDevice(_ kind: String, _ last: String) -> EntryName? {
        switch kind {
        case "tokens":
            guard let name = HexText.decode(last), name.count == 32 else { return nil }
            return .deviceToken(name)
        case "files": return (try? FileID(last)).map { .deviceFile($0) }
        case "databases":
            if let name = DatabaseName(last, suffix: ".key") { return .deviceDatabaseKey(name) }
            return DatabaseName(last, suffix: ".db").map { .deviceDatabase($0) }
        default: return nil
        }
    }

    private static func digits(_ number: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, tokenDigits - text.utf8.count)) + text
    }

    /// Returns whether this name comes before another.
    func precedes(_ other: EntryName) -> Bool {
        let (own, others) = (place, other.place)
        guard own.section == others.section else { return own.section < others.section }
        guard own.key == others.key else { return own.key.lexicographicallyPrecedes(others.key) }
        return own.part < others.part
    }

    private var place: (section: Int, key: [UInt8], part: Int) {
        switch self {
        case .manifest: (0, [], 0)
        case .token: (1, Array(path.utf8), 0)
        case .fileDescription(let id): (2, Array(id.description.utf8), 0)
        case .fileContent(let id): (2, Array(id.description.utf8), 1)
        case .databaseDescription(let name): (3, Array(name.text.utf8), 0)
        case .databaseContent(let name): (3, Array(name.text.utf8), 1)
        case .deviceToken(let name): (4, name, 0)
        case .deviceFile(let id): (5, Array(id.description.utf8), 0)
        case .deviceDatabaseKey(let name): (6, Array(name.text.utf8), 0)
        case .deviceDatabase(let name): (6, Array(name.text.utf8), 1)
        case .omitted: (7, [], 0)
        case .complete: (8, [], 0)
        }
    }
}
