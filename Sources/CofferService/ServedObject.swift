import CofferBase

/// An object on the bus, as its path names it. The object need not exist.
enum ServedObject: Sendable {
    case service
    case collection(String)
    case item(ItemKey)
    case session(Int)
    case prompt(Int)
    /// A part of the path of other objects, such as `/org/freedesktop/secrets/collection`.
    case folder(String)

    /// Reads a path; returns `nil` if no object of the service can have it.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - aliases: The aliases, whose paths are those of collections, too.
    init?(_ path: String, aliases: [String: String]) {
        let root = ServiceName.root
        guard path.utf8.hasPrefix(root) else {
            guard ["/", "/org", "/org/freedesktop"].contains(where: { $0.hasSameBytes(as: path) }) else {
                return nil
            }
            self = .folder(path)
            return
        }
        guard [nil, UInt8(ascii: "/")].contains(path.utf8.dropFirst(root.utf8.count).first) else {
            return nil
        }
        let parts = path.utf8.dropFirst(root.utf8.count).split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: true
        ).map { String(decoding: Array($0), as: UTF8.self) }
        guard parts.count > 0 else {
            self = .service
            return
        }
        guard parts.count > 1 else {
            guard ["collection", "aliases", "session", "prompt"].contains(parts[0]) else { return nil }
            self = .folder(path)
            return
        }
        switch parts[0] {
        case "collection": self.init(collection: parts[1], parts.dropFirst(2))
        case "aliases":
            guard let collection = aliases[parts[1]] else { return nil }
            self.init(collection: collection, parts.dropFirst(2))
        case "session":
            guard parts.count == 2, let number = Self.number(parts[1], "s") else { return nil }
            self = .session(number)
        case "prompt":
            guard parts.count == 2, let number = Self.number(parts[1], "p") else { return nil }
            self = .prompt(number)
        default: return nil
        }
    }

    private init?(collection: String, _ rest: ArraySlice<String>) {
        switch rest.count {
        case 0: self = .collection(collection)
        case 1: self = .item(ItemKey(collection: collection, item: rest[rest.startIndex]))
        default: return nil
        }
    }

    private static func number(_ text: String, _ letter: String) -> Int? {
        text.utf8.hasPrefix(letter) ? Int(String(decoding: text.utf8.dropFirst(), as: UTF8.self)) : nil
    }

    /// The object's own interface; `nil` for a folder.
    var interface: ServedInterface? {
        switch self {
        case .service: .service
        case .collection: .collection
        case .item: .item
        case .session: .session
        case .prompt: .prompt
        case .folder: nil
        }
    }

    var interfaces: [ServedInterface] { (interface.map { [$0] } ?? []) + ServedInterface.common }
}
