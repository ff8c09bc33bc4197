import Coffer
import CofferBase
import CofferDBus

/// An item's attributes: names with one value each, compared byte by byte and sorted by the bytes of the
/// name.
struct ItemAttributes: Sendable {
    private(set) var pairs: [(name: String, value: String)]

    /// Creates attributes from pairs. Of two pairs with the same name, the later one counts.
    init(_ pairs: [(String, String)] = []) {
        var sorted: [(name: String, value: String)] = []
        // Sorting keeps the order of equal names.
        for (name, value) in pairs.sorted(by: { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }) {
            if let last = sorted.last, last.name.hasSameBytes(as: name) { sorted.removeLast() }
            sorted.append((name, value))
        }
        self.pairs = sorted
    }

    /// Reads attributes from a message; throws if the value is not a dictionary of text.
    init(_ content: BusContent?) throws(ServiceError) {
        guard let elements = content?.elements, let type = content?.type, type.hasSameBytes(as: "a{ss}")
        else { throw .invalid("Attributes must be a dictionary of text (a{ss}).") }
        guard elements.count <= TokenInfo.maxEntryCount else {
            throw .invalid("There are more than \(TokenInfo.maxEntryCount) attributes.")
        }
        var pairs: [(String, String)] = []
        for case .entry(let name, let value) in elements {
            if let name = name.text, let value = value.text { pairs.append((name, value)) }
        }
        guard pairs.reduce(0, { $0 + $1.0.utf8.count + $1.1.utf8.count }) <= TokenInfo.maxTextLength else {
            throw .invalid("The attributes are longer than \(TokenInfo.maxTextLength) bytes.")
        }
        self.init(pairs)
    }

    var content: BusContent { .texts(pairs.map { ($0.name, $0.value) }) }

    /// Whether every pair of `query` is one of these.
    func contain(_ query: ItemAttributes) -> Bool {
        query.pairs.allSatisfy { wanted in
            pairs.contains {
                $0.name.hasSameBytes(as: wanted.name) && $0.value.hasSameBytes(as: wanted.value)
            }
        }
    }

    /// Whether these are the same pairs.
    func isSame(as other: ItemAttributes) -> Bool { pairs.count == other.pairs.count && contain(other) }
}
