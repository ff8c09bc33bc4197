import CofferBase

/// The arguments of a signal or an answer that this package uses: Booleans, strings and properties.
package struct SignalArguments: Sendable, Equatable {
    /// The first argument, if it is a Boolean.
    package var flag: Bool?
    /// The arguments that are strings or object paths, in order.
    package var positionalStrings: [String] = []
    /// The Boolean properties, by name.
    package var booleans: [String: Bool] = [:]
    /// The string properties, by name.
    package var strings: [String: String] = [:]

    /// Creates arguments, for use in a test.
    package init(
        flag: Bool? = nil, positionalStrings: [String] = [], booleans: [String: Bool] = [:],
        strings: [String: String] = [:]
    ) {
        self.flag = flag
        self.positionalStrings = positionalStrings
        self.booleans = booleans
        self.strings = strings
    }
}

/// A signal received over a bus.
package struct BusSignal: Sendable, Equatable {
    package let path: String
    package let interface: String
    package let name: String
    package let content: SignalArguments

    /// Creates a signal.
    package init(path: String, interface: String, name: String, content: SignalArguments = SignalArguments())
    {
        self.path = path
        self.interface = interface
        self.name = name
        self.content = content
    }
}

/// A filter for signals. A `nil` property matches any value.
package struct BusRule: Sendable, Equatable {
    let sender: String?
    let path: String?
    let interface: String
    let name: String
    let firstArgument: String?

    package init(
        sender: String? = nil, path: String? = nil, interface: String, name: String,
        firstArgument: String? = nil
    ) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.name = name
        self.firstArgument = firstArgument
    }

    /// Returns the rule for changes to an interface's properties.
    package static func properties(
        of interface: String, sender: String? = nil, path: String? = nil
    ) -> BusRule {
        BusRule(
            sender: sender, path: path, interface: "org.freedesktop.DBus.Properties",
            name: "PropertiesChanged", firstArgument: interface)
    }
}

/// An argument of a method call.
package enum BusArgument: Sendable {
    case text(String)
    case number(UInt32)
}

#if SecretService
    import CGIO

    extension SignalArguments {
        /// Returns a message's arguments from a tuple, which the caller continues to own.
        static func reading(_ arguments: OpaquePointer) -> SignalArguments {
            var content = SignalArguments()
            unsafe forEachChild(arguments) { unsafe content.add($1, isFirst: $0 == 0) }
            return content
        }

        private mutating func add(_ variant: OpaquePointer, isFirst: Bool) {
            switch unsafe String(cString: g_variant_get_type_string(variant)) {
            case "s", "o":
                unsafe positionalStrings.append(String(cString: g_variant_get_string(variant, nil)))
            case "b": if isFirst { unsafe flag = g_variant_get_boolean(variant) != 0 }
            case "v": unsafe Self.forEachChild(variant) { unsafe add($1, isFirst: isFirst) }
            case "a{sv}": unsafe Self.forEachChild(variant) { unsafe addProperty($1) }
            case let type where type.utf8.hasPrefix("("):
                unsafe Self.forEachChild(variant) { unsafe add($1, isFirst: false) }
            default: break
            }
        }

        private mutating func addProperty(_ entry: OpaquePointer) {
            var name = SignalArguments()
            var value = SignalArguments()
            unsafe Self.forEachChild(entry) { (index, part) in
                if index == 0 {
                    unsafe name.add(part, isFirst: false)
                } else {
                    unsafe value.add(part, isFirst: true)
                }
            }
            guard let name = name.positionalStrings.first else { return }
            if let flag = value.flag { booleans[name] = flag }
            if let word = value.positionalStrings.first { strings[name] = word }
        }

        private static func forEachChild(
            _ container: OpaquePointer, _ body: (_ index: Int, _ child: OpaquePointer) -> Void
        ) {
            for index in 0..<(unsafe g_variant_n_children(container)) {
                guard let child = unsafe g_variant_get_child_value(container, index) else { continue }
                defer { unsafe g_variant_unref(child) }
                unsafe body(Int(index), child)
            }
        }
    }
#endif
