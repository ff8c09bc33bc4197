/// A parser of a small part of XML: elements, attributes, comments and the XML declaration. Everything with
/// which a document could load or expand something is refused. A ``Dialect`` says whether there may be text.
package struct StrictXML {
    /// An element.
    package struct Element: Sendable, Equatable {
        /// The name.
        package let name: String
        /// The attributes in order; no name is there twice.
        package let attributes: [Attribute]
        /// The elements in it.
        package fileprivate(set) var children: [Element] = []
        /// The text in it, with its entities replaced. An element with elements has at most white space.
        package fileprivate(set) var text = ""
        /// The line on which the element begins.
        package let line: Int
    }

    /// An attribute of an element.
    package struct Attribute: Sendable, Equatable {
        /// The name.
        package let name: String
        /// The value, with its entities replaced.
        package let value: String
    }

    /// The limits of a kind of document, and the parts of XML that it may use.
    package struct Dialect: Sendable {
        /// The greatest size of a document in bytes.
        package var maxByteCount = 1 << 16
        /// The greatest depth of elements.
        package var maxDepth = 8
        /// The greatest number of elements.
        package var maxElements = 1024
        /// Whether an element without elements may have text.
        package var acceptsText = false
        /// The words of the only document type that a document may have, after `<!DOCTYPE`; empty for none.
        /// It is compared and never loaded.
        package var documentType: [String] = []

        /// A dialect without text and without a document type.
        package static let elements = Dialect()

        package init() {}
    }

    private static let maxAttributes = 16

    private let bytes: [UInt8]
    private let dialect: Dialect
    private var at = 0
    private var elements = 0
    /// A position and its line, from which the next line is counted.
    private var counted = (at: 0, line: 1)

    private init(_ bytes: [UInt8], _ dialect: Dialect) {
        self.bytes = bytes
        self.dialect = dialect
    }

    /// Returns the root element of a document.
    ///
    /// - Parameters:
    ///   - bytes: The document.
    ///   - dialect: The limits, and the accepted parts of XML.
    /// - Returns: The root element.
    /// - Throws: The first fault, if the document is outside the accepted part of XML.
    package static func parse(
        _ bytes: [UInt8], _ dialect: Dialect = .elements
    ) throws(SyntaxFault) -> Element {
        guard bytes.count <= dialect.maxByteCount else {
            throw SyntaxFault(
                line: 1, message: "The XML document must be at most \(dialect.maxByteCount) bytes long.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw SyntaxFault(line: 1, message: "The XML document must be UTF-8.")
        }
        let isText = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D, 0x20..<0x7F, 0xA0..<0xFFFE, 0x10000...: true
            default: false
            }
        }
        guard isText else {
            throw SyntaxFault(line: 1, message: "The XML document must not contain control characters.")
        }
        var parser = StrictXML(bytes, dialect)
        try parser.declaration()
        try parser.skipSpaceAndComments()
        try parser.documentType()
        let root = try parser.element(depth: 1)
        try parser.skipSpaceAndComments()
        guard parser.at == bytes.count else { throw parser.invalid("there is text after the root element") }
        return root
    }

    /// Returns the fault of a document that is invalid on a line.
    package static func fault(_ reason: String, _ line: Int) -> SyntaxFault {
        SyntaxFault(line: line, message: "The XML document is invalid on line \(line): \(reason).")
    }

    private func invalid(_ reason: String) -> SyntaxFault { Self.fault(reason, line) }

    private var line: Int { 1 + bytes[..<at].count { $0 == 0x0A } }

    /// Returns the line at the present position. Counts each byte of the document once.
    private mutating func currentLine() -> Int {
        counted = (at, counted.line + bytes[counted.at..<at].count { $0 == 0x0A })
        return counted.line
    }

    private var next: UInt8? { at < bytes.count ? bytes[at] : nil }

    private func isNext(_ text: String) -> Bool { bytes[at...].starts(with: text.utf8) }

    private mutating func take(_ text: String) -> Bool {
        guard isNext(text) else { return false }
        at += text.utf8.count
        return true
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = at
        while let byte = next, Self.isSpace(byte) { at += 1 }
        return at > start
    }

    private mutating func skipSpaceAndComments() throws(SyntaxFault) {
        skipSpace()
        while take("<!--") {
            while !isNext("--") {
                guard next != nil else { throw invalid("a comment is not closed") }
                at += 1
            }
            guard take("-->") else { throw invalid("a comment must not contain two hyphens") }
            skipSpace()
        }
    }

    /// Reads the byte order mark and the XML declaration, if they are there.
    private mutating func declaration() throws(SyntaxFault) {
        _ = take("\u{FEFF}")
        guard take("<?xml") else { return }
        let attributes = try attributes()
        guard take("?>") else { throw invalid("the XML declaration is not closed") }
        guard let version = attributes.first, version.name.hasSameBytes(as: "version"),
            version.value.hasSameBytes(as: "1.0"), attributes.count <= 2
        else { throw invalid("the XML declaration must name version 1.0, and at most an encoding") }
        guard attributes.count == 2 else { return }
        guard attributes[1].name.hasSameBytes(as: "encoding"),
            attributes[1].value.foldedASCII.hasSameBytes(as: "utf-8")
        else { throw invalid("the encoding must be UTF-8") }
    }

    /// Reads the dialect's document type, if it is there.
    private mutating func documentType() throws(SyntaxFault) {
        guard !dialect.documentType.isEmpty, take("<!DOCTYPE") else { return }
        for word in dialect.documentType {
            guard skipSpace(), take(word) else { throw invalid("the document type is not the accepted one") }
        }
        skipSpace()
        guard take(">") else { throw invalid("the document type is not the accepted one") }
        try skipSpaceAndComments()
    }

    private mutating func element(depth: Int) throws(SyntaxFault) -> Element {
        guard take("<") else { throw invalid("an element is expected") }
        elements += 1
        guard depth <= dialect.maxDepth, elements <= dialect.maxElements else {
            throw invalid("there are too many elements, or they are nested too deep")
        }
        if isNext("!") || isNext("?") {
            throw invalid("document types, CDATA and processing instructions are not accepted")
        }
        let start = currentLine()
        let name = try name()
        var element = Element(name: name, attributes: try attributes(), line: start)
        if take("/>") { return element }
        guard take(">") else { throw invalid("the start of an element is not closed") }
        try content(of: &element, depth: depth)
        let end = try self.name()
        skipSpace()
        guard end.hasSameBytes(as: name), take(">") else {
            throw invalid("the end of an element does not match its start")
        }
        return element
    }

    /// Reads what is in an element, and the beginning of its end.
    private mutating func content(of element: inout Element, depth: Int) throws(SyntaxFault) {
        var text: [UInt8] = []
        var hasComment = false
        while !take("</") {
            if isNext("<!--") {
                hasComment = true
                try skipSpaceAndComments()
            } else if next == UInt8(ascii: "<") {
                element.children.append(try self.element(depth: depth + 1))
            } else {
                try self.text(into: &text)
            }
        }
        guard text.allSatisfy(Self.isSpace) || (element.children.isEmpty && !hasComment) else {
            throw invalid("an element with text may not have elements or comments")
        }
        element.text = String(decoding: text, as: UTF8.self)
    }

    /// Reads text up to the next element, comment or end.
    private mutating func text(into text: inout [UInt8]) throws(SyntaxFault) {
        let isExpected = dialect.acceptsText
        while let byte = next, byte != UInt8(ascii: "<") {
            guard isExpected || Self.isSpace(byte) else {
                throw invalid("only elements and comments may be in an element")
            }
            if byte == UInt8(ascii: "&") {
                text.append(try entity())
                continue
            }
            guard byte != UInt8(ascii: "]") || !isNext("]]>") else {
                throw invalid("text must not contain ]]>")
            }
            text.append(byte)
            at += 1
        }
        guard next != nil else { throw invalid("an element is not closed") }
    }

    private mutating func attributes() throws(SyntaxFault) -> [Attribute] {
        var attributes: [Attribute] = []
        while skipSpace(), let byte = next, Self.isNameStart(byte) {
            let name = try name()
            skipSpace()
            guard take("=") else { throw invalid("an attribute must have a value") }
            skipSpace()
            let value = try value()
            guard !attributes.contains(where: { $0.name.hasSameBytes(as: name) }),
                attributes.count < Self.maxAttributes
            else { throw invalid("an attribute is there twice, or there are too many") }
            attributes.append(Attribute(name: name, value: value))
        }
        return attributes
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
    }

    /// Reads a name of ASCII letters, digits, hyphens, periods and underscores. There are no namespaces.
    private mutating func name() throws(SyntaxFault) -> String {
        let start = at
        guard let first = next, Self.isNameStart(first) else { throw invalid("a name is expected") }
        while let byte = next,
            Self.isNameStart(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        {
            at += 1
        }
        guard at - start <= 64 else { throw invalid("a name is longer than 64 bytes") }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private mutating func value() throws(SyntaxFault) -> String {
        guard let quote = next, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw invalid("a value must be in quotation marks")
        }
        at += 1
        var value: [UInt8] = []
        while let byte = next, byte != quote {
            switch byte {
            case UInt8(ascii: "<"): throw invalid("a value must not contain <")
            // XML replaces a line end in a value by a space, and a value with one is a mistake.
            case 0x09, 0x0A, 0x0D: throw invalid("a value must not contain a line end or a tab")
            case UInt8(ascii: "&"): value.append(try entity())
            default:
                value.append(byte)
                at += 1
            }
        }
        guard next != nil else { throw invalid("a value is not closed") }
        at += 1
        return String(decoding: value, as: UTF8.self)
    }

    private mutating func entity() throws(SyntaxFault) -> UInt8 {
        if take("&lt;") { return UInt8(ascii: "<") }
        if take("&gt;") { return UInt8(ascii: ">") }
        if take("&amp;") { return UInt8(ascii: "&") }
        if take("&quot;") { return UInt8(ascii: "\"") }
        if take("&apos;") { return UInt8(ascii: "'") }
        throw invalid("only the entities lt, gt, amp, quot and apos are accepted")
    }
}
