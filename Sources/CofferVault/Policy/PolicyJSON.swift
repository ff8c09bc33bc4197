import CofferBase

/// The conversion of policies from and to JSON.
enum PolicyJSON {
    /// Returns the value of a JSON text.
    static func root(of bytes: [UInt8]) throws(SyntaxFault) -> PolicyNode {
        let (value, lines) = try JSONValue.parsingLines(of: bytes)
        return try node(value, [], lines, depth: 0)
    }

    private static func node(
        _ value: JSONValue, _ path: [String], _ lines: [[String]: Int], depth: Int
    ) throws(SyntaxFault) -> PolicyNode {
        let line = lines[path] ?? 1
        let content: PolicyNode.Content
        switch value {
        case .bool(let flag): content = .flag(flag)
        case .integer(let number): content = .number(number)
        case .string(let text): content = .text(text)
        case .null, .bigInteger, .number: content = .other
        case .array(let elements):
            try checkDepth(depth + 1, line)
            var nodes: [PolicyNode] = []
            for (index, element) in elements.enumerated() {
                nodes.append(try node(element, path + [index.description], lines, depth: depth + 1))
            }
            content = .list(nodes)
        case .object(let fields):
            try checkDepth(depth + 1, line)
            var members: [PolicyNode.Member] = []
            for (key, value) in fields {
                let node = try node(value, path + [key], lines, depth: depth + 1)
                members.append(PolicyNode.Member(key: key, line: node.line, value: node))
            }
            // The reader keeps no order. The order of the lines is that of a document with one key a line.
            members.sort { one, other in
                one.line == other.line
                    ? one.key.utf8.lexicographicallyPrecedes(other.key.utf8) : one.line < other.line
            }
            content = .dictionary(members)
        }
        return PolicyNode(line: line, content: content)
    }

    private static func checkDepth(_ depth: Int, _ line: Int) throws(SyntaxFault) {
        guard depth <= PolicyDocument.maxDepth else {
            throw SyntaxFault(
                line: line, message: "Values are nested more than \(PolicyDocument.maxDepth) levels deep.")
        }
    }

    /// Returns the JSON value of a policy's content.
    static func value(of node: PolicyNode) throws(CofferError) -> JSONValue {
        switch node.content {
        case .flag(let flag): return .bool(flag)
        case .number(let number): return .integer(number)
        case .text(let text): return .string(text)
        case .list(let nodes):
            var elements: [JSONValue] = []
            for node in nodes { elements.append(try value(of: node)) }
            return .array(elements)
        case .dictionary(let members):
            var fields: [String: JSONValue] = [:]
            for member in members {
                guard fields.updateValue(try value(of: member.value), forKey: member.key) == nil else {
                    throw CofferError(
                        .invalidInput, "Line \(member.line): JSON has one form for two of the keys.")
                }
            }
            return .object(fields)
        case .other:
            throw CofferError(
                .invalidInput, "Line \(node.line): a policy has no null and no number with a fraction.")
        }
    }
}
