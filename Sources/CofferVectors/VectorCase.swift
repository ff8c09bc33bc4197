import CofferBase

/// One test in a vector file, with its group's fields.
package struct VectorCase: Sendable {
    /// The result that the file requires.
    package enum Expectation: String, Sendable {
        /// The library must accept the test and agree with it.
        case valid
        /// The library must refuse the test.
        case invalid
        /// The library may accept or refuse the test.
        case acceptable
    }

    package let id: Int
    package let comment: String
    package let flags: [String]
    /// The required result; `nil` if the file contains an unknown word.
    package let expectation: Expectation?
    /// The code of the only error allowed for an invalid test in this package's own files.
    let expectedError: String?
    let group: [String: JSONValue]
    var fields: [String: JSONValue]

    init(_ members: [String: JSONValue], group: [String: JSONValue]) {
        id = members["tcId"]?.int ?? 0
        comment = members["comment"]?.string ?? ""
        flags = (members["flags"]?.array ?? []).map { $0.string ?? "" }
        expectation = members["result"]?.string.flatMap(Expectation.init(rawValue:))
        expectedError = members["expectError"]?.string
        fields = members.filter { !Self.describing.contains($0.key) }
        self.group = group
    }

    /// The members that every test may have in addition to the fields of its algorithm.
    private static let describing: Set<String> = [
        "tcId", "comment", "flags", "result", "expectError", "releasedSha256", "source",
    ]
}

extension VectorCase {
    /// Returns the bytes of a hexadecimal field.
    package func bytes(_ name: String) throws(MalformedVector) -> [UInt8] {
        guard let bytes = HexText.decode(try text(name), lowerCaseOnly: true) else {
            throw MalformedVector("field \(name) is not hexadecimal")
        }
        return bytes
    }

    /// Returns the bytes of each string in a list of hexadecimal strings.
    func byteStrings(_ name: String) throws(MalformedVector) -> [[UInt8]] {
        guard let list = fields[name]?.array else {
            throw MalformedVector("field \(name) is missing or not a list")
        }
        var strings: [[UInt8]] = []
        for element in list {
            guard let bytes = element.string.flatMap({ HexText.decode($0, lowerCaseOnly: true) }) else {
                throw MalformedVector("field \(name) contains text that is not hexadecimal")
            }
            strings.append(bytes)
        }
        return strings
    }

    package func text(_ name: String) throws(MalformedVector) -> String {
        guard let text = fields[name]?.string else {
            throw MalformedVector("field \(name) is missing or not text")
        }
        return text
    }

    package func integer(_ name: String) throws(MalformedVector) -> Int {
        guard let number = fields[name]?.int else {
            throw MalformedVector("field \(name) is missing or not an integer")
        }
        return number
    }

    /// Throws if fields of a valid test do not have the sizes that the group declares in bits.
    func checkDeclaredSizes() throws(MalformedVector) {
        guard expectation == .valid else { return }
        for (size, field) in [("keySize", "key"), ("ivSize", "iv"), ("tagSize", "tag")] {
            guard let bits = group[size]?.int, fields[field] != nil else { continue }
            guard try bytes(field).count * 8 == bits else {
                throw MalformedVector("field \(field) does not have the group's \(bits) bits")
            }
        }
    }

    /// Returns the same test with the last bit of `name` flipped, or `nil` if that field contains no bytes.
    func flippingLastBit(of name: String) -> VectorCase? {
        guard var bytes = try? bytes(name), let last = bytes.popLast() else { return nil }
        bytes.append(last ^ 1)
        var turned = self
        turned.fields[name] = .string(HexText.encode(bytes))
        return turned
    }
}

extension JSONValue {
    /// The value as an `Int`; `nil` if the value is not an integer or does not fit.
    var int: Int? { integer.flatMap { Int(exactly: $0) } }
}

/// The reason why a test or a file is not a valid vector.
package struct MalformedVector: Error {
    package let reason: String
    package init(_ reason: String) { self.reason = reason }
}
