import CofferBase

/// The name of a database, parsed byte for byte as SQLite 3.39 and later parse it
/// (https://sqlite.org/uri.html).
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

    /// An interpretation of a name by SQLite.
    package enum Reading: Sendable, Equatable {
        /// The name is not a URI but the file's path, verbatim.
        case path
        /// The URI refers to another machine, so SQLite opens nothing.
        case refused
        case uri(DatabaseURI)
    }

    /// The file's path, decoded.
    package let path: [UInt8]
    /// All parameters in order, including duplicates. SQLite uses the last `vfs`; a VFS that looks up a
    /// parameter by name receives the first one.
    package let parameters: [Parameter]

    package init(path: [UInt8], parameters: [Parameter]) {
        self.path = path
        self.parameters = parameters
    }

    /// Returns the values of a parameter, in order.
    package func values(of name: String) -> [[UInt8]] {
        parameters.filter { $0.name.elementsEqual(name.utf8) }.map(\.value)
    }

    /// Parses a name, which must not contain a NUL byte.
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

    /// A copy of SQLite's state machine. It writes the path, the names and the values one after the other,
    /// each terminated by a NUL byte, and splits the result afterwards.
    private struct Decoder {
        private enum Component { case path, name, value }

        private var rest: ArraySlice<UInt8>
        private var component = Component.path
        private var written: [UInt8] = []

        init(_ rest: ArraySlice<UInt8>) { self.rest = rest }

        mutating func run() {
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "%"), let octet = takeOctet() {
                    // An encoded NUL ends the component, and the rest of the component is skipped.
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

        /// Reports whether a byte ends the current component.
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
                // SQLite drops a parameter without a name, and its value.
                guard byte == UInt8(ascii: "=") else { return }
                rest = rest.drop { $0 != UInt8(ascii: "&") }.dropFirst()
            case .name:
                // A parameter without a value has an empty value.
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
