package import CofferBase
import CofferEngine

/// The numbers of an RSA key as SSH agents pass them, without the two exponents that follow from the others.
package struct RSAPrivateNumbers: ~Copyable {
    private let parts: SecretBytes
    private let ranges: [Range<Int>]

    /// Creates the numbers from their places in `bytes`: n, e, d, p, q and the inverse of q modulo p. Each
    /// has its highest byte first and no zero bytes in front.
    package init(
        copying bytes: Span<UInt8>, modulus: Range<Int>, publicExponent: Range<Int>,
        privateExponent: Range<Int>, primes: (Range<Int>, Range<Int>), coefficient: Range<Int>
    ) throws(CofferError) {
        parts = try SecretBytes.copying(bytes)
        ranges = [modulus, publicExponent, privateExponent, primes.0, primes.1, coefficient]
    }

    /// Returns the DER encoding of all numbers (`RSAPrivateKey` in RFC 8017).
    ///
    /// - Throws: `invalidInput` if a number cannot be one of an RSA key; `outOfMemory`.
    package func encoded() throws(CofferError) -> SecretBytes {
        let bytes = parts.guarded.span
        let (d, p, q) = (ranges[2], ranges[3], ranges[4])
        let first = try RSAKeyCompletion.exponent(bytes.extracting(d), modulo: bytes.extracting(p))
        let second = try RSAKeyCompletion.exponent(bytes.extracting(d), modulo: bytes.extracting(q))
        var sizes = ranges[...4].map { Self.size(bytes.extracting($0)) }
        sizes += [Self.size(first.span), Self.size(second.span), Self.size(bytes.extracting(ranges[5]))]
        let content = 3 + sizes.reduce(0) { $0 + DERWriter.head(0x02, $1).count + $1 }
        let head = DERWriter.head(0x30, content) + [0x02, 0x01, 0x00]
        let (total, ranges) = (head.count - 3 + content, ranges)
        let encoded = try GuardedBytes.filled(count: total) { (span) throws(CofferError) in
            span.write(head.span, at: 0)
            var at = head.count
            for index in 0..<5 { Self.append(bytes.extracting(ranges[index]), to: &span, &at) }
            Self.append(first.span, to: &span, &at)
            Self.append(second.span, to: &span, &at)
            Self.append(bytes.extracting(ranges[5]), to: &span, &at)
        }
        return SecretBytes(encoded)
    }

    /// Returns the number of bytes of the integer's content.
    private static func size(_ number: Span<UInt8>) -> Int {
        guard number.count > 0 else { return 1 }
        return number.count + (number[0] >= 0x80 ? 1 : 0)
    }

    private static func append(_ number: Span<UInt8>, to span: inout MutableSpan<UInt8>, _ at: inout Int) {
        let size = size(number)
        let head = DERWriter.head(0x02, size)
        span.write(head.span, at: at)
        at += head.count
        if size > number.count {
            span[at] = 0
            at += 1
        }
        span.write(number, at: at)
        at += number.count
    }
}
