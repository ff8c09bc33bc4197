import CofferEngine

/// The rules of DER that BER does not have, as far as they do not depend on what the elements mean.
enum DERForm {
    /// The maximum number of elements inside each other.
    private static let deepest = 24
    private static let (boolean, universalTime, generalizedTime): (UInt8, UInt8, UInt8) = (0x01, 0x17, 0x18)
    private static let (constructed, set): (UInt8, UInt8) = (0x20, 0x31)

    /// Returns whether bytes keep these rules: lengths are definite and as short as possible, strings are in
    /// one piece, truth values have one form, and times have seconds and are in UTC (RFC 5280, section
    /// 4.1.2.5). The contents of octet and bit strings are not examined.
    static func isKept(by bytes: Span<UInt8>) -> Bool { isKept(by: bytes, in: 0..<bytes.count, 0) }

    private static func isKept(by bytes: Span<UInt8>, in range: Range<Int>, _ depth: Int) -> Bool {
        guard depth < deepest else { return false }
        var reader = DERReader(range)
        while let tag = reader.tag(bytes) {
            // No element of a certificate has a tag of several bytes.
            guard tag & 0x1F != 0x1F, let content = reader.element(tag, bytes) else { return false }
            guard tag & constructed == 0 else {
                let isCollection = tag == DERReader.sequence || tag == set
                guard isCollection || tag >= 0x40, isKept(by: bytes, in: content, depth + 1) else {
                    return false
                }
                continue
            }
            switch tag {
            case boolean:
                guard content.count == 1, [0, 0xFF].contains(bytes[content.lowerBound]) else { return false }
            case universalTime, generalizedTime:
                guard content.count == (tag == universalTime ? 13 : 15),
                    bytes[content.upperBound - 1] == UInt8(ascii: "Z")
                else { return false }
            default: continue
            }
        }
        return true
    }
}
