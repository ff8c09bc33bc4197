extension JSONValue {
    /// Returns the JSON text, without spaces and with sorted keys.
    ///
    /// - Throws: `invalidInput` if the value contains infinity, not-a-number or a big integer that is not
    ///   made of digits, or if the value is nested more than 500 levels deep.
    public func jsonText() throws(CofferError) -> String { try JSONWriter.text(of: self) }
}

/// A writer of JSON without spaces and with sorted keys, so equal values have equal texts.
private struct JSONWriter {
    private var bytes: [UInt8] = []

    fileprivate static func text(of value: JSONValue) throws(CofferError) -> String {
        var writer = JSONWriter()
        try writer.write(value, depth: 0)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private mutating func write(_ value: JSONValue, depth: Int) throws(CofferError) {
        switch value {
        case .null: add("null")
        case .bool(let value): add(value ? "true" : "false")
        case .integer(let number): add(number.description)
        case .bigInteger(let digits): try write(digits: digits)
        case .number(let number):
            guard number.isFinite else {
                throw CofferError(.invalidInput, "Infinity and not-a-number cannot be encoded in JSON.")
            }
            add(number.description)
        case .string(let text): write(text)
        case .array(let elements):
            try list("[", elements, "]", depth) { (writer, element) throws(CofferError) in
                try writer.write(element, depth: depth + 1)
            }
        case .object(let fields):
            let ordered = fields.sorted { $0.key < $1.key }
            try list("{", ordered, "}", depth) { (writer, field) throws(CofferError) in
                writer.write(field.key)
                writer.add(":")
                try writer.write(field.value, depth: depth + 1)
            }
        }
    }

    private mutating func list<Element>(
        _ open: String, _ elements: [Element], _ close: String, _ depth: Int,
        _ write: (inout JSONWriter, Element) throws(CofferError) -> Void
    ) throws(CofferError) {
        guard depth < JSONValue.maximumDepth else {
            throw CofferError(
                .invalidInput,
                "The JSON value must not be nested more than \(JSONValue.maximumDepth) levels deep.")
        }
        add(open)
        for (index, element) in elements.enumerated() {
            if index > 0 { add(",") }
            try write(&self, element)
        }
        add(close)
    }

    private mutating func add(_ text: String) { bytes += text.utf8 }

    /// Writes a big integer after checking its digits: a caller can create a `bigInteger` from any text, and
    /// text other than digits would make the JSON invalid.
    private mutating func write(digits: String) throws(CofferError) {
        let positive = digits.first == "-" ? digits.dropFirst() : digits[...]
        guard !positive.isEmpty, positive.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            positive.first != "0" || positive.utf8.count == 1
        else {
            throw CofferError(
                .invalidInput,
                "A big integer must consist of an optional minus sign and digits without leading zeros.")
        }
        add(digits)
    }

    private mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0A: add("\\n")
            case 0x0D: add("\\r")
            case 0x09: add("\\t")
            case 0..<0x20:
                add(byte < 0x10 ? "\\u000" : "\\u00")
                add(String(byte, radix: 16))
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
