@testable import CofferOAuth
import Testing

@Suite("The end of a JSON document")
struct JSONEndTests {
    private func isReached(_ text: String) -> Bool { JSONEnd.isReached(in: Array(text.utf8).span) }

    @Test(
        "A whole object or array has ended, and none of its pieces has",
        arguments: [
            "{}", "[]", "{\"a\":1}", "[1,[2,{\"b\":[]}]]", "{\"a\":\"}\"}", "{\"a\":\"\\\"}\"}",
            "{\"a\\\\\":\"]\"}", "{\"a\":{\"b\":{}},\"c\":[true,null]}",
        ])
    func pieces(_ document: String) {
        #expect(isReached(document) && isReached(" \r\n\t" + document + "\n "))
        for count in 0..<document.utf8.count {
            let piece = String(decoding: document.utf8.prefix(count), as: UTF8.self)
            #expect(!isReached(piece), "\(piece)")
        }
    }

    @Test(
        "Another text has not ended",
        arguments: ["", " ", "1", "true", "\"a\"", "}", "]", "<html></html>", "{}{", "{}{}", "{} x", "x{}"])
    func others(_ text: String) { #expect(!isReached(text)) }
}
