import CofferBase

/// A database's name, parsed byte for byte as SQLite parses it: see https://sqlite.org/uri.html and the
/// parser of the releases from 3.39 on.
package struct DatabaseURI: Sendable, Equatable {
    /// A decoded query parameter.
    package struct Parameter: Sendable, Equatable {
        package let name: [UInt8]
        package let value: [UInt8]

        package init(name: [UInt8], value: [UInt8]) {
            self.name = name
            self.value = value
        }
    }

    /// How SQLite interprets a name.
    package enum Reading: Sendable, Equatable {
        /// Not a URI: the name is the file's path, verbatim.
        case path
        /// SQLite opens nothing: the URI names another machine.
        case refused
        case uri(DatabaseURI)
    }

    /// The file's path, decoded.
    package let path: [UInt8]
    /// All parameters in order, including duplicates. SQLite uses the last `vfs`, while a VFS gets the first
    /// parameter of any name.
    package let parameters: [Parameter]

    package init(path: [UInt8], parameters: [Parameter]) {
        self.path = path
        self.parameters = parameters
    }

    /// Returns the values of a parameter, in order.
    package func values(of name: String) -> [[UInt8]] {
        parameters.filter { $0.name.elementsEqual(name.utf8) }.map(\.value)
    }

    /// Parses a name without a NUL.
    package static func read(_ name: [UInt8]) -> Reading {
        guard name.starts(with: "file:".utf8) else { return .path }
        var rest = name[5...]
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let host = rest.prefix { $0 != UInt8(ascii: "/") }
            guard host.isEmpty || host.elementsEqual("localhost".utf8) else { return .refused }
            rest = rest[host.endIndex...]
        }
        var decoder = Decoder(rest.prefix { $0 != UInt8(ascii: "#") })
        decoder.run()
        return .uri(decoder.uri)
    }

    /// SQLite's own state machine: it writes the path, the names and the values one after the other, each
    /// terminated by a zero, and splits the result afterwards.
    private struct Decoder {
        private enum Component { case path, name, value }

        private var rest: ArraySlice<UInt8>
        private var component = Component.path
        private var written: [UInt8] = []

        init(_ rest: ArraySlice<UInt8>) { self.rest = rest }

        mutating func run() {
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "%"), let octet = takeOctet() {
                    // A zero ends its part there: the rest of the part is skipped.
                    if octet == 0 { rest = rest.drop { !ends($0) } } else { written.append(octet) }
                } else if ends(byte) {
                    end(at: byte)
                } else {
                    written.append(byte)
                }
            }
            if component == .name { written.append(0) }
        }

        private mutating func takeOctet() -> UInt8? {
            guard let high = rest.first?.hexDigit, let low = rest.dropFirst().first?.hexDigit else {
                return nil
            }
            rest = rest.dropFirst(2)
            return high << 4 | low
        }

        /// Reports whether a byte ends the current part.
        private func ends(_ byte: UInt8) -> Bool {
            switch component {
            case .path: byte == UInt8(ascii: "?")
            case .name: byte == UInt8(ascii: "=") || byte == UInt8(ascii: "&")
            case .value: byte == UInt8(ascii: "&")
            }
        }

        private mutating func end(at byte: UInt8) {
            switch component {
            case .path, .value:
                written.append(0)
                component = .name
            case .name where written.last == 0:
                // A parameter without a name is dropped, with its value.
                guard byte == UInt8(ascii: "=") else { return }
                rest = rest.drop { $0 != UInt8(ascii: "&") }.dropFirst()
            case .name:
                // A parameter without a value has an empty one.
                written += byte == UInt8(ascii: "&") ? [0, 0] : [0]
                if byte == UInt8(ascii: "=") { component = .value }
            }
        }

        var uri: DatabaseURI {
            var parts = written.split(separator: 0, omittingEmptySubsequences: false)[...]
            let path = Array(parts.popFirst() ?? [])
            var parameters: [Parameter] = []
            while let name = parts.popFirst(), !name.isEmpty {
                parameters.append(Parameter(name: Array(name), value: Array(parts.popFirst() ?? [])))
            }
            return DatabaseURI(path: path, parameters: parameters)
        }
    }
}
