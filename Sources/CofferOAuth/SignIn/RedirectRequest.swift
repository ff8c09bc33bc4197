package import CofferBase

/// The head of an HTTP request to the loopback listener, as places in the received bytes.
///
/// The parser accepts less than HTTP allows: lines end with CRLF, headers are not folded, and the target is a
/// path. Nothing is copied, because the target may contain an authorization code.
package struct RedirectRequest: Sendable, Equatable {
    /// The maximum length of a head in bytes.
    package static let maxByteCount = 8192
    private static let maxHeaderCount = 100

    /// Whether the method is `GET`.
    package let isGet: Bool
    /// The path of the target.
    package let path: Range<Int>
    /// The query of the target without the question mark, or `nil` if the target has none.
    package let query: Range<Int>?
    /// The value of the `Host` header, or `nil` if there is none.
    package private(set) var host: Range<Int>?
    /// Whether the headers announce a body.
    package private(set) var hasBody = false
    /// The number of bytes in the head. The bytes behind it belong to another request.
    package private(set) var count = 0

    /// Parses the head at the beginning of `bytes`.
    ///
    /// - Parameter bytes: The bytes that have been received so far.
    /// - Returns: The head, or `nil` if it is not complete yet.
    /// - Throws: `redirectRefused` as soon as the bytes cannot become a valid head.
    package static func parse(_ bytes: Span<UInt8>) throws(CofferError) -> RedirectRequest? {
        guard let first = try line(in: bytes, from: 0) else { return nil }
        var request = try RedirectRequest(requestLine: first, in: bytes)
        var next = first.upperBound + 2
        for _ in 0...maxHeaderCount {
            guard let line = try line(in: bytes, from: next) else { return nil }
            next = line.upperBound + 2
            guard !line.isEmpty else {
                request.count = next
                return request
            }
            try request.readHeader(line, in: bytes)
        }
        throw refused("it has too many headers")
    }

    /// The error for an invalid request.
    private static func refused(_ reason: String) -> CofferError {
        CofferError(.redirectRefused, "The request to the sign-in listener was refused: \(reason).")
    }

    /// Returns the line that begins at `start`, without its end, or `nil` if the end is missing.
    private static func line(in bytes: Span<UInt8>, from start: Int) throws(CofferError) -> Range<Int>? {
        var at = start
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "\r") {
                guard at + 1 < bytes.count else { break }
                guard bytes[at + 1] == UInt8(ascii: "\n") else { throw refused("a line ends with CR only") }
                return start..<at
            }
            guard byte >= 0x20 && byte != 0x7F || byte == UInt8(ascii: "\t") else {
                throw refused("it contains a control character")
            }
            at += 1
        }
        guard at - start < maxByteCount else { throw refused("a line is too long") }
        return nil
    }

    /// Reads the method, the target and the version.
    private init(requestLine line: Range<Int>, in bytes: Span<UInt8>) throws(CofferError) {
        guard let first = Self.place(of: " ", in: bytes, line),
            let second = Self.place(of: " ", in: bytes, first + 1..<line.upperBound),
            Self.equal(bytes, second + 1..<line.upperBound, "HTTP/1.1")
                || Self.equal(bytes, second + 1..<line.upperBound, "HTTP/1.0")
        else { throw Self.refused("it does not begin with a request line of HTTP/1.1") }
        let method = line.lowerBound..<first
        guard !method.isEmpty,
            Self.allSatisfy(bytes, method, { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { throw Self.refused("its method is invalid") }
        let target = first + 1..<second
        guard !target.isEmpty, bytes[target.lowerBound] == UInt8(ascii: "/"),
            Self.allSatisfy(bytes, target, { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        else { throw Self.refused("its target is not a path") }
        isGet = Self.equal(bytes, method, "GET")
        if let mark = Self.place(of: "?", in: bytes, target) {
            path = target.lowerBound..<mark
            query = mark + 1..<target.upperBound
        } else {
            path = target
            query = nil
        }
    }

    private mutating func readHeader(_ line: Range<Int>, in bytes: Span<UInt8>) throws(CofferError) {
        guard let colon = Self.place(of: ":", in: bytes, line) else {
            throw Self.refused("a header has no colon")
        }
        let name = line.lowerBound..<colon
        // A space before the colon or at the beginning of the line would let two programs read different
        // headers.
        guard !name.isEmpty, Self.allSatisfy(bytes, name, Self.isTokenByte) else {
            throw Self.refused("the name of a header is invalid")
        }
        let value = Self.trimmed(colon + 1..<line.upperBound, in: bytes)
        if Self.equal(bytes, name, "host", foldingCase: true) {
            guard host == nil else { throw Self.refused("it has two Host headers") }
            host = value
        } else if Self.equal(bytes, name, "transfer-encoding", foldingCase: true) {
            hasBody = true
        } else if Self.equal(bytes, name, "content-length", foldingCase: true) {
            hasBody = hasBody || !Self.equal(bytes, value, "0")
        }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static func trimmed(_ range: Range<Int>, in bytes: Span<UInt8>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, bytes[start] == UInt8(ascii: " ") || bytes[start] == UInt8(ascii: "\t") {
            start += 1
        }
        while end > start, bytes[end - 1] == UInt8(ascii: " ") || bytes[end - 1] == UInt8(ascii: "\t") {
            end -= 1
        }
        return start..<end
    }

    /// Returns the first place of an ASCII character in a part of the bytes.
    static func place(
        of character: Unicode.Scalar, in bytes: Span<UInt8>, _ range: Range<Int>
    ) -> Int? {
        for index in range where bytes[index] == UInt8(ascii: character) { return index }
        return nil
    }

    /// Returns whether a part of the bytes equals `text`, which must be in lower case if `foldingCase` is
    /// true.
    static func equal(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ text: String, foldingCase: Bool = false
    ) -> Bool {
        guard range.count == text.utf8.count else { return false }
        var index = range.lowerBound
        for expected in text.utf8 {
            var byte = bytes[index]
            if foldingCase, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) { byte |= 0x20 }
            guard byte == expected else { return false }
            index += 1
        }
        return true
    }

    static func allSatisfy(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ isAllowed: (UInt8) -> Bool
    ) -> Bool {
        for index in range where !isAllowed(bytes[index]) { return false }
        return true
    }
}

extension RedirectRequest {
    /// The listener's decision about a request.
    package enum Verdict: Sendable, Equatable {
        /// The request may be the redirect; its query is in this range.
        case redirect(Range<Int>)
        /// The browser asks for the page after the redirect.
        case done
        /// The request is refused.
        case refused(LoopbackAnswer)
    }

    /// Decides about the request.
    ///
    /// - Parameters:
    ///   - bytes: The bytes that were parsed.
    ///   - place: The listener's own address and paths.
    /// - Returns: The decision.
    package func verdict(_ bytes: Span<UInt8>, at place: RedirectPlace) -> Verdict {
        // The host comes first: a page of another host that is resolved to this address learns nothing.
        guard let host, Self.equal(bytes, host, place.host) else { return .refused(.wrongHost) }
        guard isGet else { return .refused(.wrongMethod) }
        guard !hasBody else { return .refused(.badRequest) }
        if Self.equal(bytes, path, place.donePath) { return .done }
        guard Self.equal(bytes, path, place.path) else { return .refused(.notFound) }
        guard let query else { return .refused(.badRequest) }
        return .redirect(query)
    }
}
