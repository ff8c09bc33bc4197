/// An interface of the specification: the methods with the types of their arguments and results, the
/// properties and the signals. Calls are checked against it, and introspection shows it.
struct ServedInterface: Sendable {
    struct Method: Sendable {
        let name: String
        let input: [String]
        let output: [String]

        init(_ name: String, _ input: [String] = [], _ output: [String] = []) {
            self.name = name
            self.input = input
            self.output = output
        }
    }

    struct Property: Sendable {
        let name: String
        let type: String
        let isWritable: Bool

        init(_ name: String, _ type: String, isWritable: Bool = false) {
            self.name = name
            self.type = type
            self.isWritable = isWritable
        }
    }

    struct Signal: Sendable {
        let name: String
        let values: [String]

        init(_ name: String, _ values: [String]) {
            self.name = name
            self.values = values
        }
    }

    let name: String
    var methods: [Method] = []
    var properties: [Property] = []
    var signals: [Signal] = []

    private static let secret = "(oayays)"

    static let service = ServedInterface(
        name: ServiceName.service,
        methods: [
            Method("OpenSession", ["s", "v"], ["v", "o"]),
            Method("CreateCollection", ["a{sv}", "s"], ["o", "o"]),
            Method("SearchItems", ["a{ss}"], ["ao", "ao"]),
            Method("Unlock", ["ao"], ["ao", "o"]),
            Method("Lock", ["ao"], ["ao", "o"]),
            Method("GetSecrets", ["ao", "o"], ["a{o(oayays)}"]),
            Method("ReadAlias", ["s"], ["o"]),
            Method("SetAlias", ["s", "o"]),
        ], properties: [Property("Collections", "ao")],
        signals: [
            Signal("CollectionCreated", ["o"]), Signal("CollectionDeleted", ["o"]),
            Signal("CollectionChanged", ["o"]),
        ])

    static let collection = ServedInterface(
        name: ServiceName.collection,
        methods: [
            Method("Delete", [], ["o"]), Method("SearchItems", ["a{ss}"], ["ao"]),
            Method("CreateItem", ["a{sv}", secret, "b"], ["o", "o"]),
        ],
        properties: [
            Property("Items", "ao"), Property("Label", "s", isWritable: true), Property("Locked", "b"),
            Property("Created", "t"), Property("Modified", "t"),
        ],
        signals: [
            Signal("ItemCreated", ["o"]), Signal("ItemDeleted", ["o"]), Signal("ItemChanged", ["o"]),
        ])

    static let item = ServedInterface(
        name: ServiceName.item,
        methods: [
            Method("Delete", [], ["o"]), Method("GetSecret", ["o"], [secret]), Method("SetSecret", [secret]),
        ],
        properties: [
            Property("Locked", "b"), Property("Attributes", "a{ss}", isWritable: true),
            Property("Label", "s", isWritable: true), Property("Type", "s"), Property("Created", "t"),
            Property("Modified", "t"),
        ])

    static let session = ServedInterface(name: ServiceName.session, methods: [Method("Close")])

    static let prompt = ServedInterface(
        name: ServiceName.prompt, methods: [Method("Prompt", ["s"]), Method("Dismiss")],
        signals: [Signal("Completed", ["b", "v"])])

    /// The interfaces of every object.
    static let common = [
        ServedInterface(
            name: ServiceName.properties,
            methods: [
                Method("Get", ["s", "s"], ["v"]), Method("GetAll", ["s"], ["a{sv}"]),
                Method("Set", ["s", "s", "v"]),
            ], signals: [Signal("PropertiesChanged", ["s", "a{sv}", "as"])]),
        ServedInterface(name: ServiceName.introspectable, methods: [Method("Introspect", [], ["s"])]),
        ServedInterface(name: ServiceName.peer, methods: [Method("Ping")]),
    ]

    /// The description in the format of D-Bus's introspection.
    private var description: String {
        var lines = ["  <interface name=\"\(name)\">"]
        for method in methods {
            lines.append("    <method name=\"\(method.name)\">")
            lines += method.input.map { "      <arg type=\"\($0)\" direction=\"in\"/>" }
            lines += method.output.map { "      <arg type=\"\($0)\" direction=\"out\"/>" }
            lines.append("    </method>")
        }
        for signal in signals {
            lines.append("    <signal name=\"\(signal.name)\">")
            lines += signal.values.map { "      <arg type=\"\($0)\"/>" }
            lines.append("    </signal>")
        }
        for property in properties {
            let access = property.isWritable ? "readwrite" : "read"
            lines.append(
                "    <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"\(access)\"/>")
        }
        return (lines + ["  </interface>", ""]).joined(separator: "\n")
    }

    /// Returns the introspection of an object with these interfaces and these objects below it.
    static func introspection(_ interfaces: [ServedInterface], children: [String]) -> String {
        let head = """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>

            """
        let nodes = children.map { "  <node name=\"\($0)\"/>\n" }.joined()
        return head + interfaces.map(\.description).joined() + nodes + "</node>\n"
    }
}
