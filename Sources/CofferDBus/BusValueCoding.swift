/// The conversion to and from the values of a message.
extension BusValue {
    /// The value for a message; ``BusContent/other(_:)`` for what this package does not send.
    var content: BusContent {
        switch self {
        case .text(let text): .text(text)
        case .path(let path): .path(path)
        case .flag(let flag): .flag(flag)
        case .number(let number): .number(number)
        case .bytes(let bytes): .bytes(bytes)
        case .paths(let paths): .paths(paths)
        case .strings(let strings): .texts(strings.map { ($0, $1) })
        case .properties(let values): .properties(values.map { ($0, $1.content) })
        case .structure(let fields): .structure(fields.map(\.content))
        case .variant(let value): .variant(value.content)
        case .byPath, .other: .other("")
        }
    }

    /// Takes a value from a message.
    init(_ content: BusContent) {
        switch content {
        case .text(let text): self = .text(text)
        case .path(let path): self = .path(path)
        case .flag(let flag): self = .flag(flag)
        case .number(let number): self = .number(number)
        case .bytes(let bytes): self = .bytes(bytes)
        case .variant(let value): self = .variant(BusValue(value))
        case .structure(let fields): self = .structure(fields.map { BusValue($0) })
        case .list("o", _): self = .paths(content.paths ?? [])
        case .list("{ss}", let elements): self = .strings(Self.entries(elements).compactMapValues(\.text))
        case .list("{sv}", let elements):
            self = .properties(Self.entries(elements).compactMapValues(\.value))
        case .list(let type, let elements) where type.utf8.starts(with: "{o".utf8):
            self = .byPath(Self.entries(elements))
        case .list, .entry, .large, .other: self = .other
        }
    }

    private static func entries(_ elements: [BusContent]) -> [String: BusValue] {
        var result: [String: BusValue] = [:]
        for case .entry(let name, let value) in elements {
            if let key = name.text ?? name.path { result[key] = BusValue(value) }
        }
        return result
    }
}
