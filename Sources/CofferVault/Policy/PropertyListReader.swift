package import CofferBase

/// A strict reader of XML property lists: dictionaries, arrays, strings, Booleans and integers.
///
/// Everything else is a fault: other elements, a key that occurs twice, text after the end, entities beyond
/// the five of XML, document types other than that of property lists, and binary or OpenStep property lists.
package enum PropertyListReader {
    /// The only document type of a property list. It is compared and never loaded.
    package static let documentType = [
        "plist", "PUBLIC", "\"-//Apple//DTD PLIST 1.0//EN\"",
        "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\"",
    ]

    private static var dialect: StrictXML.Dialect {
        var dialect = StrictXML.Dialect()
        dialect.maxByteCount = PolicyDocument.maxByteCount
        // The element plist is one level more than the value in it.
        dialect.maxDepth = PolicyDocument.maxDepth + 2
        dialect.maxElements = 16 * PolicyDocument.maxKeys
        dialect.acceptsText = true
        dialect.documentType = documentType
        return dialect
    }

    /// Returns the value in a property list.
    ///
    /// - Throws: The first fault.
    package static func value(of bytes: [UInt8]) throws(SyntaxFault) -> PolicyNode {
        let root = try StrictXML.parse(bytes, dialect)
        let version = root.attributes.first
        guard root.name.hasSameBytes(as: "plist"), root.attributes.count <= 1,
            version.map({ $0.name.hasSameBytes(as: "version") && $0.value.hasSameBytes(as: "1.0") }) ?? true
        else { throw StrictXML.fault("the root element must be plist, with version 1.0", root.line) }
        try requireNoText(root)
        guard root.children.count == 1 else {
            throw StrictXML.fault("the element plist must have exactly one value", root.line)
        }
        return try node(root.children[0], depth: 1)
    }

    private static func node(
        _ element: StrictXML.Element, depth: Int
    ) throws(SyntaxFault) -> PolicyNode {
        guard element.attributes.isEmpty else {
            throw StrictXML.fault("the elements in plist have no attributes", element.line)
        }
        let content: PolicyNode.Content
        switch element.name {
        case "dict": content = .dictionary(try members(of: element, depth: depth))
        case "array": content = .list(try elements(of: element, depth: depth))
        case "string": content = .text(try text(of: element))
        case "integer": content = .number(try number(in: element))
        case "true", "false":
            guard element.children.isEmpty, element.text.isEmpty else {
                throw StrictXML.fault("the elements true and false are empty", element.line)
            }
            content = .flag(element.name.hasSameBytes(as: "true"))
        default:
            throw StrictXML.fault(
                "a value must be dict, array, string, true, false or integer", element.line)
        }
        return PolicyNode(line: element.line, content: content)
    }

    private static func members(
        of element: StrictXML.Element, depth: Int
    ) throws(SyntaxFault) -> [PolicyNode.Member] {
        try requireShallow(element, depth)
        var members: [PolicyNode.Member] = []
        var keys: Set<[UInt8]> = []
        var rest = element.children[...]
        while let name = rest.popFirst() {
            guard name.name.hasSameBytes(as: "key"), name.attributes.isEmpty else {
                throw StrictXML.fault("a key must precede each value of a dict", name.line)
            }
            let key = try text(of: name)
            guard keys.insert(Array(key.utf8)).inserted else {
                throw StrictXML.fault("a dict has the key \(key.debugDescription) twice", name.line)
            }
            guard let value = rest.popFirst() else {
                throw StrictXML.fault("the last key of a dict has no value", name.line)
            }
            members.append(
                PolicyNode.Member(key: key, line: name.line, value: try node(value, depth: depth + 1)))
        }
        return members
    }

    private static func elements(
        of element: StrictXML.Element, depth: Int
    ) throws(SyntaxFault) -> [PolicyNode] {
        try requireShallow(element, depth)
        var nodes: [PolicyNode] = []
        for child in element.children { nodes.append(try node(child, depth: depth + 1)) }
        return nodes
    }

    private static func requireShallow(_ element: StrictXML.Element, _ depth: Int) throws(SyntaxFault) {
        try requireNoText(element)
        guard depth <= PolicyDocument.maxDepth else {
            throw StrictXML.fault(
                "values are nested more than \(PolicyDocument.maxDepth) levels deep", element.line)
        }
    }

    private static func requireNoText(_ element: StrictXML.Element) throws(SyntaxFault) {
        guard element.text.utf8.allSatisfy({ [0x20, 0x0A, 0x0D, 0x09].contains($0) }) else {
            throw StrictXML.fault("the element \(element.name) must not have text", element.line)
        }
    }

    private static func text(of element: StrictXML.Element) throws(SyntaxFault) -> String {
        guard element.children.isEmpty else {
            throw StrictXML.fault("the element \(element.name) must not have elements", element.line)
        }
        return element.text
    }

    /// Returns a decimal number. Only the form that programs write is accepted, without spaces, a plus sign
    /// or leading zeros.
    private static func number(in element: StrictXML.Element) throws(SyntaxFault) -> Int64 {
        let text = try text(of: element)
        guard let number = Int64(text), number.description.hasSameBytes(as: text) else {
            throw StrictXML.fault("an integer must be a decimal number of at most 64 bits", element.line)
        }
        return number
    }
}
