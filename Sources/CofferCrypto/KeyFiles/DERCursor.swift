import CofferBase
import CofferEngine

/// A reader of DER that throws, for files whose parts are all required.
struct DERCursor {
    private var reader: DERReader

    static let identifier: UInt8 = 0x06
    static let null: UInt8 = 0x05
    static let set: UInt8 = 0x31
    static let explicit0: UInt8 = 0xA0

    init(_ range: Range<Int>) { reader = DERReader(range) }

    var isAtEnd: Bool { reader.isAtEnd }

    func isNext(_ tag: UInt8, _ bytes: Span<UInt8>) -> Bool { reader.isNext(tag, bytes) }

    /// Reads an element with this tag and returns the place of its content.
    mutating func take(_ tag: UInt8, _ bytes: Span<UInt8>) throws(CofferError) -> Range<Int> {
        guard let place = reader.element(tag, bytes) else { throw BERNormalizer.malformed }
        return place
    }

    /// Reads an element with this tag and returns a reader of its content.
    mutating func enter(_ tag: UInt8, _ bytes: Span<UInt8>) throws(CofferError) -> DERCursor {
        DERCursor(try take(tag, bytes))
    }

    mutating func sequence(_ bytes: Span<UInt8>) throws(CofferError) -> DERCursor {
        try enter(DERReader.sequence, bytes)
    }

    /// Reads an object identifier.
    mutating func oid(_ bytes: Span<UInt8>) throws(CofferError) -> [UInt8] {
        let place = try take(Self.identifier, bytes)
        guard place.count <= 32 else { throw BERNormalizer.malformed }
        return bytes.extracting(place).copied()
    }

    /// Reads an octet string that is not secret.
    mutating func octets(_ bytes: Span<UInt8>) throws(CofferError) -> [UInt8] {
        bytes.extracting(try take(DERReader.octets, bytes)).copied()
    }

    /// Reads a number of at least 1; one that is too large for `Int32` is `Int.max`.
    mutating func count(_ bytes: Span<UInt8>) throws(CofferError) -> Int {
        guard let place = reader.positive(bytes) else { throw BERNormalizer.malformed }
        guard place.count <= 4 else { return .max }
        let number = place.reduce(0) { $0 << 8 | Int(bytes[$1]) }
        return number <= Int(Int32.max) ? number : .max
    }

    /// Reads a number of one byte.
    mutating func small(_ bytes: Span<UInt8>) throws(CofferError) -> UInt8 {
        guard let number = reader.small(bytes) else { throw BERNormalizer.malformed }
        return number
    }

    /// Reads the parameters of an algorithm that has none.
    mutating func noParameters(_ bytes: Span<UInt8>) throws(CofferError) {
        if isNext(Self.null, bytes), !(try take(Self.null, bytes)).isEmpty { throw BERNormalizer.malformed }
        try end()
    }

    func end() throws(CofferError) {
        guard isAtEnd else { throw BERNormalizer.malformed }
    }
}
