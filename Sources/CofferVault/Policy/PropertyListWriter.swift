package import CofferBase

/// A writer of XML property lists, in the form that Apple's and Python's programs write.
package enum PropertyListWriter {
    /// Returns the property list of a value.
    ///
    /// - Throws: `invalidInput` if the value has a null or a fraction, or text that XML cannot contain.
    package static func bytes(of node: PolicyNode) throws(CofferError) -> [UInt8] {
        var lines = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>"]
        lines.append("<!DOCTYPE " + PropertyListReader.documentType.joined(separator: " ") + ">")
        lines.append("<plist version=\"1.0\">")
        try write(node, "", to: &lines)
        lines.append("</plist>")
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    private static func write(
        _ node: PolicyNode, _ indent: String, to lines: inout [String]
    ) throws(CofferError) {
        switch node.content {
        case .flag(let flag): lines.append(indent + (flag ? "<true/>" : "<false/>"))
        case .number(let number): lines.append("\(indent)<integer>\(number)</integer>")
        case .text(let text): lines.append("\(indent)<string>\(try escaped(text))</string>")
        case .list(let nodes):
            guard !nodes.isEmpty else { return lines.append(indent + "<array/>") }
            lines.append(indent + "<array>")
            for node in nodes { try write(node, indent + "\t", to: &lines) }
            lines.append(indent + "</array>")
        case .dictionary(let members):
            guard !members.isEmpty else { return lines.append(indent + "<dict/>") }
            lines.append(indent + "<dict>")
            for member in members {
                lines.append("\(indent)\t<key>\(try escaped(member.key))</key>")
                try write(member.value, indent + "\t", to: &lines)
            }
            lines.append(indent + "</dict>")
        case .other:
            throw CofferError(
                .invalidInput, "Line \(node.line): a policy has no null and no number with a fraction.")
        }
    }

    private static func escaped(_ text: String) throws(CofferError) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case 0x09, 0x0A, 0x20...: bytes.append(byte)
            default: throw CofferError(.invalidInput, "XML text cannot contain control characters.")
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
