/// A value in a D-Bus message, of a type that keyrings use.
package indirect enum BusValue: Sendable, Equatable {
    case text(String)
    case path(String)
    case flag(Bool)
    case number(UInt32)
    case bytes([UInt8])
    case paths([String])
    case strings([String: String])
    case properties([String: BusValue])
    case byPath([String: BusValue])
    case structure([BusValue])
    case variant(BusValue)
    /// A value of a type that this package does not use.
    case other

    package var text: String? {
        switch self {
        case .text(let text), .path(let text): text
        default: nil
        }
    }
    package var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    package var number: UInt32? { if case .number(let number) = self { number } else { nil } }
    package var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    package var paths: [String]? { if case .paths(let paths) = self { paths } else { nil } }
    package var strings: [String: String]? { if case .strings(let strings) = self { strings } else { nil } }
    package var byPath: [String: BusValue]? { if case .byPath(let values) = self { values } else { nil } }
    package var structure: [BusValue]? { if case .structure(let fields) = self { fields } else { nil } }
    /// A variant's content; `nil` for any other value.
    package var value: BusValue? { if case .variant(let value) = self { value } else { nil } }
}

/// An object's method or signal on the bus.
package struct BusMember: Sendable {
    package let destination: String
    package let path: String
    package let interface: String
    package let name: String

    package init(_ destination: String, _ path: String, _ interface: String, _ name: String) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.name = name
    }
}
