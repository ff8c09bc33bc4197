/// The two encodings of an ECDSA signature: the numbers r and s with a fixed size each, as in JOSE and IEEE
/// P1363, and a DER sequence of two integers, as in X.509 and OpenSSL. The numbers have 32 bytes with P-256
/// and 48 bytes with P-384.
package enum ECDSASignatureEncoding {
    /// Returns the DER form of a signature with fixed sizes; `nil` if it has another size.
    package static func der(_ raw: Span<UInt8>, numberSize: Int = 32) -> [UInt8]? {
        guard raw.count == 2 * numberSize else { return nil }
        let numbers =
            integer(raw.extracting(..<numberSize).copied()) + integer(raw.extracting(numberSize...).copied())
        return [0x30, UInt8(numbers.count)] + numbers
    }

    /// Returns the form with fixed sizes of a signature in DER; `nil` for anything but the only DER encoding
    /// of two numbers of at most `numberSize` bytes.
    package static func raw(_ der: Span<UInt8>, numberSize: Int = 32) -> [UInt8]? {
        let bytes = der.copied()
        guard bytes.count >= 2, bytes[0] == 0x30, bytes[1] < 0x80, Int(bytes[1]) == bytes.count - 2 else {
            return nil
        }
        var at = 2
        guard let r = number(bytes, &at, numberSize), let s = number(bytes, &at, numberSize),
            at == bytes.count
        else { return nil }
        return r + s
    }

    private static func integer(_ number: [UInt8]) -> [UInt8] {
        var digits = Array(number.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }

    /// Reads one integer, which must be positive or zero and have no superfluous zero byte in front.
    private static func number(_ bytes: [UInt8], _ at: inout Int, _ numberSize: Int) -> [UInt8]? {
        guard at + 2 <= bytes.count, bytes[at] == 0x02 else { return nil }
        let count = Int(bytes[at + 1])
        let start = at + 2
        guard 1...numberSize + 1 ~= count, start + count <= bytes.count, bytes[start] < 0x80 else {
            return nil
        }
        if count > 1, bytes[start] == 0, bytes[start + 1] < 0x80 { return nil }
        let digits = Array(bytes[start..<start + count].drop { $0 == 0 })
        guard digits.count <= numberSize else { return nil }
        at = start + count
        return [UInt8](repeating: 0, count: numberSize - digits.count) + digits
    }
}
