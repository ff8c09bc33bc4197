import CofferBase
import CofferCrypto
import Testing

@Suite("JSON Web Keys")
struct JSONWebKeyTests {
    /// Points with a coordinate that begins with a zero byte, as Rhonabwy 1.1.7 writes them: without it.
    private static let shortened = [
        ("l6imTL8z5uOWCHVepUCOKP3yOMVHNaApCxwgYQj4Kg", "fzeWzkwLDc9vuXrtq8jYXsvZcXfRA56U0KBZezeL1h0"),
        ("jsIS1IJoeKFbMhmwgpNkjgwDHXwyZrQqXiYZMG2gXOk", "4pSE6COMBzUxbyuzFFiisTxbkWPLrc0wNWcVKcTU5Q"),
    ]

    private static func key(_ x: String, _ y: String) throws(CofferError) -> JSONWebKey {
        try JSONWebKey(
            parsing: ["kty": "EC", "crv": "P-256", "x": .string(x), "y": .string(y), "kid": "one"])
    }

    @Test("A coordinate without its leading zero is the same as with it", arguments: shortened)
    func leadingZero(_ x: String, _ y: String) throws {
        let (shortX, shortY) = (try Base64URL.decode(x), try Base64URL.decode(y))
        #expect(shortX.count + shortY.count == 63)
        let zeros = { [UInt8](repeating: 0, count: 32 - $0) }
        let whole = try Self.key(
            Base64URL.encode(zeros(shortX.count) + shortX), Base64URL.encode(zeros(shortY.count) + shortY))
        let key = try Self.key(x, y)
        #expect(key == whole)
        #expect(try key.thumbprint() == whole.thumbprint())
        let set = JSONWebKeySet([key])
        #expect(try set.key(named: "one", for: .es256) == whole)
    }

    @Test("A coordinate that is empty, longer, or of another point is refused", arguments: shortened)
    func wrong(_ x: String, _ y: String) throws {
        let long = try Base64URL.encode([0] + [UInt8](repeating: 1, count: 32))
        let other = try Base64URL.encode([UInt8](repeating: 1, count: 31))
        for (x, y) in [("", y), (x, ""), (long, y), (x, long), (other, y), (x, other)] {
            #expect(throws: CofferError.self) { try Self.key(x, y) }
        }
        // The zero is at the front: at the end, it makes another number.
        let (behindX, behindY) = (try Base64URL.decode(x) + [0], try Base64URL.decode(y) + [0])
        for (x, y) in [(try Base64URL.encode(behindX), y), (x, try Base64URL.encode(behindY))] {
            #expect(throws: CofferError.self) { try Self.key(x, y) }
        }
    }
}
