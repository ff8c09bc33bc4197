import CofferBase
import CofferEngine

/// The status and the fields of a response, parsed from the lines that arrived.
struct HTTPHead: Sendable {
    let status: Int
    let fields: [(name: String, value: String)]

    /// Parses the lines of a response, which interim responses may precede and trailers may follow.
    ///
    /// - Parameters:
    ///   - bytes: The lines, each with its line end.
    ///   - maximumFields: The maximum number of fields, including those of interim responses.
    /// - Returns: The head of the final response; `nil` if it is not complete.
    /// - Throws: `serverMalformed` if a line is not valid or there are too many.
    static func parse(_ bytes: Span<UInt8>, maximumFields: Int) throws(CofferError) -> HTTPHead? {
        var status: Int?
        var fields: [(name: String, value: String)] = []
        var (start, count) = (0, 0)
        for index in 0..<bytes.count where bytes[index] == UInt8(ascii: "\n") {
            let hasReturn = index > start && bytes[index - 1] == UInt8(ascii: "\r")
            let line = bytes.extracting(start..<(hasReturn ? index - 1 : index))
            start = index + 1
            guard let current = status else {
                status = try statusCode(line)
                continue
            }
            guard line.count > 0 else {
                if current >= 200 { return HTTPHead(status: current, fields: fields) }
                status = nil
                fields = []
                continue
            }
            count += 1
            guard count <= maximumFields else { throw malformed("it has too many fields") }
            if let next = try field(line) { fields.append(next) }
        }
        return nil
    }

    /// Checks that there is only one way to tell where the body ends, and that its bytes are the content's.
    ///
    /// - Throws: `serverMalformed` if there are several ways, or if the content is encoded.
    func check() throws(CofferError) {
        let length = try Self.onlyValue(of: "content-length", in: fields)
        let transfer = try Self.onlyValue(of: "transfer-encoding", in: fields)
        guard length == nil || transfer == nil else {
            throw Self.malformed("it has Content-Length and Transfer-Encoding")
        }
        if let length, length.utf8.isEmpty || !length.utf8.allSatisfy(Self.isDigit) {
            throw Self.malformed("Content-Length is not a number")
        }
        if let transfer, !transfer.foldedASCII.hasSameBytes(as: "chunked") {
            throw Self.malformed("its transfer encoding is unknown")
        }
        let coding = try Self.onlyValue(of: "content-encoding", in: fields)
        if let coding, !coding.foldedASCII.hasSameBytes(as: "identity") {
            throw Self.malformed("its content is encoded, which was not asked for")
        }
    }

    /// Whether a body has the announced length. One that is neither announced nor in chunks ends with the
    /// stream, which the server must have closed.
    func isLengthReached(_ count: Int, isBodyless: Bool, isClosed: Bool) -> Bool {
        guard !isBodyless, status != 204, status != 304 else { return true }
        let length = fields.first { $0.name.hasSameBytes(as: "content-length") }
        if let length { return Int(length.value) == count }
        return isClosed || fields.contains { $0.name.hasSameBytes(as: "transfer-encoding") }
    }

    /// Returns the value of the only field with this name; `nil` if there is none.
    ///
    /// - Throws: `serverMalformed` if there are several.
    static func onlyValue(
        of name: String, in fields: [(name: String, value: String)]
    ) throws(CofferError) -> String? {
        let folded = name.foldedASCII
        let found = fields.filter { $0.name.hasSameBytes(as: folded) }
        guard found.count <= 1 else { throw malformed("a field occurs more than once") }
        return found.first?.value
    }

    static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Whether a byte may be part of a field's name: RFC 9110, section 5.6.2.
    static func isTokenByte(_ byte: UInt8) -> Bool {
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) && byte < 0x80
        return isLetter || isDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    // MARK: Lines

    /// Returns the code of a status line. 101 is refused: nothing asks for another protocol.
    private static func statusCode(_ line: Span<UInt8>) throws(CofferError) -> Int {
        let bytes = line.copied()
        guard bytes.count >= 12, bytes.starts(with: "HTTP/1.".utf8),
            bytes[7] == UInt8(ascii: "0") || bytes[7] == UInt8(ascii: "1"),
            bytes[8] == UInt8(ascii: " "),
            bytes[9..<12].allSatisfy(isDigit), bytes.count == 12 || bytes[12] == UInt8(ascii: " ")
        else { throw malformed("its first line is not a status line of HTTP/1.1") }
        let code = bytes[9..<12].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard (100...599).contains(code), code != 101 else { throw malformed("its status is invalid") }
        return code
    }

    /// Returns the field of a line; `nil` for a cookie, which is not kept.
    private static func field(_ line: Span<UInt8>) throws(CofferError) -> (name: String, value: String)? {
        var colon = 0
        while colon < line.count, isTokenByte(line[colon]) { colon += 1 }
        // A line that begins with a space continues the one before it, which RFC 9112 no longer allows.
        guard colon > 0, colon < line.count, line[colon] == UInt8(ascii: ":") else {
            throw malformed("a field has no valid name")
        }
        let name = String(decoding: line.extracting(0..<colon).copied(), as: UTF8.self).foldedASCII
        if name.hasSameBytes(as: "set-cookie") || name.hasSameBytes(as: "set-cookie2") { return nil }
        var (start, end) = (colon + 1, line.count)
        while start < end, isSpace(line[start]) { start += 1 }
        while end > start, isSpace(line[end - 1]) { end -= 1 }
        let value = line.extracting(start..<end).copied()
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw malformed("a field has control characters")
        }
        return (name, String(decoding: value, as: UTF8.self))
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func malformed(_ reason: String) -> CofferError {
        CofferError(.serverMalformed, "The header of the server's response is malformed: \(reason).")
    }
}
