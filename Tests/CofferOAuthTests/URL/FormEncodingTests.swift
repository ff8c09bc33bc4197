@testable import CofferOAuth
import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("Form encoding")
struct FormEncodingTests {
    @Test(
        "Text in another encoding is refused",
        arguments: [
            "a", "=b", "a=%", "a=%2", "a=%zz", "a=b&", "&a=b", "a=b&&c=d", "a=é", "a= b", "a=\n", "a=%FF",
            String(repeating: "a=b&", count: 256) + "a=b",
        ])
    func refused(_ text: String) {
        #expect(failure { _ = try FormEncoding.decode(text) } == .invalidInput, "\(text)")
    }

    @Test("Fields keep their order and repetitions")
    func fields() throws {
        let fields = try FormEncoding.decode("a=b&a=c&x+y=%C3%A9%2B&e=&k=v=w")
        #expect(fields.map(\.name) == ["a", "a", "x y", "e", "k"])
        #expect(fields.map(\.value) == ["b", "c", "é+", "", "v=w"])
        #expect(try FormEncoding.decode("").isEmpty)
        #expect(FormEncoding.encode(fields) == "a=b&a=c&x+y=%C3%A9%2B&e=&k=v%3Dw")
    }

    @Test("Every byte of a secret is encoded as in public text, and decoded again")
    func secrets() throws {
        let bytes = (0...255).map { UInt8($0) }
        let secret = try SecretBytes.copying(bytes.span)
        let encoded = try FormEncoding.encode(secret)
        let copy = encoded.exposing { $0.copied() }
        let ascii = bytes.prefix(128)
        let text = String(decoding: ascii, as: UTF8.self)
        #expect(copy.starts(with: FormEncoding.encode(text).utf8))
        let decoded = try FormEncoding.decode(copy.span)
        let again = decoded.exposing { $0.copied() }
        #expect(again == bytes)
        #expect(FormEncoding.percentDecoded(copy, plusIsSpace: true) == bytes)
    }

    @Test("A secret is percent-encoded as public text is, with %20 for a space")
    func percentEncodedSecret() throws {
        let text = "a b+%/é~\0"
        let encoded = try FormEncoding.percentEncoded(try SecretBytes.copying(text))
        let copy = encoded.exposing { $0.copied() }
        #expect(copy == Array(FormEncoding.percentEncoded(text).utf8))
        #expect(copy == Array("a%20b%2B%25%2F%C3%A9~%00".utf8))
    }

    @Test("A secret with an invalid percent sign is refused", arguments: ["%", "%2", "a%zz", "%%41"])
    func refusedSecret(_ text: String) {
        #expect(failure { _ = try FormEncoding.decode(Array(text.utf8).span) } == .invalidInput)
    }

    @Test("A body has its fields in the order in which they were added")
    func body() throws {
        var body = try FormBody()
        try body.append("grant_type", "refresh_token")
        let secret = try SecretBytes.copying("a b&c")
        try body.append("refresh_token", secret: secret)
        try body.append("scope", "")
        let bytes = body.finish()
        let expected = "grant_type=refresh_token&refresh_token=a+b%26c&scope="
        let copy = bytes.exposing { $0.copied() }
        #expect(copy == Array(expected.utf8))
    }

    @Test("An empty body has no bytes")
    func emptyBody() throws {
        let body = try FormBody()
        let bytes = body.finish()
        let count = bytes.count
        #expect(count == 0)
    }
}
