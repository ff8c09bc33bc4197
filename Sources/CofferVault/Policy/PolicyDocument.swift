public import CofferBase

/// A policy document: a property list or JSON with the values of ``PolicyKey``.
///
/// Reading never stops at the first mistake: ``findings`` has all of them, so that an administrator can mend
/// a document in one go. Only a document that is not well-formed has one finding.
///
/// ```swift
/// let document = PolicyDocument(reading: bytes, as: .json)
/// for finding in document.findings { print(finding) }
/// ```
public struct PolicyDocument: Sendable {
    /// The format of a document.
    public enum Format: String, Sendable, CaseIterable {
        /// An XML property list. The raw value is the extension of its file name.
        case propertyList = "plist"
        /// JSON (RFC 8259), without duplicate keys. The raw value is the extension of its file name.
        case json
    }

    /// The greatest size of a document in bytes.
    public static let maxByteCount = 1 << 18
    /// The greatest number of keys of a document, in all its dictionaries.
    public static let maxKeys = 1024
    /// The greatest depth of dictionaries and arrays.
    public static let maxDepth = 8

    /// A value and the line of its key.
    struct Entry: Sendable {
        let value: PolicyValue
        let line: Int
    }

    /// The document's format.
    public let format: Format
    /// Everything that is wrong with the document, or unknown in it, in the order of the lines.
    public let findings: [PolicyFinding]
    /// The values by key; empty for an invalid document.
    let entries: [PolicyKey: Entry]
    /// The document's content; `nil` if it is not well-formed.
    let root: PolicyNode?

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - bytes: The document.
    ///   - format: Its format.
    public init(reading bytes: [UInt8], as format: Format) {
        self.format = format
        do throws(SyntaxFault) {
            let root = try Self.root(of: bytes, format)
            var reading = PolicyReading()
            reading.read(root)
            self.root = root
            findings = reading.findings.sorted { $0.line < $1.line }
            let isValid = !findings.contains { $0.kind == .error }
            entries = isValid ? reading.entries : [:]
        } catch {
            root = nil
            entries = [:]
            findings = [PolicyFinding(.error, error.line, nil, error.message)]
        }
    }

    /// Whether the document has no mistake. Unknown keys are not mistakes.
    public var isValid: Bool { !findings.contains { $0.kind == .error } }

    /// The values by key; empty for an invalid document.
    public var values: [PolicyKey: PolicyValue] { entries.mapValues(\.value) }

    /// Returns the document in another format, with all its keys, also the unknown ones.
    ///
    /// - Parameter format: The format.
    /// - Returns: The bytes of the converted document.
    /// - Throws: `invalidInput` if the document is not well-formed, or if the format has no form for a value.
    public func encoded(as format: Format) throws(CofferError) -> [UInt8] {
        guard let root else { throw CofferError(.invalidInput, findings.first?.message ?? "") }
        switch format {
        case .propertyList: return try PropertyListWriter.bytes(of: root)
        case .json: return try Array((PolicyJSON.value(of: root).jsonText() + "\n").utf8)
        }
    }

    private static func root(of bytes: [UInt8], _ format: Format) throws(SyntaxFault) -> PolicyNode {
        guard bytes.count <= maxByteCount else {
            throw SyntaxFault(line: 1, message: "A policy must be at most \(maxByteCount) bytes long.")
        }
        let root: PolicyNode
        switch format {
        case .propertyList: root = try PropertyListReader.value(of: bytes)
        case .json: root = try PolicyJSON.root(of: bytes)
        }
        guard case .dictionary = root.content else {
            throw SyntaxFault(line: root.line, message: "A policy must be a dictionary.")
        }
        guard root.keyCount <= maxKeys else {
            throw SyntaxFault(line: 1, message: "A policy must have at most \(maxKeys) keys.")
        }
        return root
    }
}

extension PolicyNode {
    /// The number of keys in this value.
    fileprivate var keyCount: Int {
        switch content {
        case .list(let nodes): nodes.reduce(0) { $0 + $1.keyCount }
        case .dictionary(let members): members.reduce(members.count) { $0 + $1.value.keyCount }
        default: 0
        }
    }
}
