public import CofferBase

/// An alternative name of a certificate's owner (RFC 5280, section 4.2.1.6).
public struct CertificateName: Sendable, Hashable {
    private let tag: UInt8
    private let content: [UInt8]

    private init(_ tag: UInt8, _ content: [UInt8]) { (self.tag, self.content) = (tag, content) }

    /// Returns a DNS name.
    ///
    /// - Parameter name: The name, in lower case; `*.` may stand in front of it.
    /// - Returns: The alternative name.
    /// - Throws: `invalidInput` if it is not a DNS name.
    public static func dns(_ name: String) throws(CofferError) -> CertificateName {
        let bytes = Array(name.utf8)
        let host = name.utf8.hasPrefix("*.") ? Array(bytes.dropFirst(2)) : bytes
        guard HostName.isName(String(decoding: host, as: UTF8.self)) else {
            throw CofferError(.invalidInput, "A DNS name of a certificate must be a name in lower case.")
        }
        return CertificateName(0x82, bytes)
    }

    /// Returns an e-mail address.
    ///
    /// - Parameter address: The address: a part in printable ASCII, an at sign and a DNS name.
    /// - Returns: The alternative name.
    /// - Throws: `invalidInput` if it is not such an address.
    public static func email(_ address: String) throws(CofferError) -> CertificateName {
        let parts = address.parts(between: "@", keepsEmpty: true)
        guard parts.count == 2, 1...64 ~= parts[0].utf8.count, isVisible(parts[0]),
            HostName.isName(parts[1].foldedASCII)
        else {
            throw CofferError(
                .invalidInput, "An e-mail address of a certificate must be in ASCII, such as a@b.example.")
        }
        return CertificateName(0x81, Array(address.utf8))
    }

    /// Returns a URI.
    ///
    /// - Parameter uri: The URI: a scheme, a colon and more, in at most 1024 bytes of printable ASCII.
    /// - Returns: The alternative name.
    /// - Throws: `invalidInput` if it is not such a URI.
    public static func uri(_ uri: String) throws(CofferError) -> CertificateName {
        let bytes = Array(uri.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon >= 1, colon < bytes.count - 1,
            bytes.count <= 1024, isVisible(uri), bytes[..<colon].allSatisfy(isOfScheme),
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= bytes[0] | 0x20
        else {
            throw CofferError(.invalidInput, "A URI of a certificate must have a scheme and be in ASCII.")
        }
        return CertificateName(0x86, bytes)
    }

    /// Returns an IP address.
    ///
    /// - Parameter address: An IPv4 address of four decimal numbers, or an IPv6 address in lower case.
    /// - Returns: The alternative name.
    /// - Throws: `invalidInput` if it is not an IP address.
    public static func ip(_ address: String) throws(CofferError) -> CertificateName {
        if HostName.isIPv4Address(address) { return CertificateName(0x87, numbers(address)) }
        guard HostName.isIPv6Address(address) else {
            throw CofferError(
                .invalidInput, "An IP address of a certificate must be IPv4, or IPv6 in lower case.")
        }
        return CertificateName(0x87, groups(address))
    }

    /// The name in DER.
    var encoded: [UInt8] { DERWriter.element(tag, content) }

    private static func isVisible(_ text: String) -> Bool { text.utf8.allSatisfy { 0x21...0x7E ~= $0 } }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            || "+-.".utf8.contains(byte)
    }

    private static func numbers(_ address: String) -> [UInt8] {
        address.parts(between: ".").compactMap { UInt8($0) }
    }

    /// Returns the 16 bytes of an IPv6 address.
    private static func groups(_ address: String) -> [UInt8] {
        var (front, back): ([UInt8], [UInt8]?) = ([], nil)
        let parts = address.parts(between: ":", keepsEmpty: true)
        for part in parts {
            guard !part.isEmpty else {
                back = back ?? []
                continue
            }
            let bytes: [UInt8]
            if part.utf8.contains(UInt8(ascii: ".")) {
                bytes = numbers(part)
            } else {
                let group = UInt16(part, radix: 16) ?? 0
                bytes = [UInt8(group >> 8), UInt8(group & 0xFF)]
            }
            if back == nil { front += bytes } else { back? += bytes }
        }
        let rest = back ?? []
        return front + [UInt8](repeating: 0, count: max(0, 16 - front.count - rest.count)) + rest
    }
}
