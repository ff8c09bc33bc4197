import CofferBase
import TestSupport
import Testing

@testable import CofferOAuth

@Suite("Heads of responses, and proxies")
struct HTTPHeadTests {
    private func head(_ text: String, maximumFields: Int = 64) throws(CofferError) -> HTTPHead? {
        try HTTPHead.parse(Array(text.utf8).span, maximumFields: maximumFields)
    }

    @Test("A head is read, and so is one after interim responses")
    func reads() throws {
        let plain = "HTTP/1.1 200 OK\r\nA: 1\r\nb:\t2 3 \r\n\r\nTrailer: 1\r\n"
        for text in [plain, "HTTP/1.1 100\r\n\r\nHTTP/1.1 103 E\r\nC: 1\r\n\r\n" + plain] {
            let parsed = try #require(try head(text))
            #expect(parsed.status == 200)
            #expect(parsed.fields.map(\.name) == ["a", "b"] && parsed.fields.map(\.value) == ["1", "2 3"])
            try parsed.check()
        }
        #expect(try head("HTTP/1.0 404\r\n\r\n")?.status == 404)
    }

    @Test("A head that is cut is no head, wherever it is cut")
    func cut() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nA: 1\r\n\r\n".utf8)
        for count in 0..<bytes.count - 1 {
            let part = Array(bytes[..<count])
            #expect(try HTTPHead.parse(part.span, maximumFields: 64) == nil, "\(count)")
        }
    }

    @Test(
        "Lines that are not of HTTP/1.1 are refused",
        arguments: [
            "HTTP/2 200\r\n\r\n", "HTTP/1.2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 2000\r\n\r\n",
            "HTTP/1.1 101 Upgrade\r\n\r\n", "HTTP/1.1 600 X\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA\r\n\r\n", "HTTP/1.1 200 OK\r\n: a\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA : a\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: a\r\n b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: a\rb\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: a\0b\r\n\r\n",
        ])
    func refuses(_ text: String) { #expect(failure { _ = try head(text) } == .serverMalformed) }

    @Test("Fields beyond the limit are refused, also those of interim responses")
    func fieldLimit() throws {
        #expect(try head("HTTP/1.1 200 OK\r\nA: 1\r\nB: 1\r\n\r\n", maximumFields: 2) != nil)
        for text in [
            "HTTP/1.1 200 OK\r\nA: 1\r\nB: 1\r\nC: 1\r\n\r\n",
            "HTTP/1.1 100\r\nA: 1\r\nB: 1\r\n\r\nHTTP/1.1 200 OK\r\nC: 1\r\n\r\n",
        ] {
            #expect(failure { _ = try head(text, maximumFields: 2) } == .serverMalformed)
        }
    }

    @Test(
        "More than one way to tell the end of the body, and encoded content, are refused",
        arguments: [
            "Content-Length: 1\r\nTransfer-Encoding: chunked", "Content-Length: 1\r\nContent-Length: 1",
            "Content-Length: 1, 1", "Content-Length: -1", "Content-Length: ", "Content-Length: 0x1",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip",
            "Content-Encoding: gzip",
        ])
    func ends(_ fields: String) throws {
        let parsed = try #require(try head("HTTP/1.1 200 OK\r\n" + fields + "\r\n\r\n"))
        #expect(failure { try parsed.check() } == .serverMalformed)
    }

    @Test("A body is whole by its length or its chunks; without both, the stream must have been closed")
    func lengths() throws {
        for (fields, isClosed, count, isWhole) in [
            ("Content-Length: 2", false, 2, true), ("Content-Length: 2", true, 1, false),
            ("Transfer-Encoding: chunked", false, 2, true), ("A: 1", true, 2, true),
            ("A: 1", false, 2, false), ("A: 1", false, 0, false),
        ] {
            let parsed = try #require(try head("HTTP/1.1 200 OK\r\n" + fields + "\r\n\r\n"))
            let found = parsed.isLengthReached(count, isBodyless: false, isClosed: isClosed)
            #expect(found == isWhole, "\(fields) \(isClosed) \(count)")
            #expect(parsed.isLengthReached(0, isBodyless: true, isClosed: false))
        }
        let empty = try #require(try head("HTTP/1.1 204 No Content\r\n\r\n"))
        #expect(empty.isLengthReached(0, isBodyless: false, isClosed: false))
    }

    @Test("Cookies are left out")
    func cookies() throws {
        let parsed = try head("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nset-cookie2: c\r\nA: 1\r\n\r\n")
        #expect(parsed?.fields.map(\.name) == ["a"])
    }

    @Test("This machine is reached without a proxy, and hosts on the list are")
    func proxies() throws {
        for host in ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.1.2.3", "::1"] {
            #expect(TransportProxy.isLoopback(host), "\(host)")
        }
        for host in ["127.example.org", "localhost.example.org", "example.org", "128.0.0.1", "::2"] {
            #expect(!TransportProxy.isLoopback(host), "\(host)")
        }
        let list = "example.org, .internal,10.0.0.1"
        for host in ["example.org", "a.EXAMPLE.org", "x.internal", "10.0.0.1"] {
            #expect(TransportProxy.isListed(host, in: list), "\(host)")
        }
        for host in ["badexample.org", "example.org.evil", "internal2"] {
            #expect(!TransportProxy.isListed(host, in: list), "\(host)")
        }
        #expect(TransportProxy.isListed("a", in: "*") && !TransportProxy.isListed("a", in: ""))
        let proxy = TransportProxy.server(.init(host: "::2", port: 3128))
        #expect(try proxy.url(for: HTTPSURL("https://example.org/")) == "http://[::2]:3128")
        #expect(try proxy.url(for: HTTPSURL("https://[::1]/")) == nil)
        #expect(try TransportProxy.none.url(for: HTTPSURL("https://example.org/")) == nil)
    }
}
